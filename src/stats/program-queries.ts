import { sql } from '../vendor/kysely.js'
import { type Access, ANY_OWNERS, isReadable } from '../accounts/access.ts'
import type { TrainingTemplate } from '../contract/training-templates.ts'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'

/** Queries of programs. */

/** A program as it is listed. */
export type ListedProgram = Omit<TrainingTemplate, 'Segment'>

/** The programs of some accounts, the newest first; each is parsed when it is asked for. */
export async function programsOf(store: Store, access: Access) {
  const rows = await store.read(programsByOwner, access)
  return rows.map(({ id, owner_id, summary }) => ({
    id,
    ownerId: owner_id,
    // The archive wrote it in the form of the contract.
    parse: () => JSON.parse(summary) as ListedProgram,
  }))
}

/** A part of the programs of some accounts, the newest first, with their segments. */
export async function programPage(
  store: Store,
  access: Access,
  part: { readonly limit: number; readonly offset: number },
): Promise<TrainingTemplate[]> {
  const rows = await store.read(programPart, { ...access, ...part })
  // The archive wrote it in the form of the contract.
  return rows.map(({ document }) => JSON.parse(document) as TrainingTemplate)
}

/** How many programs some accounts have, and the newest one in use. */
export async function programCounts(store: Store, access: Access) {
  const [[row], [active]] = await Promise.all([store.read(programCount, access), store.read(activeProgram, access)])
  return {
    total: row?.count ?? 0,
    // The archive wrote it in the form of the contract.
    inUse: active && (JSON.parse(active.summary) as ListedProgram),
  }
}

/** A program with its record as it is stored; undefined if the access has none with this identifier. */
export async function findProgram(store: Store, access: Access, id: number) {
  const [row] = await store.read(programById, { ...access, id })
  // The archive wrote it in the form of the contract.
  return row && { program: JSON.parse(row.document) as TrainingTemplate, document: row.document }
}

const programsByOwner = query<Access, { id: number; owner_id: number; summary: string }>(
  param => sql`
    select id, owner_id, summary from training_template
    where ${isReadable(param, ANY_OWNERS)}
    order by at desc, id desc`,
)

const programPart = query<Access & { limit: number; offset: number }, { document: string }>(
  param => sql`
    select document from training_template
    where ${isReadable(param, ANY_OWNERS)}
    order by at desc, id desc limit ${param.count('limit')} offset ${param.count('offset')}`,
)

const programCount = query<Access, { count: number }>(
  param => sql`select count(*) as count from training_template where ${isReadable(param, ANY_OWNERS)}`,
)

const activeProgram = query<Access, { summary: string }>(
  param => sql`
    select summary from training_template
    where ${isReadable(param, ANY_OWNERS)} and is_active = 1
    order by at desc, id desc limit 1`,
)

const programById = query<Access & { id: number }, { document: string }>(
  param => sql`
    select document from training_template
    where ${isReadable(param, ANY_OWNERS)} and id = ${param('id')}`,
)
