import { sql } from 'kysely'
import { type Access, ANY_OWNERS, ANY_SESSIONS, isReadable, readChecked, recordQuery } from '../accounts/access.ts'
import type { TrainingTemplate } from '../contract/training-templates.ts'
import { MOST_NUMBER_OF_NAME, parseMadeHere } from '../archive/made-here.ts'
import type { Store } from '../store/index.ts'
import { bounded, ONE_MORE } from './history-cache.ts'
import { templateQueries } from './template-queries.ts'

export type ListedProgram = Omit<TrainingTemplate, 'Segment'>

/** The programs of some accounts, the newest first; each is parsed when it is asked for. Throws ApiError if they are too many. */
export async function programsOf(store: Store, access: Access) {
  const rows = bounded(await readChecked(store, programsByOwner, access))
  return rows.map(({ id, owner_id, summary }) => ({
    id,
    ownerId: owner_id,
    // The archive wrote it in the form of the contract.
    parse: () => JSON.parse(summary) as ListedProgram,
  }))
}

export const programs = templateQueries<TrainingTemplate>('training_template', 'program')

/** The names of programs that only tables have, by the numbers that stand for them. */
export async function namedInTables(store: Store, access: Access): Promise<ReadonlyMap<number, string>> {
  const rows = await readChecked(store, namesInTables, access)
  return new Map(rows.map(({ program, made_here }) => [program, parseMadeHere(made_here)?.program ?? '']))
}

const MAX_NAMES = 1000

const namesInTables = recordQuery<Access, { program: number; made_here: string }>(
  'names of programs in tables',
  (param, owned) => sql`
    select ${owned}, settings_id as program, max(made_here) as made_here from training_session
    where ${isReadable(param, ANY_SESSIONS)} and made_here is not null and settings_id <= ${sql.lit(MOST_NUMBER_OF_NAME)}
    group by owner_id, settings_id limit ${sql.lit(MAX_NAMES)}`,
)

const programsByOwner = recordQuery<Access, { id: number; summary: string }>(
  'summaries of programs',
  (param, owned) => sql`
    select ${owned}, id, summary from training_template
    where ${isReadable(param, ANY_OWNERS)}
    order by at desc, id desc limit ${sql.lit(ONE_MORE)}`,
)
