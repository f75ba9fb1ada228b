import { type Kysely, sql } from 'kysely'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { EventRow, Tables } from '../store/tables.ts'

/** The log of what concerns the safety of an account, for its owner. Rows are added, never changed but for counts. */

/** The groups that the page can be filtered by, and their titles. */
export const eventGroups = {
  signIns: 'Sign-ins',
  methods: 'Sign-in methods',
  keys: 'API keys',
  access: 'Access',
  exports: 'Exports',
  imports: 'Imports',
} as const
export type EventGroup = keyof typeof eventGroups

/** Every kind of event: its group and its text. To add one, add a row and call `recordEvent` where it happens. */
const eventKinds = {
  'signed-in-password': ['signIns', 'Signed in with the password'],
  'signed-in-passkey': ['signIns', 'Signed in with a passkey'],
  'signed-in-oidc': ['signIns', 'Signed in with the linked sign-in'],
  'sign-in-failed': ['signIns', 'Sign-in with a wrong password'],
  'confirmation-failed': ['signIns', 'Confirmation with a wrong password or passkey'],
  'browsers-signed-out': ['signIns', 'Other browsers signed out'],
  'invitation-made': ['methods', 'Invitation made'],
  'invitation-password': ['methods', 'Invitation used, password chosen'],
  'invitation-passkey': ['methods', 'Invitation used, passkey added'],
  'invitation-oidc': ['methods', 'Invitation used, sign-in linked'],
  'password-set': ['methods', 'Password set'],
  'password-removed': ['methods', 'Password removed'],
  'passkey-added': ['methods', 'Passkey added'],
  'passkey-removed': ['methods', 'Passkey removed'],
  'oidc-linked': ['methods', 'Sign-in linked'],
  'oidc-unlinked': ['methods', 'Linked sign-in removed'],
  'key-created': ['keys', 'API key created'],
  'key-regenerated': ['keys', 'API key regenerated'],
  'key-revoked': ['keys', 'API key revoked'],
  'access-given': ['access', 'Access given'],
  'access-narrowed': ['access', 'Access narrowed'],
  'access-ended': ['access', 'Access ended'],
  exported: ['exports', 'Everything exported'],
  'file-stored': ['imports', 'Records stored from a file'],
  'file-undone': ['imports', 'Records of a file removed again'],
  'record-deleted': ['imports', 'Record deleted'],
  'record-allowed': ['imports', 'Deleted record allowed again'],
  'source-connected': ['imports', 'Source connected'],
  'source-key-changed': ['imports', 'API key of the source changed'],
  'source-refused': ['imports', 'Source refused its API key'],
  'source-gone-removed': ['imports', 'Records removed that are gone at the source'],
  'source-forgotten': ['imports', 'Source and its API key forgotten'],
} as const satisfies Readonly<Record<string, readonly [EventGroup, string]>>
export type EventKind = keyof typeof eventKinds

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
  readonly kind: EventKind
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
  { accountId, kind, now, actor, subject = '', subjectId = 0 }: NewEvent,
): Promise<void> {
  const about = { subject, subject_id: subjectId, actor: actor.by, network: actor.network, browser: actor.browser }
  await db
    .insertInto('account_event')
    .values({ account_id: accountId, at: now, kind, ...about, times: 1 })
    .execute()
}

/** An event of the log, as its owner may see it. */
export type AccountEvent = Pick<
  EventRow,
  'id' | 'at' | 'kind' | 'actor' | 'subject' | 'subject_id' | 'network' | 'browser' | 'times'
>

/** Which events, and which part of them, the newest first. */
export interface EventsRange {
  readonly group?: EventGroup | undefined
  readonly before?: Pick<AccountEvent, 'at' | 'id'> | undefined
  readonly limit: number
  readonly offset?: number
}

export function listEvents(
  { reads }: Pick<Store, 'reads'>,
  accountId: number,
  { group, before, limit, offset = 0 }: EventsRange,
): Promise<AccountEvent[]> {
  return reads
    .selectFrom('account_event')
    .select(['id', 'at', 'kind', 'actor', 'subject', 'subject_id', 'network', 'browser', 'times'])
    .where('account_id', '=', accountId)
    .$if(group !== undefined, events => events.where('kind', 'in', kindsOf(group)))
    .$if(before !== undefined, events =>
      events.where(({ eb, refTuple, tuple }) => eb(refTuple('at', 'id'), '<', tuple(before?.at ?? 0, before?.id ?? 0))),
    )
    .orderBy('at', 'desc')
    .orderBy('id', 'desc')
    .limit(limit)
    .offset(offset)
    .execute()
}

/** All events of an account, in the same order. */
export async function* allEvents(
  store: Pick<Store, 'reads'>,
  accountId: number,
  group?: EventGroup,
): AsyncGenerator<AccountEvent> {
  let before: AccountEvent | undefined
  do {
    const events = await listEvents(store, accountId, { group, before, limit: MAX_BATCH_ROWS })
    yield* events
    before = events.length < MAX_BATCH_ROWS ? undefined : events.at(-1)
  } while (before !== undefined)
}

/** What an event says. A later version may have stored a kind that this one does not know. */
export function eventText({ kind }: Pick<AccountEvent, 'kind'>): string {
  return isKind(kind) ? eventKinds[kind][1] : kind
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
  const [, name] = BROWSERS.find(([mark]) => agent.includes(mark)) ?? []
  const [, system] = SYSTEMS.find(([mark]) => agent.includes(mark)) ?? []
  return `${name ?? 'Unknown browser'}${system === undefined ? '' : ` on ${system}`}`
}

const BROWSERS = [
  ['Firefox/', 'Firefox'],
  ['Edg/', 'Edge'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const

const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

const MAX_BATCH_ROWS = 500

function kindsOf(group: EventGroup | undefined): EventKind[] {
  return Object.keys(eventKinds)
    .filter(isKind)
    .filter(kind => eventKinds[kind][0] === group)
}

function isKind(kind: string): kind is EventKind {
  return Object.hasOwn(eventKinds, kind)
}
