import { InvalidError, isObject, type JsonObject } from './canonical.ts'
import { writeLine } from './export.ts'
import { type Kind, kinds, type Row } from './kinds.ts'
import { isTooLong, type Line } from './lines.ts'
import { MAX_LISTED } from './report.ts'

/** What a line of an archive holds. */
export interface ArchiveRecord {
  readonly kind: Kind
  readonly data: JsonObject
  /** The whole line: what stands beside `data` is in it. */
  readonly envelope: JsonObject
}

/** The JSON of a line. Throws Invalid. */
export function parseLine({ text, fault }: Line): unknown {
  if (text === undefined) throw new InvalidError(fault ?? 'cannot be read')
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the line.
    throw new InvalidError('is not valid JSON')
  }
}

/** Throws Invalid. */
export function recordOf(envelope: unknown): ArchiveRecord {
  if (!isObject(envelope)) throw new InvalidError('must be an object with kind and data')
  const kind = typeof envelope['kind'] === 'string' ? kindsByName.get(envelope['kind']) : undefined
  if (kind === undefined) throw new InvalidError(`must be one of ${[...kindsByName.keys()].join(', ')}`, 'kind')
  const { data } = envelope
  if (!isObject(data)) throw new InvalidError('must be an object', 'data')
  return { kind, data, envelope }
}

/** Makes the row of a record. Throws Invalid, or Unfinished for a session that is not to be stored. */
export function readRow({ kind, data, envelope }: ArchiveRecord, dropped: DroppedFields): Row {
  const keys = ['kind', 'data', ...kind.beside]
  if (!Object.keys(envelope).every(key => keys.includes(key))) {
    throw new InvalidError(`must have no other keys than ${keys.join(', ')}`)
  }
  const row = kind.read(data, envelope, field => dropped.count(kind.name, field))
  // Numbers can be longer than they were, and what is exported must be accepted again.
  if (isTooLong(writeLine(kind, row))) {
    throw new InvalidError('is longer than 1 MiB when its numbers are written in full')
  }
  return row
}

/** What is known of a record that cannot be stored: its kind, identifier and owner, if they can be told. */
export function identityOf(envelope: unknown): { kind: string; recordId: number | null; ownerId: number | null } {
  const { kind, data, ownerId } = isObject(envelope) ? envelope : {}
  const known = typeof kind === 'string' ? kindsByName.get(kind) : undefined
  if (known === undefined || !isObject(data)) return { kind: known?.name ?? '', recordId: null, ownerId: null }
  const owner = known.name === 'account' ? data['id'] : known.beside.includes('ownerId') ? ownerId : data['ownerId']
  const record = known.name === 'partnership' ? data['partnerId'] : data['id']
  return { kind: known.name, recordId: idOrNull(record), ownerId: idOrNull(owner) }
}

export const kindsByName: ReadonlyMap<string, Kind> = new Map(kinds.map(kind => [kind.name, kind]))

/** Counts the fields that no record has, by kind and name. */
export class DroppedFields {
  readonly #entries = new Map<string, { kind: string; field: string; count: number }>()

  count(kind: string, field: string) {
    // Names come from the file: only plain ones are shown, and only so many.
    const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(field) && this.#entries.size < MAX_LISTED ? field : '(other)'
    const key = `${kind}.${shown}`
    const entry = this.#entries.get(key)
    if (entry === undefined) this.#entries.set(key, { kind, field: shown, count: 1 })
    else entry.count += 1
  }

  list() {
    return [...this.#entries.values()]
  }
}

function idOrNull(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0 ? value : null
}
