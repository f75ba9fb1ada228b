import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Store } from '../store/index.ts'

/**
 * Browsers in which somebody signed in to an account before. Wrong passwords from elsewhere do not use up their attempts.
 * A browser keeps a mark that is signed with the password hash, so a new password ends it and nothing is stored here.
 */

/** A mark for a browser in which somebody has just signed in. */
export async function markBrowser(store: Store, accountId: number): Promise<string> {
  const account = await store.reads
    .selectFrom('account')
    .select('password_hash')
    .where('id', '=', accountId)
    .executeTakeFirst()
  const name = randomBytes(NAME_BYTES).toString('base64url')
  return `${name}.${signatureOf(name, account?.password_hash ?? '')}`
}

/** The name of the browser that has this mark for the account; undefined if the mark is not valid. */
export async function knownBrowser(store: Store, username: string, mark: string): Promise<string | undefined> {
  const [, name = '', signature = ''] = MARK_FORM.exec(mark) ?? []
  if (name === '') return undefined
  const account = await store.reads
    .selectFrom('account')
    .select('password_hash')
    .where('username', '=', username)
    .executeTakeFirst()
  if (account?.password_hash == null) return undefined
  const expected = Buffer.from(signatureOf(name, account.password_hash))
  return timingSafeEqual(Buffer.from(signature), expected) ? name : undefined
}

function signatureOf(name: string, passwordHash: string): string {
  return createHmac('sha256', passwordHash).update(`known browser ${name}`).digest('base64url')
}

const NAME_BYTES = 16
const MARK_FORM = /^([\w-]{22})\.([\w-]{43})$/
