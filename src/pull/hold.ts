import { randomUUID } from 'node:crypto'
import { hostname } from 'node:os'
import { type Kysely, sql } from 'kysely'
import { Refusal } from '../contract/refusal.ts'
import { formatTimestamp } from '../contract/time.ts'
import type { Engine, Store } from '../store/index.ts'
import { readNote, writeNote } from '../store/notes.ts'
import type { Tables } from '../store/tables.ts'
import { databaseNow } from './connections.ts'

/**
 * Which process pulls into an account. It has a lock, which ends with it, and a note, which it renews: a process that stands still keeps
 * the lock, but another one takes over when the note is old.
 */

/** As it is noted. Times are those of the database. */
interface Holder {
  readonly id: string
  /** Since when, and which process. */
  readonly who: string
  readonly hasLock: boolean
  readonly until: number
}

export interface Hold {
  /** Throws Refusal if another process has taken over; none does before the transaction ends. */
  check(db: Kysely<Tables>): Promise<void>
  release(): Promise<void>
}

/** Throws Refusal while another process pulls into the account. `onTakeOver` is told of one that stands still. */
export async function holdAccount(
  { store, accountId, by }: { readonly store: Store; readonly accountId: number; readonly by: string },
  onTakeOver: (text: string) => void,
): Promise<Hold> {
  const { db, engine } = store
  const name = `pulls into ${accountId}`
  const unlock = await store.tryLock(`pull-${accountId}`)
  const who = `since ${formatTimestamp(Date.now())} by ${by} (process ${process.pid} on ${hostname()})`
  const mine = { id: randomUUID(), who, hasLock: unlock !== undefined }
  const isMine = `%${mine.id}%`
  const noted = (now: number) => JSON.stringify({ ...mine, until: now + HOLD_MS } satisfies Holder)
  const running = (other: Holder | undefined) =>
    `another pull for account ${accountId} is running${other === undefined ? '' : ` ${other.who}`}`

  const claim = async (tx: Kysely<Tables>) => {
    const now = await readNow(tx, engine)
    const other = await readHolder(tx, name)
    // A process that had the lock, and has it no more, has ended. One that has just taken it is about to write its note.
    const hasEnded = mine.hasLock && other?.hasLock !== false
    if (!hasEnded && !(other !== undefined && other.until <= now)) throw new Refusal('busy', running(other))
    await writeNote(tx, name, noted(now))
    if (!mine.hasLock && other?.hasLock === true) onTakeOver(`the pull ${other.who} stands still: this one takes over`)
  }
  try {
    await db.transaction().execute(claim)
  } catch (error) {
    await unlock?.()
    throw error
  }
  const rewrite = async (now: number) => {
    const note = db.updateTable('note').set({ value: noted(now) })
    await note.where('name', '=', name).where('value', 'like', isMine).execute()
  }
  const renew = async () => rewrite(await readNow(db, engine))
  // While the database is away nothing is stored.
  const renewing = setInterval(() => void renew().catch(() => {}), RENEWAL_MS).unref()
  return {
    async check(tx) {
      const held = await tx
        .selectFrom('note')
        .select('name')
        .where('name', '=', name)
        .where('value', 'like', isMine)
        .$if(engine === 'postgres', notes => notes.forShare())
        .executeTakeFirst()
      if (held !== undefined) return
      throw new Refusal(
        'busy',
        `${running(await readHolder(tx, name))}: it has taken over, because this one stood still`,
      )
    },
    async release() {
      clearInterval(renewing)
      // Where another process still has the lock, an old note says that it stands still.
      const note = db.deleteFrom('note').where('name', '=', name).where('value', 'like', isMine)
      await (mine.hasLock ? note.execute() : rewrite(-HOLD_MS)).catch(() => {})
      await unlock?.()
    },
  }
}

/** How long a process that stands still keeps an account. */
const HOLD_MS = 30_000
const RENEWAL_MS = 5000

async function readHolder(db: Kysely<Tables>, name: string): Promise<Holder | undefined> {
  const note = await readNote(db, name)
  // Only this writes it.
  return note === undefined ? undefined : (JSON.parse(note) as Holder)
}

async function readNow(db: Kysely<Tables>, engine: Engine): Promise<number> {
  const { rows } = await sql<{ now: number }>`select ${databaseNow(engine)} as now`.execute(db)
  return rows[0]?.now ?? 0
}
