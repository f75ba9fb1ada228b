import { hash } from 'node:crypto'
import type { TSchema } from 'typebox'
import type { IncomingRecord } from '../archive/batch-importer.ts'
import { emptyText } from '../archive/canonical.ts'
import type { Kind } from '../archive/kind.ts'
import { kinds } from '../archive/kinds.ts'
import { isObject } from '../archive/values.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { api } from '../contract/index.ts'
import { DAY_MS, parseInstant } from '../contract/time.ts'
import { recordTables } from '../store/tables.ts'

/** How far back lists are read in every round, and how long unfinished sessions are read again. */
export const RECENT_MS = 35 * DAY_MS

/** How often all lists are read to their end. */
export const FULL_WALK_EVERY_MS = 7 * DAY_MS

export type SourceList = NonNullable<ReturnType<typeof listOf>>

/** Fields that some sources also leave out of records. */
const OPTIONAL = new Set(['repsMeasured', 'distanceTravelled'])

/** What the contract does not tell of a list. */
interface Own {
  readonly title?: string
  /** The value of `include` that lists take, and the field that it adds to each row. */
  readonly include?: { readonly name: 'owner' | 'template'; readonly field: string }
  /** Whether every source has records of this kind by id. */
  readonly hasRecords?: boolean
  /** Whether rows of the list are never complete records. */
  readonly isSummary?: boolean
}

const own: Readonly<Record<string, Own>> = {
  'training-template': { title: 'training programs', isSummary: true, hasRecords: true },
  'lock-session': { include: { name: 'template', field: 'templateId' }, hasRecords: true },
  'training-session': { include: { name: 'owner', field: 'ownerId' }, hasRecords: true },
}

/** All lists in the order in which they are read: devices, which tell the owners of sessions, then the others as in an archive. */
export const sourceLists: readonly SourceList[] = kinds
  .flatMap(kind => listOf(kind) ?? [])
  .toSorted((a, b) => Number(isDevice(b)) - Number(isDevice(a)))

export const deviceLists: readonly SourceList[] = sourceLists.filter(isDevice)
export const trainingTemplates = listNamed('training-template')
export const lockSessions = listNamed('lock-session')
export const trainingSessions = listNamed('training-session')

/** The list of a kind that the API sends by id. */
function listOf({ name: kind, schema }: Kind) {
  const title = kind.replace('-', ' ')
  const byId = Object.values<Endpoint>(api).find(({ resourceName }) => resourceName?.toLowerCase() === title)
  const table = recordTables.find(name => name === kind.replace('-', '_'))
  if (byId === undefined || schema === undefined || table === undefined) return undefined
  const { required, properties } = schema
  // Lists are ordered by the first instant that every record has.
  const order = required.find(field => isInstant(properties[field]))
  const fields = required.filter(field => !OPTIONAL.has(field))
  const empty = Object.entries(properties).filter(([name, property]) => emptyText(name, property) !== undefined)
  return {
    kind,
    table,
    title: `${title}s`,
    // Below `/api/v1`; a record is at this path followed by its id.
    path: byId.path.replace(/^\/api\/v1|\/:id$/g, ''),
    ...(order === undefined ? {} : { order }),
    fields,
    // Of the fields that every record has, those that are stored as empty where the source leaves them out.
    mayBeEmpty: new Set(empty.map(([name]) => name)),
    ...own[kind],
  }
}

function isInstant(schema: TSchema | undefined): boolean {
  return schema !== undefined && 'format' in schema && schema.format === 'date-time'
}

function isDevice({ kind }: { readonly kind: string }): boolean {
  return kind.endsWith('-device')
}

function listNamed(kind: string): SourceList {
  const list = sourceLists.find(one => one.kind === kind)
  if (list === undefined) throw new Error(`there is no list of ${kind}`)
  return list
}

/** A record as the source sends it, in a list or by itself. */
export type SourceData = Readonly<Record<string, unknown>>

export type SourceRow = Readonly<ReturnType<typeof sourceRow>>

/** A row with its id, undefined if it has no valid one, and a hash of it as it was sent: rows with the same form are equal. */
export function sourceRow(value: unknown) {
  const data: SourceData = isObject(value) ? value : {}
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
  told: { readonly owner: number | undefined; readonly sendsLegacy?: boolean; readonly isAssumed?: boolean },
): IncomingRecord {
  if (list === lockSessions) {
    const { templateId, ...rest } = data
    return { kind: list.kind, data: rest, envelope: templateId === undefined ? {} : { templateId } }
  }
  if (list !== trainingSessions) return { kind: list.kind, data }
  const { owner, sendsLegacy = false, isAssumed = false } = told
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
