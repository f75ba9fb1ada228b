import type { TArray, TObject, TSchema } from 'typebox'
import { Faults, InvalidError } from './faults.ts'
import { checkUnknown, isObject, type JsonObject } from './values.ts'
import type { Kind, Row } from './kind.ts'
import { kinds } from './kinds.ts'
import { isTooLong, type Line } from './lines.ts'
import { Notes } from './notes.ts'

export interface ArchiveRecord {
  readonly kind: Kind
  readonly data: JsonObject
  /** The whole line, which has further keys beside `kind` and `data`. */
  readonly envelope: JsonObject
}

/** The JSON of a line. Throws InvalidError. */
export function parseLine({ text, fault }: Line): unknown {
  if (text === undefined) throw new InvalidError(fault ?? 'cannot be read')
  try {
    return JSON.parse(text)
  } catch {
    // The message of the parser quotes the line.
    throw new InvalidError('is not valid JSON')
  }
}

/** Throws InvalidError. */
export function archiveRecord(envelope: unknown): ArchiveRecord {
  if (!isObject(envelope)) throw new InvalidError('must be an object with kind and data')
  const kind = typeof envelope['kind'] === 'string' ? kindsByName.get(envelope['kind']) : undefined
  if (kind === undefined) throw new InvalidError(`must be one of ${[...kindsByName.keys()].join(', ')}`, 'kind')
  const { data } = envelope
  if (!isObject(data)) throw new InvalidError('must be an object', 'data')
  return { kind, data, envelope }
}

/** Makes the row of a record. Throws InvalidError, or UnfinishedError for a session that is not stored. */
export function readRow(record: ArchiveRecord, notes: Notes): Row {
  const completed = completedFromExtra(record)
  return rowOf(completed !== undefined && isValid(completed) ? completed : record, notes)
}

/** The record with those extra fields in its data that an earlier version did not know; undefined if there are none. */
function completedFromExtra({ kind, data, envelope }: ArchiveRecord): ArchiveRecord | undefined {
  const extra = isObject(envelope['extra']) ? Object.entries(envelope['extra']) : []
  const known = new Set(extra.filter(([pointer]) => lackingObject(kind, data, pointer) !== undefined))
  if (known.size === 0) return undefined
  const whole = structuredClone(data)
  for (const [pointer, value] of known) {
    const object = lackingObject(kind, whole, pointer)
    if (object !== undefined) object[pointer.slice(pointer.lastIndexOf('/') + 1)] = value
  }
  const others = Object.fromEntries(extra.filter(entry => !known.has(entry)))
  return { kind, data: whole, envelope: { ...envelope, extra: others } }
}

/** The object in the data that lacks the field of a pointer, if its schema has that field. */
function lackingObject(kind: Kind, data: JsonObject, pointer: string): Record<string, unknown> | undefined {
  const names = pointer.split('/').slice(1)
  const field = names.pop() ?? ''
  let at: unknown = data
  let schema: (TSchema & Partial<Pick<TObject, 'properties'> & Pick<TArray, 'items'>>) | undefined = kind.schema
  for (const name of names) {
    at = Array.isArray(at) ? at[Number(name)] : isObject(at) ? at[name] : undefined
    schema = schema?.items ?? schema?.properties?.[name]
  }
  return isObject(at) && at[field] === undefined && schema?.properties?.[field] !== undefined ? at : undefined
}

function isValid(record: ArchiveRecord): boolean {
  try {
    rowOf(record, new Notes())
    return true
  } catch (error) {
    return !(error instanceof InvalidError)
  }
}

function rowOf({ kind, data, envelope }: ArchiveRecord, notes: Notes): Row {
  const faults = new Faults()
  const keys = ['kind', 'data', ...kind.envelopeKeys, 'extra']
  if (!Object.keys(envelope).every(key => keys.includes(key))) {
    faults.add(new InvalidError(`must have no other keys than ${keys.join(', ')}`))
  }
  const given = faults.collect(() => givenExtra(envelope)) ?? {}
  const row = faults.collect(() => kind.read(data, envelope, notes))
  const extra = faults.collect(() => extraText(given, notes)) ?? null
  faults.throwIfAny()
  const missing = notes.missing.length === 0 ? null : JSON.stringify(notes.missing)
  const whole = { ...row, extra, newest: notes.newest, missing }
  // What is written can be longer than what was read, and every export must be importable.
  if (isTooLong(kind.write(whole))) {
    throw new InvalidError('is longer than 1 MiB when it is written in full')
  }
  return whole
}

/** The row that an import of a stored row's line would store. Throws like `readRow`. */
export function readAgain(kind: Kind, row: Row): Row {
  return readRow(archiveRecord(parseLine({ number: 1, text: kind.write(row), fault: undefined })), new Notes())
}

/** The kind, identifier and owner of a record that cannot be stored, as far as they can be read. */
export function identityOf(envelope: unknown): { kind: string; recordId: number | null; ownerId: number | null } {
  const { kind, data, ownerId } = isObject(envelope) ? envelope : {}
  const known = typeof kind === 'string' ? kindsByName.get(kind) : undefined
  if (known === undefined || !isObject(data)) return { kind: known?.name ?? '', recordId: null, ownerId: null }
  const owner =
    known.name === 'account' ? data['id'] : known.envelopeKeys.includes('ownerId') ? ownerId : data['ownerId']
  const record = known.name === 'partnership' ? data['partnerId'] : data['id']
  return { kind: known.name, recordId: idOrNull(record), ownerId: idOrNull(owner) }
}

export const kindsByName: ReadonlyMap<string, Kind> = new Map(kinds.map(kind => [kind.name, kind]))

/** The extra fields in the envelope of a line. Throws InvalidError. */
function givenExtra({ extra = {} }: JsonObject): JsonObject {
  if (!isObject(extra)) throw new InvalidError('must be an object', 'extra')
  for (const [pointer, value] of Object.entries(extra)) {
    if (!POINTER.test(pointer)) throw new InvalidError('must have RFC 6901 pointers into data as its keys', 'extra')
    try {
      checkUnknown(pointer, value, 3)
    } catch (error) {
      throw error instanceof InvalidError ? error.within('extra') : error
    }
  }
  return extra
}

const POINTER = /^(\/([^/~]|~[01])*)+$/

/** Extra fields as they are stored; those found in the data replace those of the envelope. Null if there are none. */
function extraText(given: JsonObject, { extra }: Notes): string | null {
  const text = JSON.stringify({ ...given, ...Object.fromEntries(extra.map(({ pointer, value }) => [pointer, value])) })
  if (Buffer.byteLength(text) > MAX_EXTRA_BYTES) {
    throw new InvalidError('has more than 64 KiB of fields that are not part of a record')
  }
  return text === '{}' ? null : text
}

const MAX_EXTRA_BYTES = 64 * 1024

function idOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
}
