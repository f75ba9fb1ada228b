import type { TObject } from 'typebox'
import { emptyText } from '../archive/canonical.ts'
import { LockDevice, TrainingDevice } from '../contract/devices.ts'
import { LockSession } from '../contract/lock-sessions.ts'
import { LockTemplate } from '../contract/lock-templates.ts'
import { DAY_MS, parseInstant } from '../contract/time.ts'
import { TrainingSession } from '../contract/training-sessions.ts'
import { TrainingTemplate } from '../contract/training-templates.ts'
import type { RecordName } from '../store/tables.ts'
import { hash } from 'node:crypto'
import type { IncomingRecord } from '../archive/batch-importer.ts'
import { isObject } from '../archive/values.ts'

/** How far back lists are read in every round, and how long unfinished sessions are read again. */
export const RECENT_MS = 35 * DAY_MS

/** How often all lists are read to their end. */
export const FULL_WALK_EVERY_MS = 7 * DAY_MS

/** A list of the source, and the kind of its records. */
export interface SourceList {
  readonly kind: string
  readonly table: RecordName
  /** The name of the records in messages. */
  readonly title: string
  /** Below `/api/v1`; a record is at this path followed by its id. */
  readonly path: string
  /** The field that orders the list, if it is an instant. */
  readonly order?: string
  /** The value of `include` that lists take, and the field that it adds to each row. */
  readonly include?: { readonly name: 'owner' | 'template'; readonly field: string }
  /** Whether every source has records of this kind by id. */
  readonly hasRecords?: boolean
  /** Whether rows of the list are never complete records. */
  readonly isSummary?: boolean
  /** Fields that every record has. */
  readonly fields: readonly string[]
  /** Those that are stored as empty where the source leaves them out. */
  readonly mayBeEmpty: ReadonlySet<string>
}

/** Fields that some sources also leave out of records. */
const OPTIONAL = new Set(['repsMeasured', 'distanceTravelled'])

const lockDevices: SourceList = {
  kind: 'lock-device',
  table: 'lock_device',
  title: 'lock devices',
  path: '/lkbx',
  ...fieldsOf(LockDevice),
}

const trainingDevices: SourceList = {
  kind: 'training-device',
  table: 'training_device',
  title: 'training devices',
  path: '/dtt',
  ...fieldsOf(TrainingDevice),
}

const lockTemplates: SourceList = {
  kind: 'lock-template',
  table: 'lock_template',
  title: 'lock templates',
  path: '/lkbx/templates',
  order: 'createdAt',
  ...fieldsOf(LockTemplate),
}

export const trainingTemplates: SourceList = {
  kind: 'training-template',
  table: 'training_template',
  title: 'training programs',
  path: '/dtt/templates',
  order: 'createdDate',
  isSummary: true,
  hasRecords: true,
  ...fieldsOf(TrainingTemplate),
}

export const lockSessions: SourceList = {
  kind: 'lock-session',
  table: 'lock_session',
  title: 'lock sessions',
  path: '/lkbx/sessions',
  order: 'startDate',
  include: { name: 'template', field: 'templateId' },
  hasRecords: true,
  ...fieldsOf(LockSession),
}

export const trainingSessions: SourceList = {
  kind: 'training-session',
  table: 'training_session',
  title: 'training sessions',
  path: '/dtt/sessions',
  order: 'created_at',
  include: { name: 'owner', field: 'ownerId' },
  hasRecords: true,
  ...fieldsOf(TrainingSession),
}

export const deviceLists: readonly SourceList[] = [lockDevices, trainingDevices]

/** All lists in the order in which they are read. */
export const sourceLists: readonly SourceList[] = [
  ...deviceLists,
  lockTemplates,
  trainingTemplates,
  lockSessions,
  trainingSessions,
]

function fieldsOf({ required, properties }: TObject): Pick<SourceList, 'fields' | 'mayBeEmpty'> {
  const empty = Object.entries(properties).filter(([name, schema]) => emptyText(name, schema) !== undefined)
  const fields = (required ?? []).filter(field => !OPTIONAL.has(field))
  return { fields, mayBeEmpty: new Set(empty.map(([name]) => name)) }
}

/** A record as the source sends it, in a list or by itself. */
export type SourceData = Readonly<Record<string, unknown>>

export interface SourceRow {
  /** Undefined if the row has no valid id. */
  readonly id: number | undefined
  readonly data: SourceData
  /** A hash of the row as it was sent: rows with the same form are equal. */
  readonly form: string
}

export function sourceRow(value: unknown): SourceRow {
  const data = isObject(value) ? value : {}
  return { id: idOf(data['id']), data, form: hash('sha256', JSON.stringify(value), 'base64url').slice(0, 22) }
}

export function idOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : undefined
}

/** An instant in milliseconds since 1970; undefined if there is none. */
export function instantOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseInstant(value)?.instant : undefined
}

/** The rows of a page, however the source wraps them. Undefined if there is no list. */
export function rowsOf(data: unknown): readonly unknown[] | undefined {
  if (isArray(data)) return data
  if (!isObject(data)) return undefined
  if (isArray(data['data'])) return data['data']
  const arrays = Object.values(data).filter(isArray)
  return arrays.length === 1 ? arrays[0] : undefined
}

function isArray(value: unknown): value is readonly unknown[] {
  return Array.isArray(value)
}

/** Makes a record from what a source sent: moves the fields that an archive has in the envelope out of the data. */
export function toRecord(
  list: SourceList,
  data: SourceData,
  {
    owner,
    sendsLegacy = false,
    isAssumed = false,
  }: { readonly owner: number | undefined; readonly sendsLegacy?: boolean; readonly isAssumed?: boolean },
): IncomingRecord {
  if (list === lockSessions) {
    const { templateId, ...rest } = data
    return { kind: list.kind, data: rest, envelope: templateId === undefined ? {} : { templateId } }
  }
  if (list !== trainingSessions) return { kind: list.kind, data }
  const { ownerId: _, legacyUpload, ...rest } = data
  const legacy = legacyUpload ?? rest['distanceApproximate'] ?? (sendsLegacy ? false : undefined)
  return {
    kind: list.kind,
    data: rest,
    envelope: {
      ...(owner === undefined ? {} : { ownerId: owner }),
      ...(legacy === undefined ? {} : { legacyUpload: legacy }),
      // Tells in archives that the source did not name the owner.
      ...(isAssumed ? { extra: { '/ownerId': null } } : {}),
    },
  }
}
