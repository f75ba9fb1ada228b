import { sql, type RawBuilder } from 'kysely'
import {
  type Access,
  accessTo,
  areaOf,
  accessFormName,
  accessForm,
  isReadable,
  type CheckedQuery,
  type OwnedRow,
  readChecked,
  recordQuery,
} from '../accounts/access.ts'
import type { Caller, Result } from './handler.ts'
import type { RecordName } from '../store/tables.ts'

export interface StoredRecord {
  readonly document: string
  readonly etag: string
}

export type RecordRow = StoredRecord & OwnedRow

/** One record as it is stored; undefined where there is none. */
export function recordResult(record: StoredRecord | undefined): Result | undefined {
  return record && { data: [record.document], etag: record.etag }
}

export function recordOrNull(record: StoredRecord | undefined): Result {
  return recordResult(record) ?? { data: ['null'], etag: 'null' }
}

/** The record with an identifier, or a public one of others if the view says so; undefined if there is none that the caller may read. */
export async function recordById(
  caller: Caller,
  view: RecordView & { readonly orPublic?: boolean },
  id: number,
): Promise<Result | undefined> {
  const access = accessTo(caller, view.table)
  const form = accessForm(access)
  const name = `${viewName(view)} by id ${view.orPublic} ${accessFormName(form)}`
  const query = byId.getOrInsertComputed(name, () =>
    recordQuery<Access & { id: number }, StoredRecord>(name, (param, owned) => {
      const readable = isReadable(param, form)
      const [columns, condition] =
        view.orPublic === true ? [sql`, is_public`, sql`(${readable} or is_public = 1)`] : [sql``, readable]
      return sql`
          select ${owned}, ${columnsOf(view)} ${columns} from ${sql.table(view.table)} as record
          where ${condition} and id = ${param('id')}`
    }),
  )
  const [record] = await readChecked(caller.store, query, { ...access, id })
  const result = recordResult(record)
  return result && record && { ...result, ownersRead: [{ area: areaOf(view.table), owners: [record.owner_id] }] }
}

/** The newest record of one account, the one named or the caller, or the newest that is active; `null` if there is none. */
export async function newestRecord(
  caller: Caller,
  view: RecordView & { readonly isActive?: boolean },
  ownerId: number | undefined,
): Promise<Result> {
  const access = accessTo(caller, view.table, ownerId ?? caller.grant.accountId)
  const form = accessForm(access)
  const name = `newest ${viewName(view)} ${view.isActive} ${accessFormName(form)}`
  const query = newest.getOrInsertComputed(name, () =>
    recordQuery<Access, StoredRecord>(
      name,
      (param, owned) => sql`
        select ${owned}, ${columnsOf(view)} from ${sql.table(view.table)} as record
        where ${isReadable(param, form)} ${view.isActive === true ? sql`and is_active = 1` : sql``}
        order by at desc, id desc limit 1`,
    ),
  )
  const [record] = await readChecked(caller.store, query, access)
  return { ...recordOrNull(record), ownersRead: [{ area: areaOf(view.table), owners: access.owners }] }
}

const byId = new Map<string, CheckedQuery<Access & { id: number }, RecordRow>>()
const newest = new Map<string, CheckedQuery<Access, RecordRow>>()

function columnsOf(view: RecordView) {
  const { document, etag } = recordColumns(view)
  return sql`${document} as document, ${etag} as etag`
}

/** The columns of a table that an endpoint shows. */
export interface RecordView {
  readonly table: RecordName
  /** The column that holds the JSON text; `document` unless given. */
  readonly text?: 'document' | 'summary'
  /** Optional fields that the caller requested; they follow those of the text. */
  readonly added?: readonly AddedField[]
}

type AddedField = keyof typeof addedFields

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
export function viewName({ table, text = 'document', added = [] }: RecordView): string {
  return `${table} ${text} ${added.join()}`
}

function concatenate(texts: readonly RawBuilder<unknown>[]): RawBuilder<unknown> {
  return sql.join(texts, sql` || `)
}
