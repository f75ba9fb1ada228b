import { hash } from 'node:crypto'
import type { IncomingRecord } from '../archive/batch-importer.ts'
import { isObject } from '../archive/values.ts'
import { parseInstant } from '../contract/time.ts'
import { lockSessions, type SourceList, trainingSessions } from './lists.ts'

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
