import { hash } from 'node:crypto'
import { LockDevice, TrainingDevice } from '../contract/devices.ts'
import { LockSession } from '../contract/lock-sessions.ts'
import { LockTemplate } from '../contract/lock-templates.ts'
import { isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { accountText, User } from '../contract/people.ts'
import { parseTimestamp } from '../contract/time.ts'
import { TrainingSession } from '../contract/training-sessions.ts'
import { TrainingTemplate, TrainingTemplateSummary } from '../contract/training-templates.ts'
import {
  type SortItems,
  checkInteger,
  checkText,
  type Dropped,
  dropUnknown,
  InvalidError,
  isObject,
  type JsonObject,
  recordWriter,
  type Serialize,
} from './canonical.ts'
import { lockEvents, SESSION_FIGURES, sessionFigures, templateRules } from './derived-columns.ts'

export type Cell = string | number | null
export type Row = Readonly<Record<string, Cell>>

/** A kind of line in an archive, and the table its rows live in. */
export interface Kind {
  readonly name: string
  readonly table: string
  /** Keys allowed beside `kind` and `data`. */
  readonly beside: readonly string[]
  /** The columns that `read` fills, in the order they are stored. */
  readonly columns: readonly string[]
  /** What `read` fills beside them: columns of the staging table alone. */
  readonly staged: Readonly<Record<string, 'text' | 'integer'>>
  /** The columns that name a row. */
  readonly key: readonly string[]
  /** The columns that tell whether two rows of the same key are the same; all else is derived from them. */
  readonly identity: readonly string[]
  /** The columns that name accounts. */
  readonly accounts: readonly string[]
  /** The columns of the identifier and of the account it belongs to. */
  readonly recordColumn: string
  readonly ownerColumn: string
  /** Whether a row is a record of the account `owner_id`, which on PostgreSQL is part of its primary key. */
  readonly isOwned: boolean
  /** How a row takes over from the stored one what its line does not tell. */
  readonly merge?: Merge
  /** Makes the row of a line. Throws Invalid, or Unfinished for a session that is not to be stored. */
  readonly read: (data: JsonObject, beside: JsonObject, dropped: Dropped) => Row
  /** Writes the line of a row, without the newline. */
  readonly write: (row: Row) => string
}

export interface Merge {
  /** SQL: which rows, `incoming` beside `stored`, are concerned. */
  readonly condition: string
  /** Whether a line of an archive tells all there is, so that only rows from elsewhere are merged. */
  readonly unlessArchive: boolean
  /** The new values of the columns of the incoming row. */
  readonly row: (incoming: Row, stored: Row, options: { readonly tiers: boolean }) => Row
}

/** A session without a result yet. It is no error, and it is not stored. */
export class UnfinishedError extends Error {
  override readonly name = 'Unfinished'
  readonly id: number
  constructor(id: number) {
    super('not finished')
    this.id = id
  }
}

export const account: Kind = {
  name: 'account',
  table: 'account',
  beside: [],
  columns: ['id', 'username', 'subscription_tier', 'subscription_ends_at', 'document', 'etag', 'extra', 'as_of'],
  staged: { given: 'text' },
  key: ['id'],
  identity: ['etag', 'subscription_ends_at'],
  accounts: [],
  recordColumn: 'id',
  ownerColumn: 'id',
  isOwned: false,
  read: (data, _beside, dropped) => ({ ...readAccount(data, dropped), given: givenFields(data) }),
  merge: {
    condition:
      'incoming.etag <> stored.etag or incoming.subscription_ends_at is distinct from stored.subscription_ends_at',
    unlessArchive: false,
    row: mergeAccount,
  },
  write: row => {
    const ends = row['subscription_ends_at'] ?? null
    return line('account', accountText(String(row['document']), ends === null ? null : Number(ends)))
  },
}

const partnership: Kind = {
  name: 'partnership',
  table: 'partnership',
  beside: [],
  columns: ['owner_id', 'partner_id', 'extra'],
  staged: {},
  key: ['owner_id', 'partner_id'],
  identity: [],
  accounts: ['owner_id', 'partner_id'],
  recordColumn: 'partner_id',
  ownerColumn: 'owner_id',
  isOwned: false,
  read: (data, _beside, dropped) => {
    const row = { owner_id: identifier(data, 'ownerId'), partner_id: identifier(data, 'partnerId') }
    if (row.owner_id === row.partner_id) throw new InvalidError('must not be the owner', 'partnerId')
    dropUnknown(data, PARTNERSHIP_FIELDS, dropped)
    return row
  },
  write: row => line('partnership', `{"ownerId":${row['owner_id']},"partnerId":${row['partner_id']}}`),
}

const PARTNERSHIP_FIELDS = new Set(['ownerId', 'partnerId'])

const lockTemplate = record('lock-template', {
  columns: ['at', 'is_test_lock', 'is_time_displayed'],
  read: (data, _beside, dropped) => {
    const random = data['isRandomDuration'] === true
    for (const field of ['minDuration', 'maxDuration']) {
      const value = optionalInteger(data, field)
      if (random && value === null) throw new InvalidError('is required when the duration is random', field)
    }
    const template = random ? data : { ...data, minDuration: null, maxDuration: null }
    const document = writers.lockTemplate(template, dropped)
    return { ...owned(data), at: instant(data, 'createdAt'), ...templateRules(template), ...stored(document) }
  },
})

const lockDevice = record('lock-device', {
  read: (data, _beside, dropped) => {
    const document = writers.lockDevice({ ...data, ...zeroes(data, ['hueShift']) }, dropped)
    return { ...owned(data), ...stored(document) }
  },
})

const trainingDevice = record('training-device', {
  read: (data, _beside, dropped) => {
    const document = writers.trainingDevice({ ...data, ...zeroes(data, ['serialNumber', 'apiHits']) }, dropped)
    return { ...owned(data), ...stored(document) }
  },
})

const trainingTemplate = record('training-template', {
  columns: ['at', 'is_public', 'is_active', 'summary'],
  read: (data, _beside, dropped) => {
    const document = writers.trainingTemplate(data, dropped)
    return {
      ...owned(data),
      at: instant(data, 'createdDate'),
      is_public: flag(data, 'isPublic'),
      is_active: flag(data, 'isActive'),
      summary: writers.trainingTemplateSummary(data, ignore),
      ...stored(document),
    }
  },
})

const lockSession = record('lock-session', {
  beside: ['templateId'],
  columns: ['at', 'lock_state', 'is_active', 'template_id', 'ended_at', 'events'],
  identity: ['etag', 'template_id'],
  staged: { tells_template: 'integer' },
  merge: {
    condition: 'incoming.tells_template = 0',
    unlessArchive: true,
    row: (_incoming, stored) => ({ template_id: stored['template_id'] ?? null }),
  },
  read: (data, beside, dropped) => {
    const templateId = optionalInteger(beside, 'templateId')
    const document = writers.lockSession(data, dropped)
    return {
      ...owned(data),
      at: instant(data, 'startDate'),
      lock_state: text(data, 'lockState'),
      is_active: flag(data, 'isActive'),
      template_id: templateId,
      tells_template: beside['templateId'] === undefined ? 0 : 1,
      ended_at: optionalInstant(data, 'endDate'),
      events: lockEvents(data),
      ...stored(document),
    }
  },
  write: row =>
    line(
      'lock-session',
      String(row['document']),
      row['template_id'] === null ? '' : `"templateId":${row['template_id']}`,
    ),
})

const trainingSession = record('training-session', {
  beside: ['ownerId', 'legacyUpload'],
  columns: ['at', 'passed', ...SESSION_FIGURES],
  // The owner is not in the document.
  identity: ['etag', 'owner_id'],
  staged: { tells_upload: 'integer' },
  merge: {
    condition: 'incoming.tells_upload = 0 and incoming.approximate = 0 and stored.approximate = 1',
    unlessArchive: true,
    row: incoming => ({
      approximate: 1,
      // The mark is the last field of a document.
      ...stored(`${String(incoming['document']).slice(0, -1)},"distanceApproximate":true}`),
    }),
  },
  read: (data, beside, dropped) => {
    const id = identifier(data, 'id')
    const ownerId = identifier(beside, 'ownerId')
    if (data['passed'] === null) {
      // What is not stored may be incomplete, but not hostile.
      dropUnknown(data, new Set(), ignore)
      throw new UnfinishedError(id)
    }
    const session = withMetrics(data, isLegacy(data, beside))
    const document = writers.trainingSession(session, dropped)
    return {
      id,
      owner_id: ownerId,
      at: instant(data, 'created_at'),
      passed: flag(data, 'passed'),
      tells_upload: beside['legacyUpload'] === undefined ? 0 : 1,
      ...sessionFigures(session),
      ...stored(document),
    }
  },
  write: row => line('training-session', String(row['document']), `"ownerId":${row['owner_id']}`),
})

/** Every kind, in the order of an export: each names only accounts that come before it. */
export const kinds: readonly Kind[] = [
  account,
  partnership,
  lockTemplate,
  lockDevice,
  trainingDevice,
  trainingTemplate,
  lockSession,
  trainingSession,
]

/** Makes the row of an account from what is known of it: its id and username at least. Throws Invalid. */
export function readAccount(data: JsonObject, dropped: Dropped) {
  const user = {
    ...data,
    accountType: data['accountType'] ?? 'user',
    subscriptionTier: data['subscriptionTier'] ?? null,
    ...zeroes(data, ['league', 'rank', 'totalPoints', 'matchPoints']),
    profileImage: data['profileImage'] ?? null,
    profileDescription: data['profileDescription'] ?? null,
    profileTitle: data['profileTitle'] ?? null,
  }
  const document = writers.user(user, dropped)
  return {
    id: whole(user, 'id'),
    username: readUsername(data['username']),
    // One of the tiers or null, or the writer would have refused it.
    subscription_tier: user.subscriptionTier as string | null,
    subscription_ends_at: optionalInstant(data, 'subscriptionEndsAt'),
    ...stored(document),
  }
}

/** What a line says of an account, as JSON: enough to make its row again beside what is stored. */
function givenFields(data: JsonObject): string {
  return JSON.stringify(Object.fromEntries(ACCOUNT_FIELDS.flatMap(name => (name in data ? [[name, data[name]]] : []))))
}

const ACCOUNT_FIELDS = [...Object.keys(User.properties), 'subscriptionEndsAt']

/** An account keeps the fields that a line does not have, and its tier unless that is to be taken. */
function mergeAccount(incoming: Row, stored: Row, { tiers }: { readonly tiers: boolean }): Row {
  // Both are JSON of an object: a document, and what `givenFields` wrote.
  const before = JSON.parse(String(stored['document'])) as JsonObject
  const given = JSON.parse(String(incoming['given'])) as JsonObject
  const merged = readAccount(
    { ...before, ...given, ...(tiers ? {} : { subscriptionTier: before['subscriptionTier'] }) },
    ignore,
  )
  const takesEnd = tiers && 'subscriptionEndsAt' in given
  return {
    ...merged,
    subscription_ends_at: takesEnd ? merged.subscription_ends_at : (stored['subscription_ends_at'] ?? null),
  }
}

/** A name people and scripts can tell from an identifier. */
function readUsername(value: unknown): string {
  if (typeof value !== 'string' || !isName(value)) {
    throw new InvalidError(`must be text of 1 to ${MAX_NAME_LENGTH} characters without control characters`, 'username')
  }
  if (/^[0-9]+$/.test(value)) throw new InvalidError('must not be all digits', 'username')
  return checkText(value)
}

/** Events in the order they happened. */
const byTime: SortItems = items => {
  const times = items.map(item => instant(item, 'createdAt'))
  const ids = items.map(item => whole(item, 'id'))
  return sorted([...items.keys()], (a, b) => at(times, a) - at(times, b) || at(ids, a) - at(ids, b))
}

/** Items that have an `order` sorted among the places they take; those without stay where they are. */
const byOrder: SortItems = items => {
  const orders = items.map(item => item['order'])
  const places = [...items.keys()].filter(place => typeof orders[place] === 'number')
  const ordered = sorted(places, (a, b) => Number(orders[a]) - Number(orders[b]))
  if (ordered === undefined) return undefined
  const order = [...items.keys()]
  for (const [index, place] of places.entries()) order[place] = at(ordered, index)
  return order
}

const writers = {
  user: recordWriter(User, { aside: ['subscriptionEndsAt'] }),
  lockTemplate: recordWriter(LockTemplate),
  lockDevice: recordWriter(LockDevice),
  trainingDevice: recordWriter(TrainingDevice),
  trainingTemplate: recordWriter(TrainingTemplate, { arrange: { Segment: byOrder } }),
  trainingTemplateSummary: recordWriter(TrainingTemplateSummary, { aside: ['Segment'] }),
  lockSession: recordWriter(LockSession, { arrange: { LockSegment: byTime } }),
  trainingSession: recordWriter(TrainingSession, { arrange: { TrainerSegment: byOrder } }),
} satisfies Record<string, Serialize>

/** What the kinds of record have in common. */
function record(
  name: string,
  own: Pick<Kind, 'read'> & Partial<Pick<Kind, 'beside' | 'columns' | 'staged' | 'identity' | 'merge' | 'write'>>,
): Kind {
  return {
    name,
    table: name.replace('-', '_'),
    beside: [],
    key: ['id'],
    identity: ['etag'],
    accounts: ['owner_id'],
    recordColumn: 'id',
    ownerColumn: 'owner_id',
    staged: {},
    isOwned: true,
    write: row => line(name, String(row['document'])),
    ...own,
    columns: ['id', 'owner_id', ...(own.columns ?? []), 'document', 'etag', 'extra'],
  }
}

function line(kind: string, data: string, beside = ''): string {
  return `{"kind":"${kind}","data":${data}${beside === '' ? '' : `,${beside}`}}`
}

function stored(document: string) {
  return { document, etag: hash('sha256', document, 'base64url').slice(0, 22) }
}

function owned(data: JsonObject) {
  return { id: whole(data, 'id'), owner_id: whole(data, 'ownerId') }
}

/**
 * The figures of a session: as recorded, else the sum over its segments. Distances are added in whole micrometres, so
 * that the sum does not depend on their order; null when no segment knows its distance.
 */
function withMetrics(data: JsonObject, legacy: boolean): JsonObject {
  const { distanceApproximate: _, ...rest } = data
  const given = data['TrainerSegment']
  const segments: unknown[] = Array.isArray(given) ? given : []
  // The distance of a segment is always sent; a source that had none leaves it out.
  const results = segments.map(segment =>
    isObject(segment) && segment['distanceTravelled'] === undefined ? { ...segment, distanceTravelled: null } : segment,
  )
  return {
    ...rest,
    ...(Array.isArray(given) ? { TrainerSegment: results } : {}),
    repsMeasured: data['repsMeasured'] ?? sum(results, 'repsMeasured', 1) ?? 0,
    distanceTravelled: data['distanceTravelled'] ?? sum(results, 'distanceTravelled', MICROMETRES),
    ...(legacy ? { distanceApproximate: true } : {}),
  }
}

const MICROMETRES = 1_000_000

function sum(segments: readonly unknown[], field: string, scale: number): number | null {
  let total: number | null = null
  for (const segment of segments) {
    const value = isObject(segment) ? segment[field] : null
    if (typeof value === 'number') total = (total ?? 0) + Math.round(value * scale)
  }
  if (total === null) return null
  // A sum that is not exact depends on its order. The writer refuses it, after what is wrong with the segments.
  return Number.isSafeInteger(total) ? total / scale : Infinity
}

function isLegacy(data: JsonObject, beside: JsonObject): boolean {
  const legacy = beside['legacyUpload'] ?? false
  const approximate = data['distanceApproximate'] ?? false
  if (typeof legacy !== 'boolean') throw new InvalidError('must be true or false', 'legacyUpload')
  if (typeof approximate !== 'boolean') throw new InvalidError('must be true or false', 'distanceApproximate')
  return legacy || approximate
}

/** Counts are 0 where the source does not know them. */
function zeroes(data: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, data[name] ?? 0]))
}

function identifier(data: JsonObject, field: string): number {
  if (data[field] === undefined) throw new InvalidError('is missing', field)
  return checkInteger(data[field], { minimum: 1 }, field)
}

function optionalInteger(data: JsonObject, field: string): number | null {
  const value = data[field] ?? null
  return value === null ? null : checkInteger(value, {}, field)
}

function optionalInstant(data: JsonObject, field: string): number | null {
  const value = data[field] ?? null
  if (value === null) return null
  const parsed = typeof value === 'string' ? parseTimestamp(value) : undefined
  if (parsed === undefined) throw new InvalidError('must be an RFC 3339 date-time or null', field)
  return parsed
}

// The readers below are for fields that a writer has checked.

function whole(data: JsonObject, field: string): number {
  return Number(data[field])
}

function instant(data: JsonObject, field: string): number {
  return parseTimestamp(String(data[field])) ?? 0
}

function text(data: JsonObject, field: string): string {
  const value = data[field]
  return typeof value === 'string' ? value : ''
}

function flag(data: JsonObject, field: string): number {
  return data[field] === true ? 1 : 0
}

function ignore() {}

/** The indexes in order; undefined when they already are. */
function sorted(indexes: readonly number[], compare: (a: number, b: number) => number): number[] | undefined {
  const inOrder = indexes.every((index, place) => place === 0 || compare(at(indexes, place - 1), index) <= 0)
  return inOrder ? undefined : indexes.toSorted(compare)
}

function at(numbers: readonly number[], index: number): number {
  return numbers[index] ?? 0
}
