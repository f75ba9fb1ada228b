import { randomBytes } from 'node:crypto'
import type { Store } from '../store/index.ts'
import { addNote, readNote } from '../store/notes.ts'
import { decryptText, encryptText } from './encryption.ts'

/**
 * State of a sign-in between two requests, which a browser keeps and cannot read or change. Any process of the service can
 * open it, because they share the key, which is in the store.
 */

/** Seals a value, as JSON, until `expiresAt`. It can be opened for the same purpose only. */
export async function seal(store: Store, purpose: string, value: object, expiresAt: number): Promise<string> {
  return encryptText(await sealingKey(store), purpose, JSON.stringify({ value, expiresAt }))
}

/** The value that was sealed; undefined if it has expired, was changed, or was sealed for another purpose. */
export async function unseal(store: Store, purpose: string, sealed: string, now: number): Promise<unknown> {
  const text = decryptText(await sealingKey(store), purpose, sealed)
  if (text === undefined) return undefined
  // Only `seal` makes texts that can be opened.
  const { value, expiresAt } = JSON.parse(text) as { value: unknown; expiresAt: number }
  return now < expiresAt ? value : undefined
}

/** The key of this store, which its first use creates. */
export function sealingKey(store: Store): Promise<Buffer> {
  const known = keys.get(store)
  if (known !== undefined) return known
  const key = readKey(store)
  keys.set(store, key)
  key.catch(() => keys.delete(store))
  return key
}

const keys = new WeakMap<Store, Promise<Buffer>>()

async function readKey({ db }: Store): Promise<Buffer> {
  let key = await readNote(db, NOTE)
  if (key === undefined) {
    await addNote(db, NOTE, randomBytes(KEY_BYTES).toString('base64url'))
    key = await readNote(db, NOTE)
  }
  return Buffer.from(key ?? '', 'base64url')
}

const NOTE = 'key of sealed cookies'
const KEY_BYTES = 32
