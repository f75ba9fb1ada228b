import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { Engine } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { account, type Cell, type Kind, kinds as allKinds, type Merge, type Row } from './kinds.ts'
import { Errors, type KindReport, MAX_LISTED, type OnConflict, type Outcome } from './report.ts'
import type { SetAside } from './set-aside.ts'

export interface StagingOptions {
  readonly db: Kysely<Tables>
  readonly engine: Engine
  /** What becomes of a row that cannot be stored. */
  readonly rejects: Errors | SetAside
  readonly onConflict: OnConflict
  /** Whether an account that is stored takes the tier and its end. */
  readonly tiers: boolean
  /** Whether the rows come from an archive: then a row may move to another owner, and what it does not tell is not so. */
  readonly isArchive: boolean
  readonly kinds?: readonly Kind[]
  /** The bytes of a line, if they are at hand; else they are staged with its row. */
  readonly rawOf?: (line: number) => string
}

/**
 * The rows of an archive on their way into the store. They wait in temporary tables, which this connection alone sees
 * and which take no lock that others wait for. The statements read the same on every engine.
 */
export class ImportStaging {
  readonly #options: StagingOptions
  readonly #db: Kysely<Tables>
  readonly #batches: ReadonlyMap<Kind, Batch>

  constructor(options: StagingOptions) {
    this.#options = options
    this.#db = options.db
    const keepsRaw = !(options.rejects instanceof Errors) && options.rawOf === undefined
    this.#batches = new Map((options.kinds ?? allKinds).map(kind => [kind, new Batch(options.db, kind, keepsRaw)]))
  }

  /** Makes the tables, or empties those that an earlier batch left. */
  async prepare() {
    for (const [{ table }, { definition }] of this.#batches) {
      await this.#run(
        `create temporary table if not exists incoming_${table} as select ${definition} from ${table} where 1 = 0`,
      )
      await this.#run(
        this.#options.engine === 'postgres' ? `truncate incoming_${table}` : `delete from incoming_${table}`,
      )
    }
  }

  async discard() {
    for (const { table } of this.#batches.keys()) await this.#run(`drop table if exists incoming_${table}`)
  }

  /** Takes a row; columns that it does not have are null. */
  add(kind: Kind, line: number, row: Row, raw: string | null = null) {
    this.#batches.get(kind)?.add(line, row, raw)
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
  async compareLines() {
    for (const kind of this.#batches.keys()) {
      const { table, key, identity, accounts } = kind
      // Everything that is compared is in the index, so that no comparison reads the documents.
      const compared = new Set([...key, 'line', ...identity, ...accounts])
      await this.#run(
        `create index if not exists incoming_${table}_key on incoming_${table} (${[...compared].join(', ')})`,
      )
      const earlier = `from incoming_${table} as other where ${same(kind, 'other')} and other.line < incoming.line`
      const repeats = `exists (select 1 ${earlier})`
      if ((await this.#lines(kind, repeats)).count > 0) {
        const contradicts = `exists (select 1 ${earlier} and (${differs(kind, 'other')}))`
        await this.#reject(kind, 'is the same record as an earlier line, with other content', contradicts)
        await this.#run(`delete from incoming_${table} as incoming where ${repeats}`)
      }
    }
    await this.#run('create index if not exists incoming_account_name on incoming_account (username, id)')
    await this.#reject(account, 'has the username of another account in this archive', hasUsername('incoming_account'))
  }

  /** Finds lines that contradict the store. */
  async compareWithStore() {
    const { onConflict, isArchive } = this.#options
    for (const kind of this.#batches.keys()) {
      if (!isArchive && kind.isOwned) await this.#reject(kind, ID_TAKEN, isTaken(kind))
      if (kind.merge !== undefined && !(kind.merge.unlessArchive && isArchive)) await this.#merge(kind, kind.merge)
    }
    const keepsName =
      onConflict === 'replace'
        ? 'not exists (select 1 from incoming_account as renamed where renamed.id = someone.id)'
        : 'not exists (select 1 from account as stored where stored.id = incoming.id)'
    await this.#reject(account, USERNAME_TAKEN, hasUsername('account', keepsName))
    for (const kind of this.#batches.keys()) {
      if (onConflict === 'fail') {
        const reason = 'is a record that the store has with other content (see --on-conflict)'
        await this.#reject(kind, reason, conflicts(kind))
      }
      for (const column of kind.accounts) {
        const nobody = (accounts: string) =>
          `not exists (select 1 from ${accounts} as someone where someone.id = incoming.${column})`
        await this.#reject(
          kind,
          'names an account that neither the archive nor the store has: add it under this id first (account add --id)',
          `${nobody('incoming_account')} and ${nobody('account')}`,
        )
      }
    }
  }

  /** What becomes of each line when it is moved into the store: for so many lines as memory can hold. */
  async outcomes(): Promise<ReadonlyMap<number, Outcome | 'refreshed'>> {
    const outcomes = new Map<number, Outcome | 'refreshed'>()
    for (const [kind, { total }] of this.#batches) {
      if (total === 0) continue
      const { rows } = await sql
        .raw<{ line: Cell; outcome: Outcome | 'refreshed' }>(
          `select incoming.line, case when stored.${kind.key[0]} is null then 'added' when ${differs(kind, 'stored')} then 'replaced'
            when ${refreshes(kind, 'incoming', 'stored')} then 'refreshed' else 'unchanged' end as outcome
            from incoming_${kind.table} as incoming left join ${kind.table} as stored on ${same(kind, 'stored')}`,
        )
        .execute(this.#db)
      for (const { line, outcome } of rows) outcomes.set(Number(line), outcome)
    }
    return outcomes
  }

  /** Puts the rows in their places. Nothing about them may be wrong. */
  async moveIntoStore(): Promise<KindReport[]> {
    if (this.#options.onConflict === 'replace') {
      // Accounts may trade names: each gives up its own first. No name has a control character.
      await this.#run(
        `update account set username = '\u0001' || id where exists (
          select 1 from incoming_account as incoming where incoming.id = account.id and incoming.username <> account.username)`,
      )
    }
    const reports: KindReport[] = []
    for (const [kind, { total, rejected, passedOver }] of this.#batches) {
      const report = await this.#move(kind, total - rejected)
      reports.push({ ...report, skipped: report.skipped + passedOver })
    }
    return reports
  }

  /**
   * Notes up to when the accounts are known whose lines do not tell it: the newest instant of their records that came.
   */
  async noteNewest() {
    const newest = [...this.#batches.keys()]
      .filter(({ staged }) => 'newest' in staged)
      .map(kind => {
        const isStored = this.#options.onConflict === 'skip' ? isSame(kind) : '1 = 1'
        return `select owner_id, newest from incoming_${kind.table} as incoming where newest is not null and ${isStored}`
      })
    await this.#run('drop table if exists incoming_newest')
    await this.#run(
      `create temporary table incoming_newest as
        select owner_id, max(newest) as newest from (${newest.join(' union all ')}) as known group by owner_id`,
    )
    const known = 'select newest from incoming_newest where owner_id = account.id'
    await this.#run(
      `update account set as_of = (${known})
        where (as_of is null or as_of < (${known})) and id in (select owner_id from incoming_newest)
        and not exists (select 1 from incoming_account as told where told.id = account.id and told.as_of is not null)`,
    )
    await this.#run('drop table incoming_newest')
  }

  async #move(kind: Kind, total: number): Promise<KindReport> {
    if (total === 0) return { kind: kind.name, added: 0, replaced: 0, skipped: 0, unchanged: 0 }
    const { onConflict, engine } = this.#options
    const { table, columns, key, identity, isOwned } = kind
    const { conflicting, refreshed } = await this.#countStored(kind)
    const replaced = onConflict === 'replace' ? conflicting : 0
    if (replaced > 0 && isOwned) {
      // A primary key that has the owner cannot change it.
      await this.#run(
        `delete from ${table} as stored where exists (select 1 from incoming_${table} as incoming
          where ${same(kind, 'stored')} and stored.owner_id <> incoming.owner_id)`,
      )
    }
    const primaryKey = isOwned && engine === 'postgres' ? ['owner_id', ...key] : key
    const rest = columns.filter(column => !primaryKey.includes(column))
    const updates = [
      ...identity.map(column => `${table}.${column} is distinct from excluded.${column}`),
      refreshes(kind, 'excluded', table),
    ]
    const written = await this.#run(
      `insert into ${table} (${columns.join(', ')})
        select ${columns.join(', ')} from incoming_${table} as incoming
        where ${conflicting > replaced ? `not ${conflicts(kind)}` : '1 = 1'} order by ${key.join(', ')}
        on conflict (${primaryKey.join(', ')}) do ${
          replaced + refreshed === 0
            ? 'nothing'
            : `update set ${rest.map(column => `${column} = ${newValue(table, column)}`).join(', ')} where ${updates.join(' or ')}`
        }`,
    )
    const added = written - replaced - refreshed
    return { kind: kind.name, added, replaced, skipped: conflicting - replaced, unchanged: total - added - conflicting }
  }

  /** How many rows are stored with other content, and how many with the same, but older notes beside it. */
  async #countStored(kind: Kind): Promise<{ conflicting: number; refreshed: number }> {
    const { rows } = await sql
      .raw<{ conflicting: Cell; refreshed: Cell }>(
        `select count(case when ${differs(kind, 'stored')} then 1 end) as conflicting,
          count(case when not (${differs(kind, 'stored')}) and ${refreshes(kind, 'incoming', 'stored')} then 1 end) as refreshed
          from incoming_${kind.table} as incoming join ${kind.table} as stored on ${same(kind, 'stored')}`,
      )
      .execute(this.#db)
    return { conflicting: Number(rows[0]?.conflicting ?? 0), refreshed: Number(rows[0]?.refreshed ?? 0) }
  }

  /** Gives rows what the stored ones have and their lines do not tell. */
  async #merge({ table, columns, staged, key, ...kind }: Kind, merge: Merge) {
    const incomingColumns = [...columns, ...Object.keys(staged)]
    const shown = [
      'incoming.line',
      ...incomingColumns.map(column => `incoming.${column} as incoming_${column}`),
      ...columns.map(column => `stored.${column} as stored_${column}`),
    ]
    let after = -1
    for (;;) {
      const { rows } = await sql
        .raw<Row>(
          `select ${shown.join(', ')} from incoming_${table} as incoming
            join ${table} as stored on ${same({ ...kind, table, columns, staged, key }, 'stored')}
            where incoming.line > ${after} and (${merge.condition}) order by incoming.line limit ${ROWS_AT_ONCE}`,
        )
        .execute(this.#db)
      for (const row of rows) {
        const pick = (prefix: string, names: readonly string[]) =>
          Object.fromEntries(names.map(name => [name, row[`${prefix}_${name}`] ?? null]))
        const merged = merge.row(pick('incoming', incomingColumns), pick('stored', columns), this.#options)
        const changes = Object.entries(merged).map(([column, cell]) => sql`${sql.ref(column)} = ${cell}`)
        await sql`update ${sql.table(`incoming_${table}`)} set ${sql.join(changes)} where line = ${row['line']}`.execute(
          this.#db,
        )
      }
      if (rows.length < ROWS_AT_ONCE) return
      after = Number(rows.at(-1)?.['line'])
    }
  }

  /** Refuses the rows that fulfil a condition, or sets them aside. */
  async #reject(kind: Kind, reason: string, condition: string) {
    const { rejects, rawOf } = this.#options
    if (rejects instanceof Errors) {
      const { lines, count } = await this.#lines(kind, condition)
      return rejects.addAll(lines, count, reason)
    }
    const batch = this.#batches.get(kind)
    for (;;) {
      const { rows } = await sql
        .raw<{ line: Cell; record_id: Cell; owner_id: Cell; raw: string | null }>(
          `select incoming.line, incoming.${kind.recordColumn} as record_id, incoming.${kind.ownerColumn} as owner_id,
            ${rawOf === undefined ? 'incoming.raw' : 'null as raw'}
            from incoming_${kind.table} as incoming where ${condition} order by incoming.line limit ${ROWS_AT_ONCE}`,
        )
        .execute(this.#db)
      if (rows.length === 0 || batch === undefined) return
      for (const row of rows) {
        const line = Number(row.line)
        rejects.add({
          line,
          kind: kind.name,
          recordId: Number(row.record_id),
          ownerId: Number(row.owner_id),
          reason,
          raw: rawOf === undefined ? (row.raw ?? undefined) : rawOf(line),
        })
      }
      batch.rejected += rows.length
      await this.#run(
        `delete from incoming_${kind.table} where line in (${rows.map(row => Number(row.line)).join(', ')})`,
      )
      await rejects.flushFull()
    }
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
  /** How many were taken, but cannot be stored. */
  rejected = 0
  readonly #columns: readonly string[]
  readonly #keepsRaw: boolean
  /** The select list that makes the staging table. */
  readonly definition: string

  constructor(db: Kysely<Tables>, kind: Kind, keepsRaw: boolean) {
    this.#db = db
    this.#kind = kind
    this.#keepsRaw = keepsRaw
    this.#columns = [...kind.columns, ...Object.keys(kind.staged)]
    this.definition = [
      '0 as line',
      ...(keepsRaw ? ["cast('' as text) as raw"] : []),
      ...kind.columns,
      ...Object.entries(kind.staged).map(
        ([column, type]) =>
          `cast(${type === 'text' ? "''" : '0'} as ${type === 'text' ? 'text' : 'bigint'}) as ${column}`,
      ),
    ].join(', ')
  }

  get #names() {
    return ['line', ...(this.#keepsRaw ? ['raw'] : []), ...this.#columns]
  }

  get isFull() {
    return this.#rows >= ROWS_AT_ONCE || this.#characters >= CHARACTERS_AT_ONCE
  }

  add(line: number, row: Row, raw: string | null) {
    this.#cells.push(line)
    if (this.#keepsRaw) {
      this.#cells.push(raw)
      this.#characters += raw?.length ?? 0
    }
    for (const column of this.#columns) {
      const cell = row[column] ?? null
      this.#cells.push(cell)
      if (typeof cell === 'string') this.#characters += cell.length
    }
    this.#rows += 1
    this.total += 1
  }

  async flush() {
    const width = this.#names.length
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
    const names = this.#names
    const tuples = Array.from({ length: count }, () => sql`(${sql.join(names)})`)
    return sql`insert into ${sql.table(`incoming_${this.#kind.table}`)} (${sql.raw(names.join(', '))}) values ${sql.join(tuples)}`.compile(
      this.#db,
    ).sql
  }
}

const ROWS_AT_ONCE = 100
const CHARACTERS_AT_ONCE = 1024 * 1024

const USERNAME_TAKEN =
  'has the username of a stored account with another id: accounts are matched by id, so remove that one (account remove) or give this one another name'

const ID_TAKEN = 'the id is taken by a record of another account'

function isTaken(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and stored.owner_id <> incoming.owner_id)`
}

/** Whether a row of the same content has something newer beside it: extra fields, or an account its instant. */
function refreshes({ columns }: Kind, incoming: string, stored: string): string {
  const extra = `${incoming}.extra is not null and ${incoming}.extra is distinct from ${stored}.extra`
  if (!columns.includes('as_of')) return `(${extra})`
  return `(${extra} or ${incoming}.as_of is not null and (${stored}.as_of is null or ${incoming}.as_of > ${stored}.as_of))`
}

/** What an update makes of a column: what a row does not have beside its content stays, and no instant goes back. */
function newValue(table: string, column: string): string {
  if (column === 'extra') return `coalesce(excluded.extra, ${table}.extra)`
  if (column !== 'as_of') return `excluded.${column}`
  return `case when excluded.as_of is null or excluded.as_of <= ${table}.as_of then ${table}.as_of else excluded.as_of end`
}

function hasUsername(accounts: string, condition = '1 = 1'): string {
  return `exists (select 1 from ${accounts} as someone
    where someone.username = incoming.username and someone.id <> incoming.id and ${condition})`
}

function same({ key }: Kind, other: string): string {
  return key.map(column => `${other}.${column} = incoming.${column}`).join(' and ')
}

/** Whether a row is stored as it came, not left out because it conflicts. */
function isSame(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored
    where ${same(kind, 'stored')} and stored.owner_id = incoming.owner_id and stored.etag = incoming.etag)`
}

/** Whether a row differs from another of the same key. Where the key is all there is, none does. */
function differs({ identity }: Kind, other: string): string {
  return ['1 = 0', ...identity.map(column => `${other}.${column} is distinct from incoming.${column}`)].join(' or ')
}

function conflicts(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and (${differs(kind, 'stored')}))`
}
