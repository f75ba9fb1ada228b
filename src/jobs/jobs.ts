import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Kysely, type Selectable, sql } from 'kysely'
import { Refusal } from '../contract/refusal.ts'
import { formatTimestamp } from '../contract/time.ts'
import type { Engine, Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

/**
 * Jobs: work that one process does at a time. It has the job for as long as it renews its lease, so one that was killed or stands still
 * loses it to another. Times are those of the database: the clocks of machines do not matter. Whoever writes for a job checks in the
 * same transaction that it still has it.
 */

export type Job = Selectable<Tables['job']>

/** How long a process that does not renew its lease keeps a job. */
export const LEASE_MS = 15_000
export const RENEWAL_MS = 3000

export const ERASING = 'erase'

export function pullJob(accountId: number): string {
  return `pull ${accountId}`
}

/** The time of the database, which all processes share. */
export function databaseNow(engine: Engine) {
  return engine === 'sqlite'
    ? sql<number>`cast(unixepoch('subsec') * 1000 as integer)`
    : sql<number>`cast(extract(epoch from clock_timestamp()) * 1000 as bigint)`
}

export function inMs({ engine }: Pick<Store, 'engine'>, ms: number) {
  return sql<number>`${databaseNow(engine)} + ${sql.lit(Math.round(ms))}`
}

/** What a job has whom no process has. */
export const FREE = { holder: null, lease_until: null } as const

export function isFree(engine: Engine) {
  return sql<boolean>`(job.lease_until is null or job.lease_until <= ${databaseNow(engine)})`
}

/** How this process is known as the holder of jobs: by an identifier and, for people, since when and what it is. */
export function newHolder(by: string): string {
  return `${randomUUID()} since ${formatTimestamp(Date.now())} by ${by} (process ${process.pid} on ${hostname()})`
}

/** A holder, for people: since when, and which process. */
export function holderText(holder: string): string {
  return holder.slice(holder.indexOf(' ') + 1)
}

type Taking = Pick<Job, 'name'> & { readonly holder: string }

/** Takes a job, which need not exist. Returns whether it was free. What a process has left of it is due again. */
async function takeJob({ db, engine }: Pick<Store, 'db' | 'engine'>, { name, holder }: Taking): Promise<boolean> {
  const taken = { holder, lease_until: inMs({ engine }, LEASE_MS) }
  const wasRunning = sql<boolean>`job.state = 'running'`
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('job')
    .values({ name, ...taken, state: 'done', attempts: 0, report: '' })
    .onConflict(conflict =>
      conflict
        .column('name')
        .doUpdateSet({
          ...taken,
          state: sql<Job['state']>`case when ${wasRunning} then 'due' else job.state end`,
          next_at: sql<number | null>`case when ${wasRunning} then ${databaseNow(engine)} else job.next_at end`,
        })
        .where(isFree(engine)),
    )
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n
}

/** Renews a lease. One that has ended goes on unless another process has the job by now. Returns whether this one has it. */
export async function renewJob(
  store: Pick<Store, 'db' | 'engine'>,
  { name, holder }: Taking,
  report: { readonly report?: string } = {},
): Promise<boolean> {
  const { numUpdatedRows } = await store.db
    .updateTable('job')
    .set({ lease_until: inMs(store, LEASE_MS), ...report })
    .where('name', '=', name)
    .where('holder', '=', holder)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Throws Refusal unless this process has the job; nobody else gets it before the transaction ends. */
export async function checkJob(engine: Engine, db: Kysely<Tables>, { name, holder }: Taking): Promise<void> {
  const held = await db
    .selectFrom('job')
    .select('name')
    .where('name', '=', name)
    .where('holder', '=', holder)
    .$if(engine === 'postgres', jobs => jobs.forShare())
    .executeTakeFirst()
  if (held !== undefined) return
  const other = (await readJob(db, name))?.holder
  const what =
    other == null
      ? 'it was ended meanwhile'
      : `another process has taken over, ${holderText(other)}: this one stood still`
  throw new Refusal('busy', `${what} (${name})`)
}

export function readJob(db: Kysely<Tables>, name: string): Promise<Job | undefined> {
  return db.selectFrom('job').selectAll().where('name', '=', name).executeTakeFirst()
}

/** Gives a job another name. Throws Refusal if a process has one of that name. */
export async function renameJob(db: Kysely<Tables>, engine: Engine, from: string, to: string): Promise<void> {
  await db.deleteFrom('job').where('name', '=', to).where(isFree(engine)).execute()
  if ((await readJob(db, to)) !== undefined) throw new Refusal('busy', `another process has the job "${to}"`)
  await db.updateTable('job').set({ name: to }).where('name', '=', from).execute()
}

interface HoldOptions {
  readonly name: string
  /** What the process is. */
  readonly by: string
  /** What is said to run already. */
  readonly running: string
}

/**
 * Takes a job and renews its lease. Throws Refusal if another process has it. One that does not renew its lease is waited for
 * until that has ended.
 */
export async function holdJob(store: Pick<Store, 'db' | 'engine'>, { name, by, running }: HoldOptions) {
  const holder = newHolder(by)
  let before = await readJob(store.db, name)
  while (!(await takeJob(store, { name, holder }))) {
    await sleep(LOOK_MS)
    const job = await readJob(store.db, name)
    const isRenewed = job !== undefined && job.lease_until !== null && job.lease_until !== before?.lease_until
    if (isRenewed) throw new Refusal('busy', `${running} is running ${holderText(job.holder ?? '')}`)
    before = job
  }
  const hold = { name, holder }
  // While the database is away nothing is stored.
  const renewing = setInterval(() => void renewJob(store, hold).catch(() => {}), RENEWAL_MS).unref()
  return Object.assign(hold, {
    async [Symbol.asyncDispose]() {
      clearInterval(renewing)
      const mine = store.db.updateTable('job').set(FREE).where('name', '=', hold.name)
      await mine
        .where('holder', '=', holder)
        .execute()
        .catch(() => {})
    },
  })
}

const LOOK_MS = 500
