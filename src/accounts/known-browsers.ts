import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Store } from '../store/index.ts'
import { sealingKey } from './sealed.ts'

/**
 * Browsers in which somebody signed in to an account before. What others try elsewhere does not use up their attempts.
 * A browser keeps a mark whose signature depends on the password, so a new one ends it and nothing is stored here.
 */

export interface KnownBrowser {
  readonly name: string
  /** Of the account that somebody signed in to. */
  readonly username: string
}

/** A mark for a browser in which somebody has just signed in. */
export async function markBrowser(store: Store, accountId: number): Promise<string> {
  const account = await accountOf(store, accountId)
  const name = randomBytes(NAME_BYTES).toString('base64url')
  return `${accountId}.${name}.${await signatureOf(store, accountId, name, account?.password_hash)}`
}

/** The browser that has this mark; undefined if it is not valid. */
export async function knownBrowser(store: Store, mark: string): Promise<KnownBrowser | undefined> {
  const [, id = '', name = '', signature = ''] = MARK_FORM.exec(mark) ?? []
  if (name === '') return undefined
  const account = await accountOf(store, Number(id))
  if (account === undefined) return undefined
  const expected = Buffer.from(await signatureOf(store, Number(id), name, account.password_hash))
  return timingSafeEqual(Buffer.from(signature), expected) ? { name, username: account.username } : undefined
}

async function signatureOf(store: Store, accountId: number, name: string, passwordHash: string | null | undefined) {
  return createHmac('sha256', await sealingKey(store))
    .update(`known browser ${accountId} ${name} ${passwordHash ?? ''}`)
    .digest('base64url')
}

const NAME_BYTES = 16
const MARK_FORM = /^(\d{1,16})\.([\w-]{22})\.([\w-]{43})$/

function accountOf({ reads }: Store, id: number) {
  return reads.selectFrom('account').select(['username', 'password_hash']).where('id', '=', id).executeTakeFirst()
}
