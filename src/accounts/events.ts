import { type Kysely, sql } from 'kysely'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/** The log of what concerns the safety of an account, for its owner. Rows are added, never changed but for counts. */

/** Every type of event, with its text. To add one, add a row and call `recordEvent` where it happens. */
const eventTypes = {
  'signed-in-password': 'Signed in with the password',
  'signed-in-passkey': 'Signed in with a passkey',
  'signed-in-oidc': 'Signed in with the linked sign-in',
  'sign-in-failed': 'Wrong password entered',
  'browsers-signed-out': 'Other browsers signed out',
  'invitation-made': 'Invitation made',
  'invitation-password': 'Invitation used, password chosen',
  'invitation-passkey': 'Invitation used, passkey added',
  'invitation-oidc': 'Invitation used, sign-in linked',
  'password-set': 'Password set',
  'password-removed': 'Password removed',
  'passkey-added': 'Passkey added',
  'passkey-removed': 'Passkey removed',
  'oidc-linked': 'Sign-in linked',
  'oidc-unlinked': 'Linked sign-in removed',
  'key-created': 'API key created',
  'key-regenerated': 'API key regenerated',
  'key-revoked': 'API key revoked',
  'access-given': 'Access given',
  'access-narrowed': 'Access narrowed',
  'access-ended': 'Access ended',
  exported: 'Everything exported',
  'file-stored': 'Records stored from a file',
  'file-undone': 'Records of a file removed again',
  'record-deleted': 'Record deleted',
  'record-allowed': 'Deleted record allowed again',
  'source-connected': 'Source connected',
  'source-key-changed': 'API key of the source changed',
  'source-refused': 'Source refused its API key',
  'source-gone-removed': 'Records removed that are gone at the source',
  'source-forgotten': 'Source and its API key forgotten',
} as const satisfies Readonly<Record<string, string>>
export type EventType = keyof typeof eventTypes

/** Who did something: the account itself, in a browser, the operator with a command, or the service without being asked. */
export interface Actor {
  readonly by: 'self' | 'operator' | 'service'
  /** As `networkPart` writes it; empty unless it was the account. */
  readonly network: string
  /** As `browserName` writes it; empty unless it was the account. */
  readonly browser: string
}

export const OPERATOR: Actor = { by: 'operator', network: '', browser: '' }
export const SERVICE: Actor = { ...OPERATOR, by: 'service' }

export interface NewEvent {
  readonly accountId: number
  readonly type: EventType
  readonly now: number
  readonly actor: Actor
  /** The name of the key, the passkey or the person that it is about. */
  readonly subject?: string
  /** The identifier of the key. */
  readonly subjectId?: number
}

/** Adds an event, within the transaction of what it records: neither is stored without the other. */
export async function recordEvent(
  db: Kysely<Tables>,
  { accountId, type, now, actor, subject = '', subjectId = 0 }: NewEvent,
): Promise<void> {
  const about = { subject, subject_id: subjectId, actor: actor.by, network: actor.network, browser: actor.browser }
  await db
    .insertInto('account_event')
    .values({ account_id: accountId, at: now, kind: type, ...about, times: 1 })
    .execute()
}

export type AccountEvent = Awaited<ReturnType<typeof listEvents>>[number]

export interface RowRange {
  readonly limit: number
  readonly offset?: number
}

/** The events of an account, the newest first. */
export function listEvents({ reads }: Pick<Store, 'reads'>, accountId: number, { limit, offset = 0 }: RowRange) {
  return reads
    .selectFrom('account_event')
    .select(['id', 'at', 'kind', 'actor', 'subject', 'subject_id', 'network', 'browser', 'times'])
    .where('account_id', '=', accountId)
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** What an event says. A later version may have stored a type that this one does not know. */
export function eventText({ kind }: Pick<AccountEvent, 'kind'>): string {
  const texts: Readonly<Record<string, string>> = eventTypes
  return texts[kind] ?? kind
}

/** Removes events that are older than a year. On PostgreSQL its owner's function does, so that the service needs no right to. */
export async function pruneEvents({ db, engine }: Store, now: number): Promise<void> {
  if (engine === 'postgres') await sql`select prune_account_events()`.execute(db)
  else
    await db
      .deleteFrom('account_event')
      .where('at', '<', now - 365 * DAY_MS)
      .execute()
}

/** The name of a browser and its system, as far as its user agent says. */
export function browserName(agent: string): string {
  const browser = BROWSERS.find(mark => agent.includes(`${mark}/`)) ?? 'Unknown browser'
  const system = SYSTEMS.find(mark => agent.includes(mark))
  return [browser, system].flatMap(mark => (mark === undefined ? [] : (NAMES[mark] ?? mark))).join(' on ')
}

const BROWSERS = ['Firefox', 'Edg', 'Chrome', 'Safari', 'curl']
const SYSTEMS = ['iPhone', 'iPad', 'Android', 'Windows', 'Mac OS', 'Linux']
/** Of those that are called otherwise in a user agent. */
const NAMES: Readonly<Record<string, string>> = { Edg: 'Edge', 'Mac OS': 'macOS' }
