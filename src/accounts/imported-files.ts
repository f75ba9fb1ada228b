import { sql } from 'kysely'
import Type from 'typebox'
import { noteChangedRecords } from '../archive/revisions.ts'
import { Refusal } from '../contract/refusal.ts'
import type { Store } from '../store/index.ts'
import { act } from './act.ts'
import { ERASING_WAIT_MS, ownKinds } from './deleted-records.ts'
import { noteDeleted } from './removal.ts'

/** Files that brought records of an account in, and what only they brought: that can be taken out again. */

/** A file, with what undoing it would do. */
export type ImportedFile = Awaited<ReturnType<typeof listFiles>>[number]

/** The files of an account, the newest first; of one, if it has such a file. */
export function listFiles({ db }: Pick<Store, 'db'>, accountId: number, file?: number) {
  const counted = (isKept: 0 | 1) =>
    sql<number>`(select count(*) from imported_record where file_id = imported_file.id and is_kept = ${sql.lit(isKept)})`
  return (
    db
      .selectFrom('imported_file')
      // Of the records that it changed, what they were before is not known.
      .select(['id', 'name', 'at', 'added', 'replaced'])
      // Of those that it added, how many would be removed, and how many stay because something else has brought or changed them since.
      .select([counted(0).as('removable'), counted(1).as('kept')])
      .where('owner_id', '=', accountId)
      .$if(file !== undefined, files => files.where('id', '=', file ?? 0))
      .orderBy('id', 'desc')
      .execute()
  )
}

/** How many sessions an account has, and when the first and the last one began; only those that a server or files brought, if that is named. */
export async function countSessions(
  { reads }: Pick<Store, 'reads'>,
  owner: number,
  from?: { readonly origin: string } | 'files',
) {
  const brought =
    from === 'files'
      ? sql`from imported_record where owner_id = ${owner}`
      : sql`from pull_row where source_id in (select id from pull_source where account_id = ${owner} and origin = ${from?.origin ?? ''})`
  const ofKind = (name: 'training-session' | 'lock-session', table: string) =>
    sql`select ${sql.lit(name)} as kind, at from ${sql.table(table)}
      where owner_id = ${owner} ${from === undefined ? sql`` : sql`and id in (select id ${brought} and kind = ${sql.lit(name)})`}`
  const sessions = [ofKind('training-session', 'training_session'), ofKind('lock-session', 'lock_session')]
  type Counts = Record<'training' | 'locks', number> & Record<'first' | 'last', number | null>
  const { rows } = await sql<Counts>`
    select count(*) filter (where kind = 'training-session') as training,
      count(*) filter (where kind = 'lock-session') as locks, min(at) as first, max(at) as last
    from (${sql.join(sessions, sql` union all `)}) as records`.execute(reads)
  return rows[0] ?? { training: 0, locks: 0, first: null, last: null }
}

export const undoFile = act({
  title: 'Undo',
  confirms: true,
  event: 'file-undone',
  locks: true,
  input: Type.Object({ accountId: Type.Integer(), file: Type.Integer() }),
  async run({ db, store, now, record }, { accountId, file: id }): Promise<ImportedFile> {
    const [file] = await listFiles({ db }, accountId, id)
    if (file === undefined)
      throw new Refusal('refused', 'this account has no such import: it may have been undone already')
    for (const { name, table } of ownKinds) {
      const { numAffectedRows = 0n } = await sql`delete from ${sql.table(table)} where owner_id = ${accountId} and id in
        (select id from imported_record where file_id = ${id} and kind = ${name} and is_kept = 0)`.execute(db)
      if (numAffectedRows > 0n) await noteChangedRecords(db, table, sql`${accountId}`)
    }
    // With the list of what it added.
    await db.deleteFrom('imported_file').where('id', '=', id).execute()
    if (store.erase !== undefined) await noteDeleted(db, now + ERASING_WAIT_MS)
    await record({ accountId, subjectId: id })
    return file
  },
})
