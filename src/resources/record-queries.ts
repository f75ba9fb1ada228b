import { sql } from '../vendor/kysely.js'
import { type Access, accessTo, accessToOne, areaOf, formName, formOf, isReadable } from '../accounts/access.ts'
import { type Query, recordQuery } from '../store/query.ts'
import type { Caller } from './handler.ts'
import { nameOf, recordColumns, type RecordView } from './record-columns.ts'
import { one, oneOrNull, type Result } from './results.ts'

/** One record, as it is sent. */
export interface RecordRow {
  readonly id: number
  readonly owner_id: number
  readonly document: string
  readonly etag: string
}

interface ById extends RecordView {
  /** Whether public rows of other owners are included. */
  readonly orPublic?: boolean
}

/** The record with an identifier; undefined if there is none that the caller may read. */
export async function recordById(caller: Caller, view: ById, id: number): Promise<Result | undefined> {
  const access = accessTo(caller, view.table)
  const form = formOf(access)
  const name = `${nameOf(view)} ${view.orPublic} ${formName(form)}`
  const query = byId.getOrInsertComputed(name, () =>
    recordQuery<Access & { id: number }, RecordRow>(param => {
      const readable = isReadable(param, form)
      return sql`
        select ${columnsOf(view)} from ${sql.table(view.table)} as record
        where ${view.orPublic === true ? sql`(${readable} or is_public = 1)` : readable} and id = ${param('id')}`
    }),
  )
  return readKept(caller, access, `${name} ${id}`, async () => {
    const [record] = await caller.store.read(query, { ...access, id })
    const result = one(record)
    return result && record && { ...result, reads: [{ area: areaOf(view.table), owners: [record.owner_id] }] }
  })
}

interface Newest extends RecordView {
  /** Whether only rows that are active count. */
  readonly isActive?: boolean
}

/** The newest record of one account, the one named or the caller; `null` if there is none. */
export async function newestRecord(caller: Caller, view: Newest, ownerId: number | undefined): Promise<Result> {
  const access = accessToOne(caller, view.table, ownerId)
  const form = formOf(access)
  const name = `${nameOf(view)} ${view.isActive} ${formName(form)}`
  const query = newest.getOrInsertComputed(name, () =>
    recordQuery<Access, RecordRow>(
      param => sql`
        select ${columnsOf(view)} from ${sql.table(view.table)} as record
        where ${isReadable(param, form)} ${view.isActive === true ? sql`and is_active = 1` : sql``}
        order by at desc, id desc limit 1`,
    ),
  )
  return readKept(caller, access, `${name} newest`, async () => {
    const [record] = await caller.store.read(query, access)
    return { ...oneOrNull(record), reads: [{ area: areaOf(view.table), owners: access.owners }] }
  })
}

/** The kept result under a name and the owners while the database has not changed, else the result of `read`. */
async function readKept<Found extends Result | undefined>(
  { store, kept, ifNoneMatch }: Caller,
  { owners, starts }: Access,
  name: string,
  read: () => Promise<Found>,
): Promise<Found | Result> {
  const look = { version: store.version?.(), ifNoneMatch }
  if (kept === undefined || look.version === undefined || starts !== undefined) return read()
  const key = `${owners.join()} ${name}`
  const current = kept.at(key, look)
  if (current !== undefined) return current
  const result = await read()
  if (result === undefined) return result
  const revisions = `${result.reads?.[0]?.owners.join()} ${result.etag}`
  const found = kept.find(key, revisions, look)
  if (found !== undefined) return found
  kept.keep(key, { ...result, revisions }, look)
  return result
}

const byId = new Map<string, Query<Access & { id: number }, RecordRow>>()
const newest = new Map<string, Query<Access, RecordRow>>()

function columnsOf(view: RecordView) {
  const { document, etag } = recordColumns(view)
  return sql`id, owner_id, ${document} as document, ${etag} as etag`
}
