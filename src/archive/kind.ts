import { hash } from 'node:crypto'
import type { TObject } from 'typebox'
import type { JsonObject } from './values.ts'
import { Notes } from './notes.ts'

export type Cell = string | number | null
export type Row = Readonly<Record<string, Cell>>

export function documentOf({ document = null }: Row): JsonObject {
  // The archive wrote it as JSON of an object.
  return JSON.parse(String(document)) as JsonObject
}

/** A kind of line in an archive, and the table of its rows. */
export interface Kind {
  readonly name: string
  readonly table: string
  /** What the API sends of it, if it does. */
  readonly schema?: TObject
  /** Keys allowed in a line in addition to `kind`, `data` and `extra`. */
  readonly envelopeKeys: readonly string[]
  /** The columns that `read` fills, in the order they are stored. For `merge` it may fill another, `given`: text about what the line has. */
  readonly columns: readonly string[]
  readonly key: readonly string[]
  /** The columns that decide whether two rows with the same key are equal; the others are derived from them. */
  readonly identity: readonly string[]
  /** The columns that a stored row keeps, whatever a line says. */
  readonly fixed?: readonly string[]
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

export interface MergeOptions {
  /** Whether the tier of a stored account, and its end, are updated. */
  readonly tiers: boolean
  /** Whether the rows come from an archive, in which a missing field means no value. */
  readonly isArchive: boolean
}

/** The columns of an incoming row that get other values from the stored one. */
type Merge = (incoming: Row, stored: Row, options: MergeOptions) => Row

/** A session that has not started or has no result yet. It is not stored, and not an error of the archive. */
export class UnfinishedError extends Error {
  override readonly name = 'UnfinishedError'
  readonly id: number
  constructor(id: number) {
    super('not finished')
    this.id = id
  }
}

interface Own
  extends
    Required<Pick<Kind, 'schema' | 'read'>>,
    Partial<Pick<Kind, 'envelopeKeys' | 'columns' | 'identity' | 'merge'>> {
  /** The keys that are written in a line in addition to `data` and `extra`, and the columns that hold their JSON, or null. */
  readonly written?: Readonly<Record<string, string>>
}

export function record(name: string, { written = {}, ...own }: Own): Kind {
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
    ...own,
    columns: ['id', 'owner_id', ...(own.columns ?? []), 'document', 'etag', 'extra'],
    merge: (incoming, before, options) => {
      const filled = filledRow(own.read, incoming, { before, written })
      return { ...filled, ...own.merge?.({ ...incoming, ...filled }, before, options) }
    },
    write: row => {
      const beside = Object.entries(written).filter(([, column]) => (row[column] ?? null) !== null)
      return line(
        name,
        String(row['document']),
        row,
        beside.map(([key, column]) => `"${key}":${row[column]}`).join(','),
      )
    },
  }
}

/** The columns of a row whose line lacks fields that the stored record has: those fields stay. */
function filledRow(
  read: Kind['read'],
  incoming: Row,
  { before, written }: { readonly before: Row; readonly written: NonNullable<Own['written']> },
): Row {
  const missing = incoming['missing'] ?? null
  if (missing === null) return {}
  // Each is JSON of this shape, which this program wrote.
  const names = JSON.parse(String(missing)) as readonly string[]
  const [data, known, extra] = [incoming['document'], before['document'], incoming['extra'] ?? '{}'].map(
    text => JSON.parse(String(text)) as JsonObject,
  )
  const values = Object.entries(written).flatMap(([key, column]) => {
    const json = incoming[column] ?? null
    return json === null ? [] : [[key, JSON.parse(String(json)) as unknown] as const]
  })
  const fields = { ...data, ...Object.fromEntries(names.map(name => [name, known?.[name]])) }
  const columns = Object.entries(read(fields, { ...Object.fromEntries(values), extra }, new Notes()))
  return Object.fromEntries(columns.filter(([column]) => column !== 'given'))
}

/** The line of a row; `envelope` is what it has beside `data` and `extra`. */
export function line(kind: string, data: string, row: Row, envelope = ''): string {
  const extra = row['extra'] ?? null
  const parts = [`"kind":"${kind}"`, `"data":${data}`, envelope, extra === null ? '' : `"extra":${extra}`]
  return `{${parts.filter(part => part !== '').join(',')}}`
}

export function etagOf(document: string): string {
  return hash('sha256', document, 'base64url').slice(0, 22)
}

export function stored(document: string) {
  return { document, etag: etagOf(document) }
}
