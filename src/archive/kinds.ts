import { hash } from 'node:crypto'
import { type Area, areas, isArea } from '../contract/areas.ts'
import { formatDate } from '../contract/calendar.ts'
import { LockDevice, TrainingDevice } from '../contract/devices.ts'
import { LockSession } from '../contract/lock-sessions.ts'
import { LockTemplate } from '../contract/lock-templates.ts'
import { isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { accountText, isTier, User } from '../contract/people.ts'
import { DAY_MS, formatTimestamp, parseDay } from '../contract/time.ts'
import { TrainingSession } from '../contract/training-sessions.ts'
import { TrainingTemplate, TrainingTemplateSummary } from '../contract/training-templates.ts'
import {
  type SortItems,
  checkInteger,
  Faults,
  noteUnknown,
  InvalidError,
  isObject,
  type JsonObject,
  readInstant,
  recordWriter,
  roundHalfAway,
  type Serialize,
} from './canonical.ts'
import { gradedColumns, lockEvents, SESSION_COLUMNS, sessionColumns, templateColumns } from './derived-columns.ts'
import { type Leniency, Notes } from './notes.ts'

export type Cell = string | number | null
export type Row = Readonly<Record<string, Cell>>

/** A kind of line in an archive, and the table of its rows. */
export interface Kind {
  readonly name: string
  readonly table: string
  /** Keys allowed in a line beside `kind`, `data` and `extra`. */
  readonly envelopeKeys: readonly string[]
  /** The columns that `read` fills, in the order they are stored. */
  readonly columns: readonly string[]
  /** Further columns that `read` fills, which only the staging table has. */
  readonly staged: Readonly<Record<string, 'text' | 'integer'>>
  /** The columns that identify a row. */
  readonly key: readonly string[]
  /** The columns that decide whether two rows with the same key are equal; the others are derived from them. */
  readonly identity: readonly string[]
  /** The columns that a stored row keeps, whatever a line says. */
  readonly kept?: readonly string[]
  /** The columns that refer to accounts. */
  readonly accounts: readonly string[]
  /** The columns of the identifier and of the account it belongs to. */
  readonly recordColumn: string
  readonly ownerColumn: string
  /** Whether a row is a record of the account `owner_id`, which is part of the primary key on PostgreSQL. */
  readonly isOwned: boolean
  /** How a row is completed with values of the stored row that its line does not have. */
  readonly merge?: Merge
  /** Makes the row of a line. Throws InvalidError, or UnfinishedError for a session that is not stored. */
  readonly read: (data: JsonObject, envelope: JsonObject, notes: Notes) => Row
  /** Writes the line of a row, without the newline. */
  readonly write: (row: Row) => string
}

interface MergeOptions {
  /** Whether the tier of a stored account, and its end, are updated. */
  readonly tiers: boolean
  /** Whether the rows come from an archive, in which a missing field means no value. */
  readonly isArchive: boolean
}

export interface Merge {
  /** SQL condition on `incoming` and `stored`: which rows to merge. */
  readonly condition: string
  /** Whether lines of archives are complete, so that only rows of other sources are merged. */
  readonly unlessArchive: boolean
  /** The new values of the columns of the incoming row. */
  readonly row: (incoming: Row, stored: Row, options: MergeOptions) => Row
}

/** A session that has not started or has no result yet. It is not stored, and not an error of the archive. */
export class UnfinishedError extends Error {
  override readonly name = 'UnfinishedError'
  readonly kind: string
  readonly id: number
  constructor(kind: string, id: number) {
    super('not finished')
    this.kind = kind
    this.id = id
  }
}

export const account: Kind = {
  name: 'account',
  table: 'account',
  envelopeKeys: ['asOf'],
  columns: ['id', 'username', 'subscription_tier', 'subscription_ends_at', 'document', 'etag', 'extra', 'as_of'],
  staged: { given: 'text' },
  key: ['id'],
  identity: ['etag', 'subscription_ends_at'],
  accounts: [],
  recordColumn: 'id',
  ownerColumn: 'id',
  isOwned: false,
  read: (data, envelope, notes) => {
    const faults = new Faults()
    const asOf = faults.collect(() => optionalInstant(envelope, 'asOf', notes)) ?? null
    const row = faults.collect(() => readAccount(data, notes))
    faults.throwIfAny()
    return { ...row, as_of: asOf, given: givenFields(data) }
  },
  merge: {
    condition:
      'incoming.etag <> stored.etag or incoming.subscription_ends_at is distinct from stored.subscription_ends_at',
    unlessArchive: false,
    row: mergeAccount,
  },
  write: row => {
    const ends = row['subscription_ends_at'] ?? null
    const data = accountText(String(row['document']), ends === null ? null : Number(ends))
    const asOf = row['as_of'] ?? null
    return line('account', data, row, asOf === null ? '' : `"asOf":"${formatTimestamp(Number(asOf))}"`)
  },
}

/** The columns of what access allows: what is stored stays, whatever a line tells. */
const TERMS = ['areas', 'records_from', 'expires_at', 'ended_at']

const partnership: Kind = {
  name: 'partnership',
  table: 'partnership',
  envelopeKeys: [],
  columns: ['owner_id', 'partner_id', ...TERMS, 'extra'],
  kept: TERMS,
  staged: {},
  key: ['owner_id', 'partner_id'],
  identity: [],
  accounts: ['owner_id', 'partner_id'],
  recordColumn: 'partner_id',
  ownerColumn: 'owner_id',
  isOwned: false,
  read: (data, _envelope, notes) => {
    const faults = new Faults()
    const owner = faults.collect(() => identifier(data, 'ownerId')) ?? null
    const partner = faults.collect(() => identifier(data, 'partnerId')) ?? null
    if (owner !== null && owner === partner) faults.add(new InvalidError('must not be the owner', 'partnerId'))
    const terms = faults.collect(() => readTerms(data))
    noteUnknown(data, PARTNERSHIP_FIELDS, notes, faults)
    faults.throwIfAny()
    return { owner_id: owner, partner_id: partner, ...terms }
  },
  write: row => line('partnership', JSON.stringify(partnershipData(row)), row),
}

const lockTemplate = record('lock-template', {
  columns: ['at', 'is_test_lock', 'is_time_displayed'],
  read: (data, _envelope, notes) => {
    const random = data['isRandomDuration'] === true
    const faults = new Faults()
    for (const field of ['minDuration', 'maxDuration']) {
      if (random && (data[field] ?? null) === null) {
        faults.add(new InvalidError('is required when the duration is random', field))
      } else if (!random) faults.collect(() => optionalInteger(data, field))
    }
    // Missing fields were reported above.
    const bounds = random ? { minDuration: data['minDuration'] ?? 0, maxDuration: data['maxDuration'] ?? 0 } : NO_BOUNDS
    const document = faults.collect(() => writers.lockTemplate({ ...data, ...bounds }, notes)) ?? ''
    faults.throwIfAny()
    return { ...owned(data), at: instant(data, 'createdAt'), ...templateColumns(data), ...stored(document) }
  },
})

const NO_BOUNDS = { minDuration: null, maxDuration: null }

const lockDevice = record('lock-device', {
  read: (data, _envelope, notes) => {
    const document = writers.lockDevice({ ...data, ...zeroes(data, ['hueShift']) }, notes)
    return { ...owned(data), ...stored(document) }
  },
})

const trainingDevice = record('training-device', {
  read: (data, _envelope, notes) => {
    const document = writers.trainingDevice({ ...data, ...zeroes(data, ['serialNumber', 'apiHits']) }, notes)
    return { ...owned(data), ...stored(document) }
  },
})

const trainingTemplate = record('training-template', {
  columns: ['at', 'is_public', 'is_active', 'summary'],
  read: (data, _envelope, notes) => {
    const document = writers.trainingTemplate(data, notes)
    return {
      ...owned(data),
      at: instant(data, 'createdDate'),
      is_public: flag(data, 'isPublic'),
      is_active: flag(data, 'isActive'),
      summary: writers.trainingTemplateSummary(data, new Notes()),
      ...stored(document),
    }
  },
})

const lockSession = record('lock-session', {
  envelopeKeys: ['templateId'],
  columns: ['at', 'lock_state', 'is_active', 'template_id', 'ended_at', 'events'],
  identity: ['etag', 'template_id'],
  staged: { has_template_id: 'integer' },
  merge: {
    condition: 'incoming.has_template_id = 0',
    unlessArchive: true,
    row: (_incoming, stored) => ({ template_id: stored['template_id'] ?? null }),
  },
  read: (data, envelope, notes) => {
    if (data['startDate'] === null) throw unfinished('lock-session', data, notes, 'not-started')
    const faults = new Faults()
    const templateId = faults.collect(() => optionalInteger(envelope, 'templateId')) ?? null
    const session = withoutRepeated(data, 'templateId', templateId)
    const document = faults.collect(() => writers.lockSession(session, notes)) ?? ''
    faults.throwIfAny()
    const endedAt = optionalInstant(data, 'endDate')
    // The end of an active session is only planned.
    if (endedAt !== null && data['isActive'] !== true) notes.addInstant(endedAt)
    return {
      ...owned(data),
      at: instant(data, 'startDate'),
      lock_state: text(data, 'lockState'),
      is_active: flag(data, 'isActive'),
      template_id: templateId,
      has_template_id: envelope['templateId'] === undefined ? 0 : 1,
      ended_at: endedAt,
      events: lockEvents(data),
      ...stored(document),
    }
  },
  write: row =>
    line(
      'lock-session',
      String(row['document']),
      row,
      row['template_id'] === null ? '' : `"templateId":${row['template_id']}`,
    ),
})

const trainingSession = record('training-session', {
  envelopeKeys: ['ownerId', 'legacyUpload'],
  columns: ['at', 'passed', ...SESSION_COLUMNS],
  // The owner is not in the document.
  identity: ['etag', 'owner_id'],
  staged: { has_legacy_upload: 'integer' },
  merge: {
    condition: `incoming.has_legacy_upload = 0 and incoming.approximate = 0 and stored.approximate = 1
      or incoming.extra is null and stored.extra like '%/percentGrade"%'`,
    unlessArchive: false,
    row: mergeSession,
  },
  read: (data, envelope, notes) => {
    if (data['passed'] === null) throw unfinished('training-session', data, notes)
    const faults = new Faults()
    const ownerId = faults.collect(() => identifier(envelope, 'ownerId')) ?? null
    const legacy = faults.collect(() => isLegacy(data, envelope)) ?? false
    const session = withMetrics(withoutRepeated(data, 'ownerId', ownerId), legacy)
    const document = faults.collect(() => writers.trainingSession(session, notes)) ?? ''
    faults.throwIfAny()
    return {
      id: whole(data, 'id'),
      owner_id: ownerId,
      at: instant(data, 'created_at'),
      passed: flag(data, 'passed'),
      has_legacy_upload: envelope['legacyUpload'] === undefined ? 0 : 1,
      ...columnsOf(session, document, envelope, notes),
      ...stored(document),
    }
  },
  write: row => line('training-session', String(row['document']), row, `"ownerId":${row['owner_id']}`),
})

/** The derived columns of a session, from the given fields if they were written unchanged. */
function columnsOf(session: JsonObject, document: string, envelope: JsonObject, notes: Notes) {
  const extra = isObject(envelope['extra']) ? envelope['extra'] : {}
  if (notes.leniencies.length === 0 && Object.keys(extra).length === 0) return sessionColumns(session)
  const noted = new Set([...Object.keys(extra), ...notes.extra.map(({ pointer }) => pointer)])
  // The document was written as JSON of an object.
  return gradedColumns(JSON.parse(document) as JsonObject, noted)
}

/** A session without `legacyUpload` keeps its approximate distance, and without extra fields its missing grades. */
function mergeSession(incoming: Row, before: Row, { isArchive }: MergeOptions): Row {
  let document = String(incoming['document'])
  if (
    !isArchive &&
    incoming['has_legacy_upload'] === 0 &&
    incoming['approximate'] === 0 &&
    before['approximate'] === 1
  ) {
    // The mark is the last field of a document.
    document = `${document.slice(0, -1)},"distanceApproximate":true}`
  }
  const extra = incoming['extra'] ?? before['extra'] ?? '{}'
  // A document and extra fields are JSON of an object.
  const noted = new Set(Object.keys(JSON.parse(String(extra)) as JsonObject))
  return { ...gradedColumns(JSON.parse(document) as JsonObject, noted), ...stored(document) }
}

/** All kinds in the order of an export: accounts come before their references. */
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

const PARTNERSHIP_FIELDS = new Set(['ownerId', 'partnerId', 'areas', 'recordsFrom', 'until', 'endedAt'])

/** What a line says of access; a plain line means all of it. Throws InvalidError. */
function readTerms(data: JsonObject) {
  const faults = new Faults()
  const given = faults.collect(() => readAreas(data['areas'])) ?? []
  const recordsFrom = faults.collect(() => readRecordsFrom(data['recordsFrom'])) ?? null
  const until = faults.collect(() => optionalInstant(data, 'until')) ?? null
  const endedAt = faults.collect(() => optionalInstant(data, 'endedAt')) ?? null
  faults.throwIfAny()
  return { areas: given.join(' '), records_from: recordsFrom, expires_at: until, ended_at: endedAt }
}

/** Throws InvalidError. */
function readAreas(value: unknown): readonly Area[] {
  if (value === undefined) return areas
  const given: readonly unknown[] = Array.isArray(value) ? value : []
  if (given.length === 0 || !given.every(area => typeof area === 'string' && isArea(area))) {
    throw new InvalidError(`must be a list of ${areas.join(' and ')}`, 'areas')
  }
  return areas.filter(area => given.includes(area))
}

/** The start of a day. Throws InvalidError. */
function readRecordsFrom(value: unknown = null): number | null {
  if (value === null) return null
  const day = typeof value === 'string' ? parseDay(value) : undefined
  if (day === undefined) throw new InvalidError('must be a day as YYYY-MM-DD, or null', 'recordsFrom')
  return day
}

/** The data of a line: terms only where access is narrowed, or has ended. */
function partnershipData(row: Row) {
  const { records_from: recordsFrom = null, expires_at: until = null, ended_at: endedAt = null } = row
  const given = String(row['areas']).split(' ')
  return {
    ownerId: row['owner_id'],
    partnerId: row['partner_id'],
    ...(given.length === areas.length ? {} : { areas: given }),
    ...(recordsFrom === null ? {} : { recordsFrom: formatDate(Number(recordsFrom) / DAY_MS) }),
    ...(until === null ? {} : { until: formatTimestamp(Number(until)) }),
    ...(endedAt === null ? {} : { endedAt: formatTimestamp(Number(endedAt)) }),
  }
}

/** Makes the row of an account from its id, its username and whatever else is known. Throws InvalidError. */
export function readAccount(data: JsonObject, notes = new Notes()) {
  const tier = data['subscriptionTier'] ?? null
  const user = {
    ...data,
    accountType: data['accountType'] ?? 'user',
    subscriptionTier: tier,
    ...zeroes(data, ['league', 'rank', 'totalPoints', 'matchPoints']),
    profileImage: data['profileImage'] ?? null,
    profileDescription: data['profileDescription'] ?? null,
    profileTitle: data['profileTitle'] ?? null,
  }
  const faults = new Faults()
  const document = faults.collect(() => writers.user(user, notes)) ?? ''
  const username = faults.collect(() => readUsername(data['username'])) ?? ''
  const endsAt = faults.collect(() => optionalInstant(data, 'subscriptionEndsAt', notes)) ?? null
  faults.throwIfAny()
  if (typeof tier === 'string' && !isTier(tier)) notes.leniencies.push('unknown-tier')
  return {
    id: whole(user, 'id'),
    username,
    // Text or null, or the writer would have refused it.
    subscription_tier: tier as string | null,
    subscription_ends_at: endsAt,
    ...stored(document),
  }
}

/** The fields of an account that a line has, as JSON, to be merged with the stored account. */
function givenFields(data: JsonObject): string {
  return JSON.stringify(Object.fromEntries(ACCOUNT_FIELDS.flatMap(name => (name in data ? [[name, data[name]]] : []))))
}

const ACCOUNT_FIELDS = [...Object.keys(User.properties), 'subscriptionEndsAt']

/** An account keeps fields that its line does not have, and its tier unless tiers are updated. */
function mergeAccount(incoming: Row, stored: Row, { tiers: updatesTier }: MergeOptions): Row {
  // Both are JSON of an object: a document, and what `givenFields` wrote.
  const before = JSON.parse(String(stored['document'])) as JsonObject
  const given = JSON.parse(String(incoming['given'])) as JsonObject
  const merged = readAccount({
    ...before,
    ...given,
    ...(updatesTier ? {} : { subscriptionTier: before['subscriptionTier'] }),
  })
  const updatesEnd = updatesTier && 'subscriptionEndsAt' in given
  return {
    ...merged,
    subscription_ends_at: updatesEnd ? merged.subscription_ends_at : (stored['subscription_ends_at'] ?? null),
  }
}

/** A name that cannot be confused with an identifier. */
function readUsername(value: unknown): string {
  if (typeof value !== 'string' || !isName(value)) {
    throw new InvalidError(`must be text of 1 to ${MAX_NAME_LENGTH} characters without control characters`, 'username')
  }
  if (/^[0-9]+$/.test(value)) throw new InvalidError('must not be all digits', 'username')
  return value
}

/** Sorts events by time. */
const byTime: SortItems = items => {
  const times = items.map(item => instant(item, 'createdAt'))
  const ids = items.map(item => whole(item, 'id'))
  return sorted([...items.keys()], (a, b) => at(times, a) - at(times, b) || at(ids, a) - at(ids, b))
}

/** Sorts the items that have an `order`; the others keep their positions. */
const byOrder: SortItems = items => {
  const orders = items.map(item => item['order'])
  const positions = [...items.keys()].filter(position => typeof orders[position] === 'number')
  const ordered = sorted(positions, (a, b) => Number(orders[a]) - Number(orders[b]))
  if (ordered === undefined) return undefined
  const order = [...items.keys()]
  for (const [index, position] of positions.entries()) order[position] = at(ordered, index)
  return order
}

/** Numbers of results, and the references of a session. */
const NULL_IS_ZERO = [
  'percentGrade',
  'points',
  'durationMeasured',
  'durationTarget',
  'repsMeasured',
  'repsTarget',
  'trainer_id',
  'settings_id',
]

const writers = {
  user: recordWriter(User, { ignored: ['subscriptionEndsAt'] }),
  lockTemplate: recordWriter(LockTemplate),
  lockDevice: recordWriter(LockDevice),
  trainingDevice: recordWriter(TrainingDevice),
  trainingTemplate: recordWriter(TrainingTemplate, { sort: { Segment: byOrder } }),
  trainingTemplateSummary: recordWriter(TrainingTemplateSummary, { ignored: ['Segment'] }),
  lockSession: recordWriter(LockSession, { sort: { LockSegment: byTime }, planned: ['endDate'] }),
  trainingSession: recordWriter(TrainingSession, {
    sort: { TrainerSegment: byOrder },
    nullIsZero: NULL_IS_ZERO,
    nullIsNoted: ['percentGrade'],
  }),
} satisfies Record<string, Serialize>

/** A kind of record, with what all of them have in common. */
function record(
  name: string,
  own: Pick<Kind, 'read'> & Partial<Pick<Kind, 'envelopeKeys' | 'columns' | 'staged' | 'identity' | 'merge' | 'write'>>,
): Kind {
  return {
    name,
    table: name.replace('-', '_'),
    envelopeKeys: [],
    key: ['id'],
    identity: ['etag'],
    accounts: ['owner_id'],
    recordColumn: 'id',
    ownerColumn: 'owner_id',
    isOwned: true,
    write: row => line(name, String(row['document']), row),
    ...own,
    columns: ['id', 'owner_id', ...(own.columns ?? []), 'document', 'etag', 'extra'],
    staged: { ...own.staged, newest: 'integer' },
  }
}

function line(kind: string, data: string, row: Row, envelope = ''): string {
  const extra = row['extra'] ?? null
  const parts = [`"kind":"${kind}"`, `"data":${data}`, envelope, extra === null ? '' : `"extra":${extra}`]
  return `{${parts.filter(part => part !== '').join(',')}}`
}

/** The hash that a record is stored with. */
export function etagOf(document: string): string {
  return hash('sha256', document, 'base64url').slice(0, 22)
}

function stored(document: string) {
  return { document, etag: etagOf(document) }
}

function owned(data: JsonObject) {
  return { id: whole(data, 'id'), owner_id: whole(data, 'ownerId') }
}

/**
 * Fills in the repetitions and distance of a session: as recorded, else the sum over its segments. Distances are added in
 * whole micrometres, so that the sum does not depend on their order. A distance of null is unknown and left out.
 */
function withMetrics(data: JsonObject, legacy: boolean): JsonObject {
  const { distanceApproximate: _, distanceTravelled, ...rest } = data
  const given = data['TrainerSegment']
  const segments: unknown[] = Array.isArray(given) ? given.map(withoutNullDistance) : []
  const distance =
    distanceTravelled ?? sum(segments, 'distanceTravelled', metres => Math.round(metres * MICROMETRES), MICROMETRES)
  return {
    ...rest,
    ...(Array.isArray(given) ? { TrainerSegment: segments } : {}),
    repsMeasured: data['repsMeasured'] ?? sum(segments, 'repsMeasured', roundHalfAway) ?? 0,
    ...(distance === null ? {} : { distanceTravelled: distance }),
    ...(legacy ? { distanceApproximate: true } : {}),
  }
}

/** Some sources have in the record what an archive has in the envelope. */
function withoutRepeated(data: JsonObject, field: string, value: number | null): JsonObject {
  const { [field]: inside, ...rest } = data
  return inside === value ? rest : data
}

function withoutNullDistance(segment: unknown): unknown {
  if (!isObject(segment) || segment['distanceTravelled'] !== null) return segment
  const { distanceTravelled: _, ...rest } = segment
  return rest
}

const MICROMETRES = 1_000_000

function sum(
  segments: readonly unknown[],
  field: string,
  toInteger: (value: number) => number,
  scale = 1,
): number | null {
  let total: number | null = null
  for (const segment of segments) {
    const value = isObject(segment) ? segment[field] : null
    // Other values are refused when the segment is written.
    if (typeof value === 'number' && Math.abs(value) <= Number.MAX_SAFE_INTEGER) total = (total ?? 0) + toInteger(value)
  }
  if (total === null) return null
  // An inexact sum would depend on the order, so the writer must refuse it.
  return Number.isSafeInteger(total) ? total / scale : Infinity
}

function isLegacy(data: JsonObject, envelope: JsonObject): boolean {
  const legacy = envelope['legacyUpload'] ?? false
  const approximate = data['distanceApproximate'] ?? false
  if (typeof legacy !== 'boolean') throw new InvalidError('must be true or false', 'legacyUpload')
  if (typeof approximate !== 'boolean') throw new InvalidError('must be true or false', 'distanceApproximate')
  return legacy || approximate
}

/** Fills in 0 for counts that the source does not know. */
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

function optionalInstant(data: JsonObject, field: string, notes?: Notes): number | null {
  const value = data[field] ?? null
  if (value === null) return null
  try {
    return readInstant(value, notes)
  } catch (error) {
    throw error instanceof InvalidError ? new InvalidError('must be an RFC 3339 date-time or null', field) : error
  }
}

/** A session that is not stored may be incomplete, but not hostile. */
function unfinished(kind: string, data: JsonObject, notes: Notes, leniency?: Leniency): UnfinishedError {
  const id = identifier(data, 'id')
  const faults = new Faults()
  noteUnknown(data, new Set(), new Notes(), faults)
  faults.throwIfAny()
  if (leniency !== undefined) notes.leniencies.push(leniency)
  return new UnfinishedError(kind, id)
}

// The functions below read fields that a writer has checked.

function whole(data: JsonObject, field: string): number {
  return Number(data[field])
}

function instant(data: JsonObject, field: string): number {
  return readInstant(data[field])
}

function text(data: JsonObject, field: string): string {
  const value = data[field]
  return typeof value === 'string' ? value : ''
}

function flag(data: JsonObject, field: string): number {
  return data[field] === true ? 1 : 0
}

/** The indexes in order; undefined if they already are in order. */
function sorted(indexes: readonly number[], compare: (a: number, b: number) => number): number[] | undefined {
  const inOrder = indexes.every((index, position) => position === 0 || compare(at(indexes, position - 1), index) <= 0)
  return inOrder ? undefined : indexes.toSorted(compare)
}

function at(numbers: readonly number[], index: number): number {
  return numbers[index] ?? 0
}
