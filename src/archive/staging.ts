import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { Engine } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { account } from './account-kinds.ts'
import type { Cell, Kind, Merge, Row } from './kind.ts'
import { kinds as allKinds } from './kinds.ts'
import { Errors, type KindReport, MAX_LISTED, type OnConflict, type Outcome } from './report.ts'
import { noteChangedRecords } from './revisions.ts'
import type { SetAside } from './set-aside.ts'

export interface StagingOptions {
  readonly db: Kysely<Tables>
  readonly engine: Engine
  /** Receives rows that cannot be stored. */
  readonly rejects: Errors | SetAside
  readonly onConflict: OnConflict
  /** Whether the tier of stored accounts, and its end, are updated. */
  readonly tiers: boolean
  /** Whether the rows come from an archive: then a record may move to another owner, and a missing field means no value. */
  readonly isArchive: boolean
  readonly kinds?: readonly Kind[]
  /** Returns the text of a line; if not given, the text is staged with the row. */
  readonly rawOf?: (line: number) => string
}

/**
 * Stages rows in temporary tables, which only this connection can see and which block nobody, and moves them into the
 * store. The statements are the same on both engines.
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

  /** Creates the tables, or empties those of an earlier batch. */
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

  /** Adds a row; missing columns are null. */
  add(kind: Kind, line: number, row: Row, raw: string | null = null) {
    this.#batches.get(kind)?.add(line, row, raw)
  }

  /** Counts a record that is not stored. */
  skip(kind: Kind) {
    const batch = this.#batches.get(kind)
    if (batch !== undefined) batch.skipped += 1
  }

  async flushFull() {
    for (const batch of this.#batches.values()) if (batch.isFull) await batch.flush()
  }

  async flush() {
    for (const batch of this.#batches.values()) await batch.flush()
  }

  /** Rejects lines that contradict each other, and removes those that only repeat an earlier line. */
  async compareLines() {
    for (const kind of this.#batches.keys()) {
      const { table, key, identity, accounts } = kind
      // The index has all columns that are compared, so that no comparison reads the documents.
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

  /** Rejects lines that contradict the store. */
  async compareWithStore() {
    const { onConflict, isArchive } = this.#options
    for (const kind of this.#batches.keys()) {
      for (const column of kind === account ? ['id'] : kind.accounts)
        await this.#reject(kind, REMOVED, isRemoved(column))
    }
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

  /** What moving into the store will do with each line. All lines must fit into memory. */
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

  /** Access that comes in open and is stored as ended: the first of it. */
  async endedAccess(): Promise<{ ownerId: number; partnerId: number }[]> {
    const { rows } = await sql<{ owner_id: Cell; partner_id: Cell }>`
      select incoming.owner_id, incoming.partner_id from incoming_partnership as incoming
      join partnership as stored on stored.owner_id = incoming.owner_id and stored.partner_id = incoming.partner_id
      where incoming.ended_at is null and stored.ended_at is not null
      order by incoming.line limit ${MAX_LISTED}`.execute(this.#db)
    return rows.map(row => ({ ownerId: Number(row.owner_id), partnerId: Number(row.partner_id) }))
  }

  /** Moves the rows into the store. They must have been compared. */
  async moveIntoStore(): Promise<KindReport[]> {
    if (this.#options.onConflict === 'replace') {
      // Accounts may swap names, so each first gets a name that no account can have.
      await this.#run(
        `update account set username = '\u0001' || id where exists (
          select 1 from incoming_account as incoming where incoming.id = account.id and incoming.username <> account.username)`,
      )
    }
    const reports: KindReport[] = []
    for (const [kind, { total, rejected, skipped }] of this.#batches) {
      const report = await this.#move(kind, total - rejected)
      reports.push({ ...report, skipped: report.skipped + skipped })
    }
    return reports
  }

  /** Sets `as_of` of accounts whose lines do not have it to the newest instant of their staged records. */
  async updateAsOf() {
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
        and not exists (select 1 from incoming_account as given where given.id = account.id and given.as_of is not null)`,
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
      const moved = `from ${table} as stored where exists (select 1 from incoming_${table} as incoming
          where ${same(kind, 'stored')} and stored.owner_id <> incoming.owner_id)`
      await noteChangedRecords(this.#db, sql.raw(`select stored.owner_id ${moved}`))
      await this.#run(`delete ${moved}`)
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
            : `update set ${rest.map(column => `${column} = ${newValue(kind, column)}`).join(', ')} where ${updates.join(' or ')}`
        }`,
    )
    if (written > 0 && isOwned) await noteChangedRecords(this.#db, sql.raw(`select owner_id from incoming_${table}`))
    const added = written - replaced - refreshed
    return { kind: kind.name, added, replaced, skipped: conflicting - replaced, unchanged: total - added - conflicting }
  }

  /** How many rows are stored with other content, and how many with the same content but older extra fields or `as_of`. */
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

  /** Completes staged rows with values of the stored ones that their lines do not have. */
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

  /** Rejects the rows that match a condition. */
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

  /** The first lines that match a condition, and how many there are. */
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

/** Rows of one kind, written in multi-row statements. */
class Batch {
  readonly #db: Kysely<Tables>
  readonly #kind: Kind
  #cells: Cell[] = []
  #rows = 0
  #characters = 0
  #fullStatement: string | undefined
  /** How many rows were added. */
  total = 0
  /** How many records are not stored. */
  skipped = 0
  /** How many of the added rows cannot be stored. */
  rejected = 0
  readonly #columns: readonly string[]
  readonly #keepsRaw: boolean
  /** The select list that creates the staging table. */
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

const REMOVED = 'is of an account that was removed here: account add --id allows it to come back'

function isRemoved(column: string): string {
  return `exists (select 1 from removed_account as removed where removed.id = incoming.${column})`
}

function isTaken(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and stored.owner_id <> incoming.owner_id)`
}

/** Whether a row has the same content, but newer extra fields or a newer `as_of`. */
function refreshes({ columns }: Kind, incoming: string, stored: string): string {
  const extra = `${incoming}.extra is not null and ${incoming}.extra is distinct from ${stored}.extra`
  if (!columns.includes('as_of')) return `(${extra})`
  return `(${extra} or ${incoming}.as_of is not null and (${stored}.as_of is null or ${incoming}.as_of > ${stored}.as_of))`
}

/** The new value of a column: missing extra fields keep their stored value, and `as_of` never goes back. */
function newValue({ table, kept = [] }: Kind, column: string): string {
  if (kept.includes(column)) return `${table}.${column}`
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

/** Whether a row is stored with the staged content, and was not skipped because of a conflict. */
function isSame(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored
    where ${same(kind, 'stored')} and stored.owner_id = incoming.owner_id and stored.etag = incoming.etag)`
}

/** Whether a row differs from another with the same key. Rows that are only a key never differ. */
function differs({ identity }: Kind, other: string): string {
  return ['1 = 0', ...identity.map(column => `${other}.${column} is distinct from incoming.${column}`)].join(' or ')
}

function conflicts(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and (${differs(kind, 'stored')}))`
}
