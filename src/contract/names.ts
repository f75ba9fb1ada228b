/** The rule for names that people choose: usernames, display names, names of tokens. */

/** Counted in code points. */
export const MAX_NAME_LENGTH = 64

/** Whether the text has 1 to MAX_NAME_LENGTH characters and no control characters. */
export function isName(text: string): boolean {
  return text !== '' && [...text].length <= MAX_NAME_LENGTH && !/\p{Cc}/u.test(text)
}
