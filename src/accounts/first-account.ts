import { sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { readNote, writeNote } from '../store/notes.ts'
import { addAccountIn, hasAccounts } from './accounts.ts'
import { beginSessionIn, type SessionStart } from './browser-sessions.ts'
import { hashNewPassword, storePassword } from './passwords.ts'
import { hashSecret, makeSecret } from './secrets.ts'

/** The link with which the first account is made in a browser. It works once, for an hour, and only while there is no account. */

/** The path of the link before its secret. */
export const FIRST_ACCOUNT_PATH = '/first-account/'

/**
 * Makes the link and returns its secret, of which only the hash is stored; an earlier link ends. Returns undefined if there is an
 * account, or if this role of the database may not add one.
 */
export async function makeFirstAccountLink(store: Store, now: number): Promise<string | undefined> {
  if ((await hasAccounts(store)) || !(await mayAddAccounts(store))) return undefined
  const secret = makeSecret()
  const link: Link = { hash: hashSecret(secret), expiresAt: now + MAX_LINK_MS }
  await writeNote(store.db, LINK, JSON.stringify(link))
  return secret
}

async function mayAddAccounts({ engine, db }: Store): Promise<boolean> {
  if (engine === 'sqlite') return true
  const { rows } = await sql<{ may: boolean }>`
    select has_table_privilege('account', 'insert') and has_table_privilege('note', 'update, delete') as may`.execute(
    db,
  )
  return rows[0]?.may === true
}

export async function isFirstAccountLink({ reads }: Pick<Store, 'reads'>, secret: string, now: number) {
  const note = await readNote(reads, LINK)
  if (note === undefined || (await hasAccounts({ reads }))) return false
  // Only makeFirstAccountLink writes it.
  const { hash, expiresAt } = JSON.parse(note) as Link
  return hash === hashSecret(secret) && now < expiresAt
}

export interface FirstAccount extends SessionStart {
  readonly secret: string
  readonly username: string
  readonly password: string
}

/**
 * Adds the account with its password and begins a session; the link ends. Returns the secret of the session and whose it is;
 * undefined if the link no longer works. Throws Refusal if the name or the password cannot be used.
 */
export async function addFirstAccount(
  store: Store,
  { secret, username, password, ...start }: FirstAccount,
): Promise<{ readonly secret: string; readonly accountId: number } | undefined> {
  if (!(await isFirstAccountLink(store, secret, start.now))) return undefined
  const passwordHash = await hashNewPassword(password, username)
  return store.db.transaction().execute(async db => {
    // Deleting the note uses the link up. Concurrent requests wait here, and then find no note.
    if ((await db.deleteFrom('note').where('name', '=', LINK).returning('name').executeTakeFirst()) === undefined)
      return
    if (await hasAccounts({ reads: db })) return undefined
    const { id: accountId } = await addAccountIn(db, { username, tier: 'ultra' })
    await storePassword(db, accountId, passwordHash)
    return { accountId, secret: await beginSessionIn(db, { ...start, accountId, event: 'password-set' }) }
  })
}

interface Link {
  readonly hash: string
  readonly expiresAt: number
}

const LINK = 'link for the first account'
const MAX_LINK_MS = 3_600_000
