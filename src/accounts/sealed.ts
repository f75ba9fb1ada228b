import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Store } from '../store/index.ts'

/**
 * State of a sign-in between two requests, which a browser keeps and cannot read or change. Any process of the service can
 * open it, because they share the key, which is in the store.
 */

/** Seals a value, as JSON, until `expiresAt`. It can be opened for the same purpose only. */
export async function seal(store: Store, purpose: string, value: object, expiresAt: number): Promise<string> {
  const nonce = randomBytes(NONCE_BYTES)
  const cipher = createCipheriv('aes-256-gcm', await sealingKey(store), nonce).setAAD(Buffer.from(purpose))
  const text = Buffer.concat([cipher.update(JSON.stringify({ value, expiresAt })), cipher.final()])
  return Buffer.concat([nonce, cipher.getAuthTag(), text]).toString('base64url')
}

/** The value that was sealed; undefined if it has expired, was changed, or was sealed for another purpose. */
export async function unseal(store: Store, purpose: string, sealed: string, now: number): Promise<unknown> {
  const bytes = Buffer.from(sealed, 'base64url')
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return undefined
  const [nonce, tag] = [bytes.subarray(0, NONCE_BYTES), bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES)]
  const decipher = createDecipheriv('aes-256-gcm', await sealingKey(store), nonce, { authTagLength: TAG_BYTES })
  decipher.setAAD(Buffer.from(purpose)).setAuthTag(tag)
  let text: string
  try {
    text = Buffer.concat([decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES)), decipher.final()]).toString()
  } catch {
    return undefined
  }
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
  const read = () => db.selectFrom('note').select('value').where('name', '=', NOTE).executeTakeFirst()
  let noted = await read()
  if (noted === undefined) {
    // Another process may have created one meanwhile.
    const row = { name: NOTE, value: randomBytes(KEY_BYTES).toString('base64url') }
    await db
      .insertInto('note')
      .values(row)
      .onConflict(conflict => conflict.doNothing())
      .execute()
    noted = await read()
  }
  return Buffer.from(noted?.value ?? '', 'base64url')
}

const NOTE = 'key of sealed cookies'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
