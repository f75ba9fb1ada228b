import { randomBytes } from 'node:crypto'
import { sql } from 'kysely'
import { query } from '../store/query.ts'
import type { Store } from '../store/index.ts'
import { hashSecret } from './secrets.ts'

/** A session ends a week after sign-in, or earlier if it is not used for MAX_IDLE_MS. */
export const MAX_SESSION_MS = 7 * 24 * 3_600_000

/** Somebody who is signed in, with the facts about the account that every page of the dashboard needs. */
export interface BrowserSession {
  readonly id: number
  readonly accountId: number
  readonly username: string
  readonly tier: string | null
  readonly tierEndsAt: number | null
  /** Empty if the account did not choose one. */
  readonly displayName: string
  /** Empty if it is not known. */
  readonly timeZone: string
  readonly units: string
}

/** Begins a session and returns its secret; only the hash of it is stored. */
export async function beginSession(store: Store, accountId: number, browser: string, now: number): Promise<string> {
  const secret = randomBytes(SECRET_BYTES).toString('base64url')
  await store.db.transaction().execute(async db => {
    // Expired sessions are removed here and nowhere else.
    await db
      .deleteFrom('browser_session')
      .where(({ or, eb }) => or([eb('seen_at', '<=', now - MAX_IDLE_MS), eb('created_at', '<=', now - MAX_SESSION_MS)]))
      .execute()
    await db
      .insertInto('browser_session')
      .values({
        account_id: accountId,
        hash: hashSecret(secret),
        browser: browser.slice(0, MAX_BROWSER_LENGTH),
        created_at: now,
        seen_at: now,
      })
      .execute()
  })
  return secret
}

/** The session of a secret; undefined if there is none, or it has ended. Records once a minute that it is in use. */
export async function findSession(store: Store, secret: string, now: number): Promise<BrowserSession | undefined> {
  if (!SECRET_FORM.test(secret)) return undefined
  const [row] = await store.read(sessionByHash, {
    hash: hashSecret(secret),
    seenAfter: now - MAX_IDLE_MS,
    createdAfter: now - MAX_SESSION_MS,
  })
  if (row === undefined) return undefined
  if (now - row.seen_at > SEEN_INTERVAL_MS) {
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

export interface SessionFacts {
  readonly id: number
  readonly browser: string
  readonly created_at: number
  readonly seen_at: number
}

/** The sessions of an account that have not ended, most recently used first. */
export function listSessions(store: Store, accountId: number, now: number): Promise<SessionFacts[]> {
  return store.db
    .selectFrom('browser_session')
    .select(['id', 'browser', 'created_at', 'seen_at'])
    .where('account_id', '=', accountId)
    .where('seen_at', '>', now - MAX_IDLE_MS)
    .where('created_at', '>', now - MAX_SESSION_MS)
    .orderBy('seen_at', 'desc')
    .orderBy('id', 'desc')
    .execute()
}

export async function endSession(store: Store, id: number): Promise<void> {
  await store.db.deleteFrom('browser_session').where('id', '=', id).execute()
}

/** Ends the sessions of an account except `keep`. Returns how many were ended. */
export async function endSessions(store: Store, accountId: number, keep?: number): Promise<number> {
  const { numDeletedRows } = await store.db
    .deleteFrom('browser_session')
    .where('account_id', '=', accountId)
    .$if(keep !== undefined, sessions => sessions.where('id', '!=', keep ?? 0))
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}

const MAX_IDLE_MS = 12 * 3_600_000
const MAX_BROWSER_LENGTH = 300
const SECRET_BYTES = 32
const SECRET_FORM = /^[A-Za-z0-9_-]{43}$/
const SEEN_INTERVAL_MS = 60_000

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
