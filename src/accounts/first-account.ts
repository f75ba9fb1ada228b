import { type Kysely, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { readNote, writeNote } from '../store/notes.ts'
import type { Tables } from '../store/tables.ts'
import { hasAccounts } from './accounts.ts'
import { hashSecret, makeSecret } from './secrets.ts'

/**
 * The invitation with which the first account is made in a browser. It works once, for an hour, and only while there is no account.
 */

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

/** Uses the link up within a transaction. Returns false if it was used. Concurrent requests wait here, and then find no note. */
export async function useFirstAccountLink(db: Kysely<Tables>): Promise<boolean> {
  const used = await db.deleteFrom('note').where('name', '=', LINK).returning('name').executeTakeFirst()
  return used !== undefined && !(await hasAccounts({ reads: db }))
}

interface Link {
  readonly hash: string
  readonly expiresAt: number
}

const LINK = 'link for the first account'
const MAX_LINK_MS = 3_600_000
