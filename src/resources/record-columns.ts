import { type RawBuilder, sql } from '../vendor/kysely.js'
import type { RecordName } from '../store/tables.ts'

/** The columns of a table that an endpoint shows. */
export interface RecordView {
  readonly table: RecordName
  /** The column that holds the JSON text; `document` unless given. */
  readonly text?: 'document' | 'summary'
  /** Optional fields that the caller requested; they follow those of the text. */
  readonly added?: readonly AddedField[]
}

type AddedField = keyof typeof addedFields

/** The JSON text of each added field. */
const addedFields = {
  ownerId: sql`cast(record.owner_id as text)`,
  templateId: sql`coalesce(cast(record.template_id as text), 'null')`,
}

/** The text of a row of `record`, its validator, and its length in bytes of UTF-8. */
export function recordColumns({ text = 'document', added = [] }: RecordView) {
  const column = sql.ref(`record.${text}`)
  if (added.length === 0) return { document: column, etag: sql`record.etag`, size: sql`octet_length(${column})` }
  const fields = concatenate(added.map(name => sql`${sql.lit(`,"${name}":`)} || ${addedFields[name]}`))
  return {
    document: sql`substr(${column}, 1, length(${column}) - 1) || ${fields} || '}'`,
    etag: sql`record.etag || '-' || ${concatenate(added.map(name => addedFields[name]))}`,
    size: sql`octet_length(${column}) + octet_length(${fields})`,
  }
}

/** A name of a view, for caching its queries. */
export function nameOf({ table, text = 'document', added = [] }: RecordView): string {
  return `${table} ${text} ${added.join()}`
}

function concatenate(texts: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(texts, sql` || `)
}
