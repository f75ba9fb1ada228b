import { commonPasswords } from './common-passwords.ts'

/** Which passwords are refused although they are long enough, because they are among the first that are tried. */

/** What a new password must not be. */
export const GUESSABLE =
  'the username, a common password or a repetition, with any digits and signs, or digits and signs alone'

export function isGuessable(password: string, username: string): boolean {
  const text = password.normalize('NFKC').toLowerCase()
  const name = lettersOf(username.normalize('NFKC').toLowerCase())
  // As in `p@ssw0rd1`, with a sign or a digit for a letter that looks like it.
  const spelled = text.replace(/\P{L}+$/u, '').replaceAll(/[@013457$]/g, sign => LOOKALIKES[sign] ?? sign)
  return [text, spelled].map(lettersOf).some(letters => {
    const unit = unitOf(letters)
    return unit.length < 3 || unit === name || commonPasswords.has(unit) || commonPasswords.has(letters)
  })
}

const LOOKALIKES: Readonly<Record<string, string>> = {
  '@': 'a',
  0: 'o',
  1: 'i',
  3: 'e',
  4: 'a',
  5: 's',
  7: 't',
  $: 's',
}

function lettersOf(text: string): string {
  return text.replaceAll(/\P{L}+/gu, '')
}

/** What a text repeats; itself if it repeats nothing. */
function unitOf(text: string): string {
  return /^(.+?)\1+$/u.exec(text)?.[1] ?? text
}
