import { type Kysely, sql } from 'kysely'
import { addNote } from '../../store/notes.ts'
import type { Tables } from '../../store/tables.ts'
import { InvalidError } from '../faults.ts'
import type { Kind } from '../kind.ts'
import { parseMadeHere, programKey } from '../made-here.ts'
import type { JsonObject } from '../values.ts'
import { FormatError } from './errors.ts'
import type { StoredRecord } from './tables.ts'

/** A stored session, as far as it tells which one a row of a table is. */
export interface Known {
  readonly id: number
  readonly at: number
  /** In which it began, as the table wrote it that made the record. */
  readonly minute: string | undefined
  /** Of a lock: when it ended, or infinity while it runs. */
  readonly end: number
  /** Whether other locks may be at the same time. */
  readonly isPractice: boolean
}

/** The sessions of an account that rows of a table may be, as they are when it is opened. */
export class StoredRecords {
  readonly #db: Kysely<Tables>
  readonly #kind: Kind
  readonly #account: number
  readonly #revision: number
  readonly #byId = new Map<number, Known>()
  /** Their numbers by the minute in which they began: as it was written, and the instant. */
  readonly #byMinute = new Map<string | number, number[]>()
  /** Deleted ones, by their numbers, and their numbers by the minute in which they began. */
  readonly #deleted = new Map<number, Pick<Known, 'id' | 'minute'>>()
  readonly #deletedByMinute = new Map<string | number, number>()
  /** The numbers of programs by what their names have in common, and their names. */
  readonly #programs = new Map<string, number[]>()
  readonly #programNames = new Map<number, string>()

  private constructor(db: Kysely<Tables>, kind: Kind, account: number, revision: number) {
    this.#db = db
    this.#kind = kind
    this.#account = account
    this.#revision = revision
  }

  static async read(db: Kysely<Tables>, kind: Kind, account: number): Promise<StoredRecords> {
    const records = new StoredRecords(db, kind, account, await revisionOf(db, kind, account))
    await records.#readSessions()
    await records.#readDeleted()
    await records.#readPrograms()
    return records
  }

  /** Throws FormatError if other work has changed them since. */
  async confirm(db: Kysely<Tables>): Promise<void> {
    if ((await revisionOf(db, this.#kind, this.#account)) === this.#revision) return
    throw new FormatError('records of the account have changed while the file was read: bring it again')
  }

  get all(): Iterable<Known> {
    return this.#byId.values()
  }

  find(id: number): Known | undefined {
    return this.#byId.get(id)
  }

  /** The numbers of those that began in a minute: as it is written, or the instant. */
  inMinute(minute: string | number): readonly number[] {
    return this.#byMinute.get(minute) ?? []
  }

  /** A deleted one with this number, or that began in a minute. */
  deleted(
    number: number | undefined,
    ...minutes: readonly (string | number)[]
  ): Pick<Known, 'id' | 'minute'> | undefined {
    const byMinute = minutes.map(minute => this.#deletedByMinute.get(minute))
    return [number, ...byMinute].map(id => this.#deleted.get(id ?? NaN)).find(one => one !== undefined)
  }

  programName(id: number): string | undefined {
    return this.#programNames.get(id)
  }

  /** The number of the program with this name; undefined if there is none. Throws InvalidError for several. */
  programNamed(name: string): number | undefined {
    const [id, other] = this.#programs.get(programKey(name)) ?? []
    if (other !== undefined)
      throw new InvalidError('is the name of several programs: write the Program number', 'Program')
    return id
  }

  /** Some of them, by their numbers. */
  async records(ids: readonly number[]): Promise<ReadonlyMap<number, StoredRecord>> {
    if (ids.length === 0) return new Map()
    const own = this.#kind.columns.includes('grade') ? sql`grade` : sql`ended_at`
    const { rows } = await sql<{
      id: number
      at: number
      document: string
      made_here: string | null
      own: number | null
    }>`
      select id, at, document, made_here, ${own} as own from ${sql.table(this.#kind.table)}
      where owner_id = ${this.#account} and id in (${sql.join(ids)})`.execute(this.#db)
    return new Map(
      rows.map(({ id, at, document, made_here, own }) => [
        id,
        {
          // The archive wrote it as JSON of an object.
          document: JSON.parse(document) as JsonObject,
          at,
          grade: own,
          endedAt: own,
          madeHere: parseMadeHere(made_here),
        },
      ]),
    )
  }

  /** Numbers that no record of this kind has or had, of nine digits: spreadsheets shorten long ones. */
  async newNumbers(count: number): Promise<number[]> {
    const numbers: number[] = []
    const name = `last number of a ${this.#kind.name} made here`
    await addNote(this.#db, name, String(FIRST_NUMBER - 1))
    while (numbers.length < count) {
      const missing = count - numbers.length
      const { rows } = await sql<{ last: string }>`
        update note set value = cast(cast(value as bigint) + ${missing} as text) where name = ${name}
        returning value as last`.execute(this.#db)
      const last = Number(rows[0]?.last)
      if (last > LAST_NUMBER) throw new FormatError('there are no numbers left for new records')
      const { rows: stored } = await sql<{ id: number }>`
        select id from ${sql.table(this.#kind.table)} where id > ${last - missing} and id <= ${last}
        union all select id from deleted_record
          where kind = ${this.#kind.name} and id > ${last - missing} and id <= ${last}`.execute(this.#db)
      const taken = new Set(stored.map(({ id }) => id))
      for (let id = last - missing + 1; id <= last; id += 1) if (!taken.has(id)) numbers.push(id)
    }
    return numbers
  }

  async #readSessions() {
    const isLock = this.#kind.columns.includes('ended_at')
    const columns = isLock
      ? sql`session.is_active, session.ended_at, coalesce(template.is_test_lock, 0) as is_practice`
      : sql`0 as is_active, null as ended_at, 0 as is_practice`
    const join = isLock
      ? sql`left join lock_template as template on template.owner_id = session.owner_id and template.id = session.template_id`
      : sql``
    let after = { at: Number.MIN_SAFE_INTEGER, id: 0 }
    for (;;) {
      const { rows } = await sql<SessionRow>`select session.id, session.at, session.made_here, ${columns}
        from ${sql.table(this.#kind.table)} as session ${join}
        where session.owner_id = ${this.#account} and (session.at, session.id) > (${after.at}, ${after.id})
        order by session.at, session.id limit ${ROWS_AT_ONCE}`.execute(this.#db)
      for (const row of rows) this.#addSession(row)
      const last = rows.at(-1)
      if (last === undefined || rows.length < ROWS_AT_ONCE) return
      after = last
    }
  }

  #addSession({ id, at, made_here, is_active, ended_at, is_practice }: SessionRow) {
    const minute = parseMadeHere(made_here)?.minute
    const end = is_active === 1 ? Infinity : Math.max(ended_at ?? at, at)
    this.#byId.set(id, { id, at, minute, end, isPractice: is_practice === 1 })
    for (const key of [Math.floor(at / MINUTE_MS), ...(minute === undefined ? [] : [minute])]) {
      this.#byMinute.getOrInsertComputed(key, () => []).push(id)
    }
  }

  async #readDeleted() {
    const { rows } = await sql<{ id: number; at: number | null; minute: string | null }>`
      select id, at, minute from deleted_record where owner_id = ${this.#account} and kind = ${this.#kind.name}`.execute(
      this.#db,
    )
    for (const { id, at, minute } of rows) {
      this.#deleted.set(id, { id, minute: minute ?? undefined })
      if (at !== null) this.#deletedByMinute.set(Math.floor(at / MINUTE_MS), id)
      if (minute !== null) this.#deletedByMinute.set(minute, id)
    }
  }

  async #readPrograms() {
    if (this.#kind.name !== 'training-session') return
    const { rows } = await sql<{ id: number; summary: string }>`
      select id, summary from training_template where owner_id = ${this.#account} order by at, id`.execute(this.#db)
    for (const { id, summary } of rows) {
      // The archive wrote it as JSON of an object.
      const { name } = JSON.parse(summary) as JsonObject
      if (typeof name !== 'string' || name === '') continue
      this.#programNames.set(id, name)
      this.#programs.getOrInsertComputed(programKey(name), () => []).push(id)
    }
  }
}

interface SessionRow {
  readonly id: number
  readonly at: number
  readonly made_here: string | null
  readonly is_active: number
  readonly ended_at: number | null
  readonly is_practice: number
}

export const MINUTE_MS = 60_000
const ROWS_AT_ONCE = 5000
const FIRST_NUMBER = 900_000_000
const LAST_NUMBER = 999_999_999

/** Changes with each change of these records. */
async function revisionOf(db: Kysely<Tables>, { table }: Kind, account: number): Promise<number> {
  const { rows } = await sql<{ revision: number }>`
    select ${sql.ref(`${table}_revision`)} as revision from account where id = ${account}`.execute(db)
  return rows[0]?.revision ?? 0
}
