import type { Kysely } from 'kysely'
import { sql } from 'kysely'
import Type from 'typebox'
import type { Kind } from '../archive/kind.ts'
import { kinds } from '../archive/kinds.ts'
import { parseMadeHere } from '../archive/made-here.ts'
import { MAX_DELETED } from '../archive/preview.ts'
import { noteChangedRecords } from '../archive/revisions.ts'
import { Refusal } from '../contract/refusal.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { act } from './act.ts'
import type { RowRange } from './events.ts'
import { noteDeleted } from './removal.ts'

/** Records that their owner deletes. A mark of each stays, which imports and pulls obey, until its owner allows the record again. */

export const ownKinds = kinds.filter(({ isOwned }) => isOwned)

/** What an act is about: records of one account. */
const input = Type.Object({
  accountId: Type.Integer(),
  records: Type.Array(Type.Object({ kind: Type.String(), id: Type.Integer() }), { minItems: 1, maxItems: MAX_DELETED }),
})

export const deleteRecords = act({
  title: 'Delete',
  confirms: true,
  event: 'record-deleted',
  locks: true,
  input,
  async run({ db, store, now, record }, { accountId, records }) {
    for (const [kind, ids] of idsByKind(records)) {
      const { columns, table } = kindNamed(kind)
      const column = (name: string) => (columns.includes(name) ? sql.ref(name) : sql`null`)
      const { rows } = await sql<{ id: number; at: number | null; made_here: string | null }>`
        delete from ${sql.table(table)} where owner_id = ${accountId} and id in (${sql.join(ids)})
        returning id, ${column('at')} as at, ${column('made_here')} as made_here`.execute(db)
      if (rows.length < ids.length)
        throw new Refusal('refused', 'this account has no such record: check its kind and number')
      const marks = rows.map(({ id, at, made_here }) => {
        return { owner_id: accountId, kind, id, at, minute: parseMadeHere(made_here)?.minute ?? null, deleted_at: now }
      })
      await db
        .insertInto('deleted_record')
        .values(marks)
        .onConflict(conflict =>
          conflict
            .columns(['owner_id', 'kind', 'id'])
            .doUpdateSet(({ ref }) => ({ at: ref('excluded.at'), minute: ref('excluded.minute'), deleted_at: now })),
        )
        .execute()
      await noteChangedRecords(db, table, sql`${accountId}`)
      const these = rowsOf(accountId, kind, ids)
      await sql`delete from imported_record where ${these}`.execute(db)
      await sql`delete from set_aside
        where account_id = ${accountId} and kind = ${kind} and record_id in (${sql.join(ids)})`.execute(db)
      // A session that was not finished is not asked for again.
      await sql`update pull_row set open_at = null where ${these}`.execute(db)
    }
    if (store.erase !== undefined) await noteDeleted(db, now + ERASING_WAIT_MS)
    await record({ accountId, subject: subjectOf(records) })
  },
})

function idsByKind(records: readonly { readonly kind: string; readonly id: number }[]) {
  const byKind = Map.groupBy(records, ({ kind }) => kind)
  return [...byKind].map(([kind, some]) => [kind, [...new Set(some.map(({ id }) => id))]] as const)
}

function rowsOf(accountId: number, kind: string, ids: readonly number[]) {
  return sql`owner_id = ${accountId} and kind = ${kind} and id in (${sql.join(ids)})`
}

function subjectOf(records: readonly { readonly kind: string; readonly id: number }[]): string {
  const [first] = records
  return first !== undefined && records.length === 1 ? `${first.kind} ${first.id}` : `${records.length} records`
}

/** All that is deleted meanwhile is erased together. */
export const ERASING_WAIT_MS = 3_600_000

export const allowRecords = act({
  title: 'Allow again',
  event: 'record-allowed',
  locks: true,
  input,
  async run({ db, record }, { accountId, records }) {
    const allowed: { kind: string; id: number }[] = []
    for (const [kind, asked] of idsByKind(records)) {
      const { rows } = await sql<{ id: number }>`
        delete from deleted_record where ${rowsOf(accountId, kind, asked)} returning id`.execute(db)
      const ids = rows.map(({ id }) => id)
      if (ids.length === 0) continue
      // A round reads the record as if it were new.
      await sql`update pull_row set form = '' where ${rowsOf(accountId, kind, ids)}`.execute(db)
      // What an import has decided about the record is decided again.
      await noteChangedRecords(db, kindNamed(kind).table, sql`${accountId}`)
      allowed.push(...ids.map(id => ({ kind, id })))
    }
    if (allowed.length === 0) throw new Refusal('refused', 'there is no such deleted record of this account')
    // The next round reads all lists.
    await db.updateTable('pull_source').set({ full_at: null }).where('account_id', '=', accountId).execute()
    await record({ accountId, subject: subjectOf(allowed) })
  },
})

function kindNamed(name: string): Kind {
  const kind = ownKinds.find(one => one.name === name)
  if (kind === undefined)
    throw new Refusal('usage', `the kind must be one of ${ownKinds.map(one => one.name).join(', ')}`)
  return kind
}

/** Which of these records their owner deleted. */
export async function deletedAmong(
  db: Kysely<Tables>,
  { kind, owner }: { readonly kind: string; readonly owner: number },
  ids: readonly number[],
): Promise<ReadonlySet<number>> {
  if (ids.length === 0) return new Set()
  const marks = db.selectFrom('deleted_record').select('id').where('owner_id', '=', owner).where('kind', '=', kind)
  return new Set((await marks.where('id', 'in', ids).execute()).map(({ id }) => id))
}

/** The records that an account deleted, the newest first. */
export function listDeleted({ reads }: Pick<Store, 'reads'>, accountId: number, { limit, offset = 0 }: RowRange) {
  return reads
    .selectFrom('deleted_record')
    .select(['kind', 'id', 'at', 'deleted_at as deletedAt'])
    .where('owner_id', '=', accountId)
    .orderBy('deleted_at', 'desc')
    .orderBy('kind')
    .orderBy('id')
    .limit(limit)
    .offset(offset)
    .execute()
}
