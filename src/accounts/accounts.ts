import { type Kysely, sql } from 'kysely'
import { InvalidError } from '../archive/faults.ts'
import { readAccount } from '../archive/account-kinds.ts'
import { findByName, foldedName, isDigits } from '../contract/names.ts'
import { parseId } from '../contract/parameters.ts'
import type { Tier } from '../contract/people.ts'
import { formatTimestamp, LATEST } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { AccountRow, Tables } from '../store/tables.ts'
import { Refusal } from '../contract/refusal.ts'

/** Accounts. An account is a record too: its document is written as in an import. */

export type AccountFacts = Pick<AccountRow, 'id' | 'username' | 'subscription_tier' | 'subscription_ends_at'>

export interface NewAccount {
  readonly username: string
  /** The next free one if not given. */
  readonly id?: number | undefined
  readonly tier: Tier | null
}

/**
 * Adds an account; one that was removed may come back if its identifier is given. Throws Refusal if its name or
 * identifier is invalid or taken.
 */
export function addAccount(store: Store, account: NewAccount): Promise<AccountFacts> {
  return store.db.transaction().execute(db => addAccountIn(db, account))
}

export async function addAccountIn(db: Kysely<Tables>, { username, id, tier }: NewAccount): Promise<AccountFacts> {
  const row = accountRow({ id: id ?? (await nextId(db)), username: username.trim(), subscriptionTier: tier })
  const sameId = await db.selectFrom('account').select('id').where('id', '=', row.id).executeTakeFirst()
  if (sameId !== undefined) throw new Refusal('refused', 'there is already an account with this id')
  const [sameName] = await likelyNamed(db, row.username)
  if (sameName !== undefined) throw new Refusal('refused', 'there is already an account with this username')
  await db.insertInto('account').values(row).execute()
  await db.deleteFrom('removed_account').where('id', '=', row.id).execute()
  return row
}

export function listAccounts(store: Store): Promise<AccountFacts[]> {
  return store.reads.selectFrom('account').select(FACTS).orderBy('id').execute()
}

export async function hasAccounts({ reads }: Pick<Store, 'reads'>): Promise<boolean> {
  return (await reads.selectFrom('account').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** The account that somebody means who enters this username, in any case; it takes as long for every name. */
export async function accountNamed(db: Kysely<Tables>, entered: string): Promise<AccountFacts | undefined> {
  // PostgreSQL has no text with a NUL, and fails.
  return entered.includes('\0') ? undefined : findByName(await likelyNamed(db, entered), entered)
}

/** SQLite folds the case of English letters only. */
function likelyNamed(db: Kysely<Tables>, entered: string): Promise<AccountFacts[]> {
  const trimmed = entered.trim()
  return db
    .selectFrom('account')
    .select(FACTS)
    .where(sql<string>`lower(trim(username))`, 'in', [
      foldedName(entered),
      sql<string>`lower(cast(${trimmed} as text))`,
    ])
    .orderBy('id')
    .limit(MAX_LIKELY)
    .execute()
}

const MAX_LIKELY = 100

/** The account with this id or username. Throws Refusal if there is none. */
export async function findAccount({ reads }: Pick<Store, 'reads'>, idOrName: string): Promise<AccountFacts> {
  const byId = isDigits(idOrName)
  const found = byId
    ? await reads
        .selectFrom('account')
        .select(FACTS)
        .where('id', '=', parseId(idOrName) ?? 0)
        .executeTakeFirst()
    : await accountNamed(reads, idOrName)
  if (found === undefined) throw new Refusal('refused', `there is no account with this ${byId ? 'id' : 'username'}`)
  return found
}

/** Sets or removes the tier of an account, until an instant (milliseconds since 1970) or without an end. Throws Refusal. */
export async function setTier(store: Store, id: number, tier: Tier | null, until: number | null): Promise<void> {
  if (until !== null && until > LATEST) {
    throw new Refusal('refused', `the end of a tier must not lie beyond ${formatTimestamp(LATEST)}`)
  }
  await store.db.transaction().execute(async db => {
    const { document } = await db
      .selectFrom('account')
      .select('document')
      .where('id', '=', id)
      .executeTakeFirstOrThrow(() => new Refusal('refused', 'there is no such account'))
    // A stored document is a user, so JSON of an object.
    const user = JSON.parse(document) as Record<string, unknown>
    const row = accountRow({ ...user, subscriptionTier: tier })
    await db
      .updateTable('account')
      .set({ ...row, subscription_ends_at: until })
      .where('id', '=', id)
      .execute()
  })
}

/** An identifier above all that are or were in use. */
async function nextId(db: Kysely<Tables>): Promise<number> {
  const { rows } = await sql<{ highest: number | null }>`select max(id) as highest
    from (select id from account union all select id from removed_account) as ids`.execute(db)
  return (rows[0]?.highest ?? 0) + 1
}

const FACTS = ['id', 'username', 'subscription_tier', 'subscription_ends_at'] as const

/** The row of an account. Throws Refusal if its fields are invalid. */
export function accountRow(data: Record<string, unknown>) {
  try {
    return readAccount(data)
  } catch (error) {
    throw error instanceof InvalidError ? new Refusal('refused', error.message) : error
  }
}
