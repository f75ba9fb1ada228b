import { hash, randomBytes, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'

/** The form of an API key: a prefix, 30 random characters, and a checksum of 6 characters over all before it. */
export const KEY_FORM = /lks_[0-9A-Za-z]{36}/

export function mintKey(): string {
  let random = ''
  while (random.length < RANDOM_LENGTH) random += ALPHABET.charAt(randomInt(ALPHABET.length))
  return withChecksum(PREFIX + random)
}

/** Whether the text has the form of an API key and a valid checksum; needs no look-up. */
export function isKeyForm(text: string): boolean {
  return text.length === KEY_LENGTH && WHOLE_FORM.test(text) && withChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text
}

/** The form in which keys and session cookies are stored. They are long and random, so they need no salt. */
export function hashSecret(secret: string): string {
  return hash('sha256', secret, 'hex')
}

/** The secret of a browser session or of a link. */
export function makeSecret(): string {
  return randomBytes(32).toString('base64url')
}

/** Every secret that `makeSecret` made has this form. */
export const SECRET_FORM = /^[\w-]{43}$/

const PREFIX = 'lks_'
const RANDOM_LENGTH = 30
const CHECKSUM_LENGTH = 6
const KEY_LENGTH = PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const WHOLE_FORM = new RegExp(`^${KEY_FORM.source}$`)

function withChecksum(body: string): string {
  let rest = crc32(body)
  let checksum = ''
  while (checksum.length < CHECKSUM_LENGTH) {
    checksum = ALPHABET.charAt(rest % ALPHABET.length) + checksum
    rest = Math.floor(rest / ALPHABET.length)
  }
  return body + checksum
}
