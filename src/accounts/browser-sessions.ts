import { hash, randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { query } from '../store/query.ts'
import type { Store } from '../store/store.ts'

/** A session ends when nobody used it for half a day, and after a week in any case; in milliseconds. */
const IDLE_MS = 12 * 3_600_000
export const MAX_SESSION_MS = 7 * 24 * 3_600_000

/** Somebody who signed in, with what the dashboard needs of the account on every page. */
export interface BrowserSession {
  readonly id: number
  readonly accountId: number
  readonly username: string
  readonly tier: string | null
  readonly tierEndsAt: number | null
  /** Empty where the account did not choose one. */
  readonly displayName: string
  /** Empty until it is known. */
  readonly timeZone: string
  readonly units: string
}

/** Begins a session and returns its secret, of which the store keeps a hash. */
export async function beginSession(store: Store, accountId: number, browser: string, now: number): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  await store.db.transaction().execute(async db => {
    // Nobody else takes away what is over.
    await db
      .deleteFrom('browser_session')
      .where(({ or, eb }) => or([eb('seen_at', '<=', now - IDLE_MS), eb('created_at', '<=', now - MAX_SESSION_MS)]))
      .execute()
    await db
      .insertInto('browser_session')
      .values({
        account_id: accountId,
        hash: hashOf(secret),
        browser: browser.slice(0, 300),
        created_at: now,
        seen_at: now,
      })
      .execute()
  })
  return secret
}

/** The session of a secret; undefined when there is none, or it is over. Notes, now and then, that it is in use. */
export async function findSession(store: Store, secret: string, now: number): Promise<BrowserSession | undefined> {
  if (!SECRET_FORM.test(secret)) return undefined
  const [row] = await store.read(sessionByHash, {
    hash: hashOf(secret),
    seenAfter: now - IDLE_MS,
    createdAfter: now - MAX_SESSION_MS,
  })
  if (row === undefined) return undefined
  if (now - row.seen_at > NOTED_EVERY_MS) {
    await store.db.updateTable('browser_session').set({ seen_at: now }).where('id', '=', row.id).execute()
  }
  return {
    id: row.id,
    accountId: row.account_id,
    username: row.username,
    tier: row.subscription_tier,
    tierEndsAt: row.subscription_ends_at,
    displayName: row.display_name ?? '',
    timeZone: row.time_zone ?? '',
    units: row.units ?? '',
  }
}

/** The accounts that let this one read their records. */
export async function findSharers(store: Store, accountId: number): Promise<{ id: number; username: string }[]> {
  return store.read(sharers, { account: accountId })
}

export interface SessionFacts {
  readonly id: number
  readonly browser: string
  readonly created_at: number
  readonly seen_at: number
}

/** The sessions of an account that are not over, the one used last first. */
export function listSessions(store: Store, accountId: number, now: number): Promise<SessionFacts[]> {
  return store.db
    .selectFrom('browser_session')
    .select(['id', 'browser', 'created_at', 'seen_at'])
    .where('account_id', '=', accountId)
    .where('seen_at', '>', now - IDLE_MS)
    .where('created_at', '>', now - MAX_SESSION_MS)
    .orderBy('seen_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

export async function endSession(store: Store, id: number): Promise<void> {
  await store.db.deleteFrom('browser_session').where('id', '=', id).execute()
}

/** Ends the sessions of an account, but for the one to keep. Returns how many there were. */
export async function endSessions(store: Store, accountId: number, keep?: number): Promise<number> {
  const { numDeletedRows } = await store.db
    .deleteFrom('browser_session')
    .where('account_id', '=', accountId)
    .$if(keep !== undefined, sessions => sessions.where('id', '!=', keep ?? 0))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

export interface Preferences {
  readonly displayName: string
  readonly timeZone: string
  readonly units: string
}

export async function setPreferences(store: Store, accountId: number, preferences: Preferences): Promise<void> {
  const { displayName: display_name, timeZone: time_zone, units } = preferences
  await store.db
    .insertInto('preference')
    .values({ account_id: accountId, display_name, time_zone, units })
    .onConflict(conflict => conflict.column('account_id').doUpdateSet({ display_name, time_zone, units }))
    .execute()
}

/** Notes the time zone of an account that did not say anything yet. */
export async function suggestTimeZone(store: Store, accountId: number, timeZone: string): Promise<void> {
  await store.db
    .insertInto('preference')
    .values({ account_id: accountId, display_name: '', time_zone: timeZone, units: '' })
    .onConflict(conflict => conflict.column('account_id').doNothing())
    .execute()
}

const SECRET_BYTES = 32
const SECRET_FORM = /^[A-Za-z0-9_-]{43}$/
const NOTED_EVERY_MS = 60_000

interface SessionRow {
  readonly id: number
  readonly account_id: number
  readonly seen_at: number
  readonly username: string
  readonly subscription_tier: string | null
  readonly subscription_ends_at: number | null
  readonly display_name: string | null
  readonly time_zone: string | null
  readonly units: string | null
}

const sessionByHash = query<{ hash: string; seenAfter: number; createdAfter: number }, SessionRow>(
  param => sql`
    select browser_session.id, browser_session.account_id, browser_session.seen_at,
      account.username, account.subscription_tier, account.subscription_ends_at,
      preference.display_name, preference.time_zone, preference.units
    from browser_session
    join account on account.id = browser_session.account_id
    left join preference on preference.account_id = account.id
    where browser_session.hash = ${param('hash')}
      and browser_session.seen_at > ${param('seenAfter')} and browser_session.created_at > ${param('createdAfter')}`,
)

const sharers = query<{ account: number }, { id: number; username: string }>(
  param => sql`
    select account.id, account.username from partnership join account on account.id = partnership.owner_id
    where partnership.partner_id = ${param('account')} order by account.id`,
)

function hashOf(secret: string): string {
  return hash('sha256', secret, 'hex')
}
