import * as Type from 'typebox'

/** The rule for names that people choose: usernames, display names, names of API keys. */

/** Counted in code points. */
export const MAX_NAME_LENGTH = 64

/** A name that somebody chooses; `what` is the subject of the refusal. */
export const Name = (what: string) =>
  Type.String({
    pattern: `^[^\\p{Cc}\\p{Cs}]{1,${MAX_NAME_LENGTH}}$`,
    description: `${what} must have 1 to ${MAX_NAME_LENGTH} characters, no control characters and no lone surrogates`,
  })

/** Whether the text has 1 to MAX_NAME_LENGTH characters and no control characters. */
export function isName(text: string): boolean {
  return text !== '' && [...text].length <= MAX_NAME_LENGTH && !/\p{Cc}/u.test(text)
}

/** What a name has in common with those that are told apart only by case, or by spaces around them. */
export function foldedName(name: string): string {
  return name.trim().toLowerCase()
}

/** The one with this name, whatever its case and the spaces around it; one that is spelt just so comes first. */
export function findByName<Named extends { readonly username: string }>(
  all: readonly Named[],
  entered: string,
): Named | undefined {
  const [found, ...others] = all.filter(({ username }) => foldedName(username) === foldedName(entered))
  return all.find(({ username }) => username === entered) ?? (others.length === 0 ? found : undefined)
}

/** Whether a text can only be an identifier: a username has other characters than digits. */
export function isDigits(text: string): boolean {
  return /^[0-9]+$/.test(text)
}
