import { commonPasswords } from './common-passwords.ts'

/** Which passwords are refused although they are long enough, because they are among the first that are tried. */

/** What a new password must not be, by the name of the rule. */
export const passwordRules = {
  repeated: 'one or two characters repeated',
  row: 'rows of the keyboard, the alphabet or digits in their order',
  username: 'the username with digits and signs',
  common: 'a common password, also with other digits and signs',
} as const

export type PasswordRule = keyof typeof passwordRules

/** The first rule that a password breaks; undefined if it may be used. */
export function brokenRule(password: string, username: string): PasswordRule | undefined {
  const text = password.normalize('NFKC').toLowerCase()
  const unit = unitOf(text)
  if (new Set(text).size <= 2) return 'repeated'
  if (countRuns(unit) <= Math.min(unit.length / MIN_AVERAGE_RUN, MAX_RUNS)) return 'row'
  if (isUsername(text, username.normalize('NFKC').toLowerCase())) return 'username'
  return isCommon(text) ? 'common' : undefined
}

/** Neighbours on keyboards (QWERTY, QWERTZ, AZERTY, in rows and zigzags, and of the keypad), and other orders. */
const ROWS = [
  'abcdefghijklmnopqrstuvwxyz',
  '01234567890-=',
  '!@#$%^&*()_+',
  '!"§$%&/()=?',
  'qwertyuiop[]',
  'qwertzuiopü+',
  'azertyuiop^$',
  "asdfghjkl;'",
  'asdfghjklöä#',
  'qsdfghjklmù',
  'zxcvbnm,./',
  'yxcvbnm,.-',
  'wxcvbn,;:!',
  '1q2w3e4r5t6y7u8i9o0p',
  'q1w2e3r4t5y6u7i8o9p0',
  'qawsedrftgyhujikolp',
  'a1b2c3d4e5f6g7h8i9j0',
  'a1s2d3f4g5h6j7k8l9',
  '147258369',
  '147852369',
  '159753',
  '789456123',
  '112233445566778899',
  '102030405060708090',
  '010203040506070809',
]

const COLUMNS = '1qaz 2wsx 3edc 4rfv 5tgb 6yhn 7ujm 1qay 6zhn !qaz @wsx #edc $rfv'.split(' ')

const LINES = [...ROWS, ...COLUMNS].flatMap(row => [row, reversed(row)])

/** Few random texts have runs this long on average: a run is one character at least. */
const MIN_AVERAGE_RUN = 3

/** A text of more runs is none that somebody tries early, however long some of them are. */
const MAX_RUNS = 8

/** In how many runs a text can be cut: parts of a row, in either direction, or one character repeated. */
function countRuns(text: string): number {
  let runs = 0
  for (let start = 0; start < text.length; runs += 1) {
    let end = start + 1
    while (end < text.length && isRun(text.slice(start, end + 1))) end += 1
    start = end
  }
  return runs
}

function isRun(part: string): boolean {
  return new Set(part).size === 1 || LINES.some(line => line.includes(part))
}

/** Whether the letters of a text are those of the username alone, forwards or backwards. */
function isUsername(text: string, username: string): boolean {
  const name = username.replaceAll(SIGNS, '')
  if (name.length < MIN_NAME_LENGTH) return false
  const plain = text.replaceAll(SIGNS, '')
  const rest = plain.replaceAll(name, '').replaceAll(reversed(name), '')
  return rest !== plain && !LETTER.test(rest)
}

/** Shorter names are parts of too many passwords. */
const MIN_NAME_LENGTH = 3

function isCommon(text: string): boolean {
  const core = text.replaceAll(AROUND, '')
  if (isListed(core)) return true
  // As in `p@ssw0rd`, with a sign or a digit for a letter that looks like it, also at the edges: as many of them as make a word.
  const start = text.indexOf(core)
  const before = spellOut(LOOKALIKES_BEFORE.exec(text.slice(0, start))?.[0] ?? '')
  const after = spellOut(LOOKALIKES_AFTER.exec(text.slice(start + core.length))?.[0] ?? '')
  const middle = spellOut(core)
  for (let from = 0; from <= before.length; from += 1) {
    for (let to = 0; to <= after.length; to += 1) {
      if (isListed(before.slice(from) + middle + after.slice(0, to))) return true
    }
  }
  return false
}

function isListed(text: string): boolean {
  const letters = text.replaceAll(NO_LETTERS, '')
  return commonPasswords.has(letters) || commonPasswords.has(unitOf(letters))
}

function spellOut(text: string): string {
  return text.replaceAll(/[@013457$]/g, sign => LOOKALIKES[sign] ?? sign)
}

/** Few words begin or end with more letters that have a look-alike. */
const LOOKALIKES_BEFORE = /[@013457$]{0,4}$/
const LOOKALIKES_AFTER = /^[@013457$]{0,4}/

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

/** What a text repeats; itself if it repeats nothing. */
function unitOf(text: string): string {
  return /^(.+?)\1+$/u.exec(text)?.[1] ?? text
}

const SIGNS = /[^\p{L}\p{N}]+/gu
const NO_LETTERS = /\P{L}+/gu
const AROUND = /^\P{L}+|\P{L}+$/gu
const LETTER = /\p{L}/u

function reversed(text: string): string {
  return [...text].reverse().join('')
}
