import { type Kysely, sql } from 'kysely'
import { MINUTE_MS } from '../../contract/time.ts'
import { addNote } from '../../store/notes.ts'
import { inParts } from '../../store/parts.ts'
import type { Tables } from '../../store/tables.ts'
import { InvalidError } from '../faults.ts'
import type { Kind, Row } from '../kind.ts'
import { parseMadeHere, programKey } from '../made-here.ts'
import { storedRows } from '../stored-rows.ts'
import type { JsonObject } from '../values.ts'
import { FormatError } from './errors.ts'

/** A session that is stored, or was deleted, as far as it tells which one a row of a table is. */
export interface Known {
  readonly id: number
  /** In which it began, as the table wrote it that made the record. */
  readonly minute: string | undefined
  readonly isDeleted: boolean
}

/** The sessions of an account that rows of a table may be, as they are when it is opened. */
export class StoredRecords {
  readonly #db: Kysely<Tables>
  readonly #kind: Kind
  readonly account: number
  readonly #revision: number
  readonly byId = new Map<number, Known>()
  /** By the minute in which they began: as it was written, and the instant. */
  readonly #byMinute = new Map<string | number, Known[]>()
  /** The numbers of programs by what their names have in common, and their names. */
  readonly #programs = new Map<string, number[]>()
  readonly programNames = new Map<number, string>()
  /** When locks were closed. Others may be at the same time as practice locks. */
  readonly locks: { readonly id: number; readonly from: number; readonly to: number }[] = []

  private constructor(db: Kysely<Tables>, kind: Kind, account: number, revision: number) {
    this.#db = db
    this.#kind = kind
    this.account = account
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
    if ((await revisionOf(db, this.#kind, this.account)) === this.#revision) return
    throw new FormatError('records of the account have changed while the file was read: bring it again')
  }

  /** Those that began in a minute: as it is written, or the instant. */
  inMinute(minute: string | number): readonly Known[] {
    return this.#byMinute.get(minute) ?? []
  }

  /** The number of the program with this name; undefined if there is none. Throws InvalidError for several. */
  programNamed(name: string): number | undefined {
    const [id, other] = this.#programs.get(programKey(name)) ?? []
    if (other !== undefined)
      throw new InvalidError('is the name of several programs: write the Program number', 'Program')
    return id
  }

  rows(some: readonly Known[]): Promise<ReadonlyMap<string, Row>> {
    return storedRows(this.#db, this.#kind, some, this.account)
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
    // When a lock that others may not overlap ended; null while it runs.
    const [end, join] = this.#kind.columns.includes('ended_at')
      ? [
          sql`case when template.is_test_lock = 1 then session.at when session.is_active = 0 then coalesce(session.ended_at, session.at) end`,
          sql`left join lock_template as template on template.owner_id = session.owner_id and template.id = session.template_id`,
        ]
      : [sql`session.at`, sql``]
    const read = async (after: { readonly at: number; readonly id: number }) => {
      const { rows } = await sql<{ id: number; at: number; made_here: string | null; ended: number | null }>`
        select session.id, session.at, session.made_here, ${end} as ended
        from ${sql.table(this.#kind.table)} as session ${join}
        where session.owner_id = ${this.account} and (session.at, session.id) > (${after.at}, ${after.id})
        order by session.at, session.id limit ${MAX_BATCH_ROWS}`.execute(this.#db)
      return rows
    }
    for await (const rows of inParts(MAX_BATCH_ROWS, { at: Number.MIN_SAFE_INTEGER, id: 0 }, read, row => row)) {
      for (const { id, at, made_here, ended } of rows) {
        this.#add({ id, minute: parseMadeHere(made_here)?.minute, isDeleted: false }, at)
        const to = ended ?? Infinity
        if (to > at) this.locks.push({ id, from: at, to })
      }
    }
  }

  async #readDeleted() {
    const { rows } = await sql<{ id: number; at: number | null; minute: string | null }>`
      select id, at, minute from deleted_record where owner_id = ${this.account} and kind = ${this.#kind.name}`.execute(
      this.#db,
    )
    for (const { id, at, minute } of rows) this.#add({ id, minute: minute ?? undefined, isDeleted: true }, at)
  }

  #add(known: Known, at: number | null) {
    this.byId.set(known.id, known)
    for (const key of [known.minute, at === null ? undefined : Math.floor(at / MINUTE_MS)]) {
      if (key !== undefined) this.#byMinute.getOrInsertComputed(key, () => []).push(known)
    }
  }

  async #readPrograms() {
    if (this.#kind.name !== 'training-session') return
    const { rows } = await sql<{ id: number; summary: string }>`
      select id, summary from training_template where owner_id = ${this.account} order by at, id`.execute(this.#db)
    for (const { id, summary } of rows) {
      // The archive wrote it as JSON of an object.
      const { name } = JSON.parse(summary) as JsonObject
      if (typeof name !== 'string' || name === '') continue
      this.programNames.set(id, name)
      this.#programs.getOrInsertComputed(programKey(name), () => []).push(id)
    }
  }
}

const MAX_BATCH_ROWS = 5000
const FIRST_NUMBER = 900_000_000
const LAST_NUMBER = 999_999_999

async function revisionOf(db: Kysely<Tables>, { table }: Kind, account: number): Promise<number> {
  const { rows } = await sql<{ revision: number }>`
    select ${sql.ref(`${table}_revision`)} as revision from account where id = ${account}`.execute(db)
  return rows[0]?.revision ?? 0
}
