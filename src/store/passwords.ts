import { argon2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { Store } from './store.ts'
import { Refused } from './refused.ts'

/** Sets the password of an account. Throws Refused when it is too short, too long, or nobody has that id. */
export async function setPassword(store: Store, accountId: number, password: string): Promise<void> {
  const length = [...password].length
  if (length < 12 || length > 1024) throw new Refused('a password must have 12 to 1024 characters')
  const { numUpdatedRows } = await store.db
    .updateTable('account')
    .set({ password_hash: await hashPassword(password) })
    .where('id', '=', accountId)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) throw new Refused('there is no such account')
}

const COST = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 }

async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16)
  const tag = await derive(password, salt)
  return `$argon2id$v=19$m=${COST.memory},t=${COST.passes},p=${COST.parallelism}$${unpadded(salt)}$${unpadded(tag)}`
}

function derive(password: string, salt: Buffer): Promise<Buffer> {
  return promisify(argon2)('argon2id', { message: password.normalize('NFC'), nonce: salt, ...COST })
}

function unpadded(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '')
}
