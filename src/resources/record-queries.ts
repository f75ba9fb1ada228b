import { sql } from 'kysely'
import { type Access, isReadable, ownerCountOf } from '../accounts/access.ts'
import type { Store } from '../store/index.ts'
import { type Query, recordQuery } from '../store/query.ts'
import { nameOf, recordColumns, type RecordView } from './record-columns.ts'

/** One record, as it is sent. */
export interface RecordRow {
  readonly id: number
  readonly document: string
  readonly etag: string
}

interface ById extends RecordView {
  /** Whether public rows of other owners are included. */
  readonly orPublic?: boolean
}

/** The record with an identifier; undefined if there is none that the access includes. */
export async function recordById(store: Store, view: ById, access: Access, id: number): Promise<RecordRow | undefined> {
  const count = ownerCountOf(access)
  const query = byId.getOrInsertComputed(`${nameOf(view)} ${view.orPublic} ${count}`, () =>
    recordQuery<Access & { id: number }, RecordRow>(param => {
      const readable = isReadable(param, count)
      return sql`
        select ${columnsOf(view)} from ${sql.table(view.table)} as record
        where ${view.orPublic === true ? sql`(${readable} or is_public = 1)` : readable} and id = ${param('id')}`
    }),
  )
  const [record] = await store.read(query, { ...access, id })
  return record
}

interface Newest extends RecordView {
  /** Whether only rows that are active count. */
  readonly isActive?: boolean
}

/** The newest record within an access to one account. */
export async function newestRecord(store: Store, view: Newest, access: Access): Promise<RecordRow | undefined> {
  const query = newest.getOrInsertComputed(`${nameOf(view)} ${view.isActive}`, () =>
    recordQuery<Access, RecordRow>(
      param => sql`
        select ${columnsOf(view)} from ${sql.table(view.table)} as record
        where ${isReadable(param, 1)} ${view.isActive === true ? sql`and is_active = 1` : sql``}
        order by at desc, id desc limit 1`,
    ),
  )
  const [record] = await store.read(query, access)
  return record
}

const byId = new Map<string, Query<Access & { id: number }, RecordRow>>()
const newest = new Map<string, Query<Access, RecordRow>>()

function columnsOf(view: RecordView) {
  const { document, etag } = recordColumns(view)
  return sql`id, ${document} as document, ${etag} as etag`
}
