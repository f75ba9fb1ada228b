import { randomUUID } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import { ERASING, holdJob, pullJob, readJob } from '../jobs/jobs.ts'
import type { Tables } from '../store/tables.ts'
import { keepUnreadName } from './given-access.ts'
import { isRefusal, Refusal } from '../contract/refusal.ts'

/** Removing accounts, so that nothing of them is left but a mark with their identifier. */

/**
 * Removes an account with all that is its own and all access that it gave or was given, and marks its identifier as removed.
 * Its bytes are in the file until `eraseDeleted`. Throws Refusal if there is no such account.
 */
export async function removeAccount(store: Store, id: number, now: number): Promise<void> {
  await store.db.transaction().execute(async db => {
    const account = await db.selectFrom('account').select('id').where('id', '=', id).executeTakeFirst()
    if (account === undefined) throw new Refusal('refused', 'there is no such account')
    await db
      .insertInto('removed_account')
      .values({ id, removed_at: now })
      .onConflict(conflict => conflict.column('id').doUpdateSet({ removed_at: now }))
      .execute()
    await keepUnreadName(db, id)
    // Rows of other accounts' pulls, and rejected rows from before the account was here, have no reference to it.
    await db.deleteFrom('pull_row').where('owner_id', '=', id).execute()
    await db.deleteFrom('set_aside').where('owner_id', '=', id).execute()
    await db.deleteFrom('job').where('name', '=', pullJob(id)).execute()
    await db.deleteFrom('account').where('id', '=', id).execute()
    if (store.erase !== undefined) await noteDeleted(db)
  })
}

export async function isRemoved({ db }: Pick<Store, 'db'>, id: number): Promise<boolean> {
  return (await db.selectFrom('removed_account').select('id').where('id', '=', id).executeTakeFirst()) !== undefined
}

/** Makes erasing due, within the transaction that deletes the rows: at once, or at an instant unless it is due before that. */
export async function noteDeleted(db: Kysely<Tables>, at: number | null = null): Promise<void> {
  // Differs each time, so that what is deleted during an erasure is not forgotten at its end.
  const due = { state: 'due', report: randomUUID() } as const
  const next = sql`cast(${at} as bigint)`
  await db
    .insertInto('job')
    .values({ name: ERASING, attempts: 0, next_at: at, ...due })
    .onConflict(conflict =>
      conflict.column('name').doUpdateSet({
        ...due,
        next_at: sql<number | null>`case when job.state = 'due' and (job.next_at is null or job.next_at <= ${next})
          then job.next_at else ${next} end`,
      }),
    )
    .execute()
}

/**
 * Erases the bytes of what was deleted from the files of the database, unless that is done already or another process is
 * doing it, or it waits for more. PostgreSQL does so by itself. Throws StoreError; what is still to be erased stays due.
 */
export async function eraseDeleted(store: Store, before = Date.now()): Promise<void> {
  if (store.erase === undefined || !(await isErasingDue(store, before))) return
  await using hold = await holdJob(store, { name: ERASING, by: 'a process', running: 'erasing' }).catch(
    (error: unknown) => {
      if (!isRefusal(error, 'busy')) throw error
      return undefined
    },
  )
  if (hold === undefined) return
  const due = await readJob(store.db, ERASING)
  if (due?.state !== 'due') return
  await store.erase()
  const erased = store.db.deleteFrom('job').where('name', '=', ERASING)
  await erased.where('report', '=', due.report).execute()
}

export async function isErasingDue({ db }: Pick<Store, 'db'>, before = Infinity): Promise<boolean> {
  const job = await readJob(db, ERASING)
  return job?.state === 'due' && (job.next_at ?? -Infinity) <= before
}
