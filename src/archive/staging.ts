import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { Engine } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { account, type Cell, type Kind, kinds, type Row } from './kinds.ts'
import { type Errors, type KindReport, MAX_LISTED, type OnConflict } from './report.ts'

/**
 * The rows of an archive on their way into the store. They wait in temporary tables, which this connection alone sees
 * and which take no lock that others wait for. The statements read the same on every engine.
 */
export class ImportStaging {
  readonly #db: Kysely<Tables>
  readonly #engine: Engine
  readonly #batches: ReadonlyMap<Kind, Batch>

  constructor(db: Kysely<Tables>, engine: Engine) {
    this.#db = db
    this.#engine = engine
    this.#batches = new Map(kinds.map(kind => [kind, new Batch(db, kind)]))
  }

  async prepare() {
    await this.discard()
    for (const { table, columns } of kinds) {
      await this.#run(
        `create temporary table incoming_${table} as select 0 as line, ${columns.join(', ')} from ${table} where 1 = 0`,
      )
    }
  }

  async discard() {
    for (const { table } of kinds) await this.#run(`drop table if exists incoming_${table}`)
  }

  /** Takes a row; columns that it does not have are null. */
  add(kind: Kind, line: number, row: Row) {
    this.#batches.get(kind)?.add(line, row)
  }

  /** Counts a record that is not to be stored. */
  passOver(kind: Kind) {
    const batch = this.#batches.get(kind)
    if (batch !== undefined) batch.passedOver += 1
  }

  async flushFull() {
    for (const batch of this.#batches.values()) if (batch.isFull) await batch.flush()
  }

  async flush() {
    for (const batch of this.#batches.values()) await batch.flush()
  }

  /** Finds lines that contradict each other, and forgets those that only repeat an earlier one. */
  async compareLines(errors: Errors) {
    for (const kind of kinds) {
      const { table, key, identity, accounts } = kind
      // Everything that is compared is in the index, so that no comparison reads the documents.
      const compared = new Set([...key, 'line', ...identity, ...accounts])
      await this.#run(`create index incoming_${table}_key on incoming_${table} (${[...compared].join(', ')})`)
      const earlier = `from incoming_${table} as other where ${same(kind, 'other')} and other.line < incoming.line`
      const repeats = `exists (select 1 ${earlier})`
      if ((await this.#lines(kind, repeats)).count > 0) {
        const contradicts = `exists (select 1 ${earlier} and (${differs(kind, 'other')}))`
        await this.#find(errors, kind, 'is the same record as an earlier line, with other content', contradicts)
        await this.#run(`delete from incoming_${table} as incoming where ${repeats}`)
      }
    }
    await this.#run('create index incoming_account_name on incoming_account (username, id)')
    await this.#find(
      errors,
      account,
      'has the username of another account in this archive',
      hasUsername('incoming_account'),
    )
  }

  /** Finds lines that contradict the store. */
  async compareWithStore(onConflict: OnConflict, errors: Errors) {
    for (const kind of kinds) {
      if (onConflict === 'fail') {
        const reason = 'is a record that the store has with other content (see --on-conflict)'
        await this.#find(errors, kind, reason, conflicts(kind))
      }
      for (const column of kind.accounts) {
        const nobody = (accounts: string) =>
          `not exists (select 1 from ${accounts} as someone where someone.id = incoming.${column})`
        await this.#find(
          errors,
          kind,
          'names an account that neither the archive nor the store has: add it under this id first (account add --id)',
          `${nobody('incoming_account')} and ${nobody('account')}`,
        )
      }
    }
    const keepsName =
      onConflict === 'replace'
        ? 'not exists (select 1 from incoming_account as renamed where renamed.id = someone.id)'
        : 'not exists (select 1 from account as stored where stored.id = incoming.id)'
    await this.#find(errors, account, USERNAME_TAKEN, hasUsername('account', keepsName))
  }

  /** Puts the rows in their places. Nothing about them may be wrong. */
  async moveIntoStore(onConflict: OnConflict): Promise<KindReport[]> {
    if (onConflict === 'replace') {
      // Accounts may trade names: each gives up its own first. No name has a control character.
      await this.#run(
        `update account set username = '\u0001' || id where exists (
          select 1 from incoming_account as incoming where incoming.id = account.id and incoming.username <> account.username)`,
      )
    }
    const reports: KindReport[] = []
    for (const [kind, { total, passedOver }] of this.#batches) {
      const report = await this.#move(kind, total, onConflict)
      reports.push({ ...report, skipped: report.skipped + passedOver })
    }
    return reports
  }

  async #move(kind: Kind, total: number, onConflict: OnConflict): Promise<KindReport> {
    const { table, columns, key, identity, isOwned } = kind
    const conflicting = onConflict === 'fail' ? 0 : (await this.#lines(kind, conflicts(kind))).count
    const replaced = onConflict === 'replace' ? conflicting : 0
    if (replaced > 0 && isOwned) {
      // A primary key that has the owner cannot change it.
      await this.#run(
        `delete from ${table} as stored where exists (select 1 from incoming_${table} as incoming
          where ${same(kind, 'stored')} and stored.owner_id <> incoming.owner_id)`,
      )
    }
    const primaryKey = isOwned && this.#engine === 'postgres' ? ['owner_id', ...key] : key
    const rest = columns.filter(column => !primaryKey.includes(column))
    const written = await this.#run(
      `insert into ${table} (${columns.join(', ')})
        select ${columns.join(', ')} from incoming_${table} as incoming
        where ${conflicting > replaced ? `not ${conflicts(kind)}` : '1 = 1'} order by ${key.join(', ')}
        on conflict (${primaryKey.join(', ')}) do ${
          replaced === 0
            ? 'nothing'
            : `update set ${rest.map(column => `${column} = excluded.${column}`).join(', ')}
                where ${identity.map(column => `${table}.${column} is distinct from excluded.${column}`).join(' or ')}`
        }`,
    )
    const added = written - replaced
    return { kind: kind.name, added, replaced, skipped: conflicting - replaced, unchanged: total - added - conflicting }
  }

  async #find(errors: Errors, kind: Kind, reason: string, condition: string) {
    const { lines, count } = await this.#lines(kind, condition)
    errors.addAll(lines, count, reason)
  }

  /** The first lines that fulfil a condition, and how many there are. */
  async #lines({ table }: Kind, condition: string): Promise<{ lines: number[]; count: number }> {
    const { rows } = await sql
      .raw<{ line: Cell; count: Cell }>(
        `select incoming.line, count(*) over () as count from incoming_${table} as incoming
          where ${condition} order by incoming.line limit ${MAX_LISTED}`,
      )
      .execute(this.#db)
    return { lines: rows.map(({ line }) => Number(line)), count: Number(rows[0]?.count ?? 0) }
  }

  /** Returns how many rows were written. */
  async #run(statement: string): Promise<number> {
    const { numAffectedRows } = await sql.raw(statement).execute(this.#db)
    return Number(numAffectedRows ?? 0)
  }
}

/** Rows of one kind, written many with one statement. */
class Batch {
  readonly #db: Kysely<Tables>
  readonly #kind: Kind
  #cells: Cell[] = []
  #rows = 0
  #characters = 0
  #fullStatement: string | undefined
  /** How many rows were taken in all. */
  total = 0
  /** How many are not to be stored. */
  passedOver = 0

  constructor(db: Kysely<Tables>, kind: Kind) {
    this.#db = db
    this.#kind = kind
  }

  get isFull() {
    return this.#rows >= ROWS_AT_ONCE || this.#characters >= CHARACTERS_AT_ONCE
  }

  add(line: number, row: Row) {
    this.#cells.push(line)
    for (const column of this.#kind.columns) {
      const cell = row[column] ?? null
      this.#cells.push(cell)
      if (typeof cell === 'string') this.#characters += cell.length
    }
    this.#rows += 1
    this.total += 1
  }

  async flush() {
    const width = this.#kind.columns.length + 1
    for (let row = 0; row < this.#rows; row += ROWS_AT_ONCE) {
      const count = Math.min(ROWS_AT_ONCE, this.#rows - row)
      const cells = this.#cells.slice(row * width, (row + count) * width)
      await this.#db.executeQuery(CompiledQuery.raw(this.#statement(count), cells))
    }
    this.#cells = []
    this.#rows = 0
    this.#characters = 0
  }

  #statement(count: number): string {
    if (count !== ROWS_AT_ONCE) return this.#insert(count)
    this.#fullStatement ??= this.#insert(count)
    return this.#fullStatement
  }

  #insert(count: number): string {
    const { table, columns } = this.#kind
    const names = ['line', ...columns]
    const tuples = Array.from({ length: count }, () => sql`(${sql.join(names)})`)
    return sql`insert into ${sql.table(`incoming_${table}`)} (${sql.raw(names.join(', '))}) values ${sql.join(tuples)}`.compile(
      this.#db,
    ).sql
  }
}

const ROWS_AT_ONCE = 100
const CHARACTERS_AT_ONCE = 1024 * 1024

const USERNAME_TAKEN =
  'has the username of a stored account with another id: accounts are matched by id, so remove that one (account remove) or give this one another name'

function hasUsername(accounts: string, condition = '1 = 1'): string {
  return `exists (select 1 from ${accounts} as someone
    where someone.username = incoming.username and someone.id <> incoming.id and ${condition})`
}

function same({ key }: Kind, other: string): string {
  return key.map(column => `${other}.${column} = incoming.${column}`).join(' and ')
}

/** Whether a row differs from another of the same key. Where the key is all there is, none does. */
function differs({ identity }: Kind, other: string): string {
  return ['1 = 0', ...identity.map(column => `${other}.${column} is distinct from incoming.${column}`)].join(' or ')
}

function conflicts(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and (${differs(kind, 'stored')}))`
}
