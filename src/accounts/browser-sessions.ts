import { type Kysely, sql } from 'kysely'
import * as Type from 'typebox'
import { act } from './act.ts'
import { checkedQuery, readChecked } from './access.ts'
import type { Store } from '../store/index.ts'
import type { BrowserSessionRow, Tables } from '../store/tables.ts'
import { type Actor, type EventType, recordEvent } from './events.ts'
import { forgetBrowsers } from './known-browsers.ts'
import { type Preferences, suggestTimeZone } from './preferences.ts'
import { isCurrent, type Proof } from './proofs.ts'
import { hashSecret, makeSecret, SECRET_FORM } from './secrets.ts'

/** A session ends a week after sign-in, or earlier if it is not used for MAX_IDLE_MS. */
export const MAX_SESSION_MS = 7 * 24 * 3_600_000
const MAX_IDLE_MS = 12 * 3_600_000

/** Somebody who is signed in, with the facts about the account that every page of the dashboard needs. */
export interface BrowserSession extends Preferences {
  readonly id: number
  readonly accountId: number
  /** When the person last proved who they are. */
  readonly confirmedAt: number
  readonly username: string
  readonly tier: string | null
  readonly tierEndsAt: number | null
}

export interface SessionStart {
  /** Its user agent. */
  readonly browser: string
  readonly actor: Actor
  readonly now: number
  /** The session that this browser had, of whichever account: it ends. */
  readonly replaces?: number | undefined
  /** The zone of the browser, which an account takes that has no preferences yet. */
  readonly timeZone?: string | undefined
}

/**
 * Begins a session for somebody who proved who they are. Returns its secret, of which only the hash is stored; undefined if
 * the sign-in method was changed or removed since it was checked.
 */
export function beginSession(
  store: Store,
  { proof, ...start }: SessionStart & { readonly proof: Proof },
): Promise<string | undefined> {
  const { accountId, method } = proof
  return store.db.transaction().execute(async db => {
    if (!(await isCurrent(db, store, proof))) return undefined
    return beginSessionIn(db, { ...start, accountId, event: `signed-in-${method}`, confirmedAt: confirmedAt(proof) })
  })
}

/** Begins a session within a transaction, and records the event that it begins with. */
export async function beginSessionIn(
  db: Kysely<Tables>,
  { accountId, browser, actor, now, replaces, timeZone, event, confirmedAt = null }: NewSession,
): Promise<string> {
  const secret = makeSecret()
  if (timeZone !== undefined) await suggestTimeZone(db, accountId, timeZone)
  if (replaces !== undefined) await db.deleteFrom('browser_session').where('id', '=', replaces).execute()
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
      confirmed_at: confirmedAt,
    })
    .execute()
  await recordEvent(db, { accountId, type: event, now, actor })
  return secret
}

interface NewSession extends SessionStart {
  readonly accountId: number
  readonly event: EventType
  readonly confirmedAt?: number | null
}

const MAX_BROWSER_LENGTH = 300

/** When the person of a new session last proved who they are; null for now. An issuer may have asked long ago, or not say when. */
export function confirmedAt({ method, authenticatedAt = 0 }: Pick<Proof, 'method' | 'authenticatedAt'>) {
  return method === 'oidc' ? authenticatedAt : null
}

/** The session of a secret; undefined if there is none, or it has ended. Records in the background, each minute, that it is used. */
export async function findSession(store: Store, secret: string, now: number): Promise<BrowserSession | undefined> {
  if (!SECRET_FORM.test(secret)) return undefined
  const [row] = await readChecked(store, sessionByHash, {
    hash: hashSecret(secret),
    seenAfter: now - MAX_IDLE_MS,
    createdAfter: now - MAX_SESSION_MS,
  })
  if (row !== undefined && now - row.seenAt > SEEN_INTERVAL_MS) noteSeen(store, row.id, now)
  return row
}

/** In the background, so that no page waits for the write or fails with it. After a failure the next page tries again. */
function noteSeen(store: Store, id: number, now: number) {
  const writing = writingSeen.getOrInsertComputed(store, () => new Set())
  if (writing.has(id)) return
  writing.add(id)
  void store.db
    .updateTable('browser_session')
    .set({ seen_at: now })
    .where('id', '=', id)
    .execute()
    .catch(() => {})
    .finally(() => writing.delete(id))
}

const writingSeen = new WeakMap<Store, Set<number>>()

export type SessionFacts = Pick<BrowserSessionRow, 'id' | 'browser' | 'created_at' | 'seen_at'>

/** The sessions of an account that have not ended, most recently used first. */
export function listSessions(store: Store, accountId: number, now: number): Promise<SessionFacts[]> {
  return store.reads
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

/** Signs out another browser of the account, or all others. */
export const signOutOthers = act({
  title: 'Sign out others',
  event: 'browsers-signed-out',
  input: Type.Object({
    accountId: Type.Integer(),
    keepSession: Type.Integer(),
    chosen: Type.Optional(Type.Integer()),
  }),
  async run({ db, record }, { accountId, keepSession, chosen }) {
    if (chosen === undefined) await endSessions(db, accountId, keepSession)
    else {
      const { numDeletedRows } = await db
        .deleteFrom('browser_session')
        .where('id', '=', chosen)
        .where('id', '!=', keepSession)
        .where('account_id', '=', accountId)
        .executeTakeFirstOrThrow()
      if (numDeletedRows === 0n) return
    }
    await record({ accountId })
  },
})

/** Ends the sessions of an account except `keepSession`, and forgets its known browsers, within a transaction. */
export async function endSessions(db: Kysely<Tables>, accountId: number, keepSession = 0): Promise<void> {
  await forgetBrowsers(db, accountId)
  const sessions = db.deleteFrom('browser_session').where('account_id', '=', accountId)
  await sessions.where('id', '!=', keepSession).execute()
}

/** Ends the sessions of an account except `keepSession`, and its invitation: nobody who signed in by a method that was changed stays. */
export async function endSessionsAndInvitation(
  db: Kysely<Tables>,
  accountId: number,
  keepSession?: number,
): Promise<void> {
  await endSessions(db, accountId, keepSession)
  await db.deleteFrom('invitation').where('account_id', '=', accountId).execute()
}

const SEEN_INTERVAL_MS = 60_000

type UsedSession = BrowserSession & { readonly seenAt: number }

const sessionByHash = checkedQuery<{ hash: string; seenAfter: number; createdAfter: number }, UsedSession>(
  'browser session',
  (param, named) => sql`
    select ${named}, browser_session.hash, browser_session.id, browser_session.account_id as "accountId", browser_session.seen_at as "seenAt",
      coalesce(browser_session.confirmed_at, browser_session.created_at) as "confirmedAt",
      account.username, account.subscription_tier as tier, account.subscription_ends_at as "tierEndsAt",
      coalesce(preference.time_zone, '') as "timeZone", coalesce(preference.units, '') as units,
      coalesce(preference.language, '') as language, preference.weekly_goal as "weeklyGoal"
    from browser_session
    join account on account.id = browser_session.account_id
    left join preference on preference.account_id = account.id
    where browser_session.hash = ${param('hash')}
      and browser_session.seen_at > ${param('seenAfter')} and browser_session.created_at > ${param('createdAfter')}`,
)
