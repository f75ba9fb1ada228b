/** The rule for names that people choose: usernames, display names, names of API keys. */

/** Counted in code points. */
export const MAX_NAME_LENGTH = 64

/** Whether the text has 1 to MAX_NAME_LENGTH characters and no control characters. */
export function isName(text: string): boolean {
  return text !== '' && [...text].length <= MAX_NAME_LENGTH && !/\p{Cc}/u.test(text)
}

/** Whether a text can only be an identifier: a username has other characters than digits. */
export function isDigits(text: string): boolean {
  return /^[0-9]+$/.test(text)
}
