import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { Engine } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { account, partnership } from './account-kinds.ts'
import type { Cell, Kind, Merge, Row } from './kind.ts'
import { kinds as allKinds } from './kinds.ts'
import { Errors, type KindReport, MAX_LISTED, type OnConflict, type Outcome } from './report.ts'
import { noteChangedRecords } from './revisions.ts'
import type { SetAside, StagedKind } from './set-aside.ts'
import { noteAdded, noteReplaced } from './unfinished-import.ts'

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
  readonly rawOf?: (line: number, kind: Kind) => string | Promise<string>
  /** If given, only the columns that are compared are staged, and this returns the whole row of a line. */
  readonly rowOf?: (line: number, kind: Kind) => Promise<Row>
  /** What the names of the temporary tables begin with. */
  readonly prefix?: string
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
    const isNarrow = options.rowOf !== undefined
    this.#batches = new Map(
      (options.kinds ?? allKinds).map(kind => [
        kind,
        new Batch({ db: options.db, kind, table: this.tableOf(kind), keepsRaw, isNarrow }),
      ]),
    )
  }

  /** The name of the temporary table of a kind. */
  tableOf({ table }: Kind): string {
    return `${this.#options.prefix ?? 'incoming'}_${table}`
  }

  /** The kinds, each with its temporary table. */
  tables(): StagedKind[] {
    return [...this.#batches.keys()].map(kind => ({ kind, table: this.tableOf(kind) }))
  }

  /** Creates the tables, or empties those of an earlier batch. */
  async prepare() {
    for (const [kind, batch] of this.#batches) {
      const staged = this.tableOf(kind)
      await this.#run(
        `create temporary table if not exists ${staged} as select ${batch.definition} from ${kind.table} where 1 = 0`,
      )
      await this.#run(this.#options.engine === 'postgres' ? `truncate ${staged}` : `delete from ${staged}`)
      batch.reset()
    }
  }

  async discard() {
    for (const kind of this.#batches.keys()) await this.#run(`drop table if exists ${this.tableOf(kind)}`)
  }

  /** Of these rows, those that were not rejected and do not only repeat others. */
  async remaining<Packed extends { readonly line: number }>(kind: Kind, rows: readonly Packed[]): Promise<Packed[]> {
    const { repeated = 0, rejected = 0 } = this.#batches.get(kind) ?? {}
    if (repeated + rejected === 0) return [...rows]
    const { rows: staged } = await sql<{ line: Cell }>`select line from ${sql.table(this.tableOf(kind))}
      where line in (${sql.join(rows.map(({ line }) => line))})`.execute(this.#db)
    const lines = new Set(staged.map(({ line }) => Number(line)))
    return rows.filter(({ line }) => lines.has(line))
  }

  /** How many rows were added, of all kinds. */
  get total(): number {
    return [...this.#batches.values()].reduce((sum, batch) => sum + batch.total, 0)
  }

  /** How many rows of a kind only repeat an earlier line, and how many records are not stored. */
  countsOf(kind: Kind): { readonly repeated: number; readonly skipped: number } {
    const { repeated = 0, skipped = 0 } = this.#batches.get(kind) ?? {}
    return { repeated, skipped }
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
    const stagedAccounts = this.tableOf(account)
    for (const [kind, batch] of this.#batches) {
      const { key, identity, accounts } = kind
      const staged = this.tableOf(kind)
      // The index has all columns that are compared, so that no comparison reads the documents.
      const compared = new Set([...key, 'line', ...identity, ...accounts])
      await this.#run(`create index if not exists ${staged}_key on ${staged} (${[...compared].join(', ')})`)
      if (this.#options.rowOf !== undefined)
        await this.#run(`create index if not exists ${staged}_line on ${staged} (line)`)
      const earlier = `from ${staged} as other where ${same(kind, 'other')} and other.line < incoming.line`
      const repeats = `exists (select 1 ${earlier})`
      if ((await this.#lines(kind, repeats)).count > 0) {
        const contradicts = `exists (select 1 ${earlier} and (${differs(kind, 'other')}))`
        await this.#reject(kind, 'is the same record as an earlier line, with other content', contradicts)
        batch.repeated += await this.#run(`delete from ${staged} as incoming where ${repeats}`)
      }
    }
    await this.#run(`create index if not exists ${stagedAccounts}_name on ${stagedAccounts} (username, id)`)
    await this.#reject(account, 'has the username of another account in this archive', hasUsername(stagedAccounts))
  }

  /** Rejects lines that contradict the store. */
  async compareWithStore() {
    const { onConflict, isArchive } = this.#options
    const stagedAccounts = this.tableOf(account)
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
        ? `not exists (select 1 from ${stagedAccounts} as renamed where renamed.id = someone.id)`
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
          `${nobody(stagedAccounts)} and ${nobody('account')}`,
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
            from ${this.tableOf(kind)} as incoming left join ${kind.table} as stored on ${same(kind, 'stored')}`,
        )
        .execute(this.#db)
      for (const { line, outcome } of rows) outcomes.set(Number(line), outcome)
    }
    return outcomes
  }

  /** Access that comes in open and is stored as ended: the first of it. */
  async endedAccess(): Promise<{ ownerId: number; partnerId: number }[]> {
    const { rows } = await sql<{ owner_id: Cell; partner_id: Cell }>`
      select incoming.owner_id, incoming.partner_id from ${sql.table(this.tableOf(partnership))} as incoming
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
          select 1 from ${this.tableOf(account)} as incoming where incoming.id = account.id and incoming.username <> account.username)`,
      )
    }
    const reports: KindReport[] = []
    for (const [kind, { total, rejected, skipped }] of this.#batches) {
      const report = await this.#move(kind, total - rejected)
      reports.push({ ...report, skipped: report.skipped + skipped })
    }
    return reports
  }

  /** How many of the records are not stored with the same content, as a part of all. */
  async shareOfNew(): Promise<number> {
    let all = 0
    let added = 0
    for (const [kind, { total }] of this.#batches) {
      if (!kind.isOwned || total === 0) continue
      all += total
      added += (await this.#lines(kind, `not ${isSame(kind)}`)).count
    }
    return all === 0 ? 0 : added / all
  }

  /** Whether moving into the store will change usernames of stored accounts. */
  async changesNames(): Promise<boolean> {
    if (this.#options.onConflict !== 'replace') return false
    const { rows } = await sql`select 1 from ${sql.table(this.tableOf(account))} as incoming
      join account as stored on stored.id = incoming.id
      where stored.username <> incoming.username limit 1`.execute(this.#db)
    return rows.length > 0
  }

  /** Notes what moving into the store will add and replace, as one part of an import. */
  async noteChanges(part: number) {
    const { onConflict } = this.#options
    for (const [kind, { total }] of this.#batches) {
      if (total === 0) continue
      const from = `${this.tableOf(kind)} as incoming`
      await noteAdded(this.#db, part, kind, from)
      const isOther = `(${differs(kind, 'stored')})`
      const isRefreshed = `not ${isOther} and ${refreshes(kind, 'incoming', 'stored')}`
      const isReplaced = onConflict === 'replace' ? `${isOther} or ${isRefreshed}` : isRefreshed
      await noteReplaced(
        this.#db,
        part,
        kind,
        `${from} join ${kind.table} as stored on ${same(kind, 'stored')} where ${isReplaced}`,
      )
    }
  }

  /** Finds accounts whose lines have no `as_of`, and the newest instants of their staged records. */
  async findNewest() {
    const newest = [...this.#batches.keys()]
      .filter(({ staged }) => 'newest' in staged)
      .map(kind => {
        const isStored = this.#options.onConflict === 'skip' ? isSame(kind) : '1 = 1'
        return `select owner_id, newest from ${this.tableOf(kind)} as incoming where newest is not null and ${isStored}`
      })
    await this.#run('drop table if exists incoming_newest')
    await this.#run(
      `create temporary table incoming_newest as
        select account.id, max(newest) as newest
        from (${newest.join(' union all ')}) as known join account on account.id = known.owner_id
        where (account.as_of is null or account.as_of < newest)
        and not exists (select 1 from ${this.tableOf(account)} as given where given.id = account.id and given.as_of is not null)
        group by account.id`,
    )
  }

  /** Sets `as_of` of so many of the accounts that were found, or of all; returns how many there were. */
  async updateAsOf(limit?: number, part?: number): Promise<number> {
    const some = `select id, newest from incoming_newest order by id${limit === undefined ? '' : ` limit ${limit}`}`
    if (part !== undefined) {
      await noteReplaced(
        this.#db,
        part,
        account,
        `(${some}) as incoming join account as stored on stored.id = incoming.id`,
      )
    }
    await this.#run(`update account set as_of = known.newest from (${some}) as known where known.id = account.id`)
    return this.#run(`delete from incoming_newest where id in (select id from (${some}) as known)`)
  }

  async #move(kind: Kind, total: number): Promise<KindReport> {
    if (total === 0) return { kind: kind.name, added: 0, replaced: 0, skipped: 0, unchanged: 0 }
    const { onConflict, engine } = this.#options
    const { table, columns, key, identity, isOwned } = kind
    const { conflicting, refreshed } = await this.#countStored(kind)
    const replaced = onConflict === 'replace' ? conflicting : 0
    if (replaced > 0 && isOwned) {
      // A primary key that has the owner cannot change it.
      const moved = `from ${table} as stored where exists (select 1 from ${this.tableOf(kind)} as incoming
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
        select ${columns.join(', ')} from ${this.tableOf(kind)} as incoming
        where ${conflicting > replaced ? `not ${conflicts(kind)}` : '1 = 1'} order by ${key.join(', ')}
        on conflict (${primaryKey.join(', ')}) do ${
          replaced + refreshed === 0
            ? 'nothing'
            : `update set ${rest.map(column => `${column} = ${newValue(kind, column)}`).join(', ')} where ${updates.join(' or ')}`
        }`,
    )
    if (written > 0 && isOwned)
      await noteChangedRecords(this.#db, sql.raw(`select owner_id from ${this.tableOf(kind)}`))
    const added = written - replaced - refreshed
    return { kind: kind.name, added, replaced, skipped: conflicting - replaced, unchanged: total - added - conflicting }
  }

  /** How many rows are stored with other content, and how many with the same content but older extra fields or `as_of`. */
  async #countStored(kind: Kind): Promise<{ conflicting: number; refreshed: number }> {
    const { rows } = await sql
      .raw<{ conflicting: Cell; refreshed: Cell }>(
        `select count(case when ${differs(kind, 'stored')} then 1 end) as conflicting,
          count(case when not (${differs(kind, 'stored')}) and ${refreshes(kind, 'incoming', 'stored')} then 1 end) as refreshed
          from ${this.tableOf(kind)} as incoming join ${kind.table} as stored on ${same(kind, 'stored')}`,
      )
      .execute(this.#db)
    return { conflicting: Number(rows[0]?.conflicting ?? 0), refreshed: Number(rows[0]?.refreshed ?? 0) }
  }

  /** Completes staged rows with values of the stored ones that their lines do not have. */
  async #merge(kind: Kind, merge: Merge) {
    const { table, columns } = kind
    const { rowOf } = this.#options
    const staged = this.#batches.get(kind)?.columns ?? []
    const shown = [
      'incoming.line',
      ...(rowOf === undefined ? staged.map(column => `incoming.${column} as incoming_${column}`) : []),
      ...columns.map(column => `stored.${column} as stored_${column}`),
    ]
    let after = -1
    for (;;) {
      const { rows } = await sql
        .raw<Row>(
          `select ${shown.join(', ')} from ${this.tableOf(kind)} as incoming
            join ${table} as stored on ${same(kind, 'stored')}
            where incoming.line > ${after} and (${merge.condition}) order by incoming.line limit ${ROWS_AT_ONCE}`,
        )
        .execute(this.#db)
      for (const row of rows) {
        const pick = (prefix: string, names: readonly string[]) =>
          Object.fromEntries(names.map(name => [name, row[`${prefix}_${name}`] ?? null]))
        const incoming = (await rowOf?.(Number(row['line']), kind)) ?? pick('incoming', staged)
        const merged = merge.row(incoming, pick('stored', columns), this.#options)
        const changes = Object.entries(merged)
          .filter(([column]) => staged.includes(column))
          .map(([column, cell]) => sql`${sql.ref(column)} = ${cell}`)
        await sql`update ${sql.table(this.tableOf(kind))} set ${sql.join(changes)} where line = ${row['line']}`.execute(
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
            from ${this.tableOf(kind)} as incoming where ${condition} order by incoming.line limit ${ROWS_AT_ONCE}`,
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
          raw: rawOf === undefined ? (row.raw ?? undefined) : await rawOf(line, kind),
        })
      }
      batch.rejected += rows.length
      await this.#run(
        `delete from ${this.tableOf(kind)} where line in (${rows.map(row => Number(row.line)).join(', ')})`,
      )
      await rejects.flushFull()
    }
  }

  /** The first lines that match a condition, and how many there are. */
  async #lines(kind: Kind, condition: string): Promise<{ lines: number[]; count: number }> {
    const { rows } = await sql
      .raw<{ line: Cell; count: Cell }>(
        `select incoming.line, count(*) over () as count from ${this.tableOf(kind)} as incoming
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

interface BatchOptions {
  readonly db: Kysely<Tables>
  readonly kind: Kind
  /** The temporary table. */
  readonly table: string
  readonly keepsRaw: boolean
  /** Whether only columns that are compared are staged. */
  readonly isNarrow: boolean
}

/** Rows of one kind, written in multi-row statements. */
class Batch {
  readonly #db: Kysely<Tables>
  readonly #table: string
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
  /** How many of the added rows only repeat others. */
  repeated = 0
  readonly columns: readonly string[]
  readonly #keepsRaw: boolean
  /** The select list that creates the staging table. */
  readonly definition: string

  constructor({ db, kind, table, keepsRaw, isNarrow }: BatchOptions) {
    this.#db = db
    this.#table = table
    this.#keepsRaw = keepsRaw
    const columns = isNarrow && kind.isOwned ? comparedColumns(kind) : kind.columns
    this.columns = [...columns, ...Object.keys(kind.staged)]
    this.definition = [
      '0 as line',
      ...(keepsRaw ? ["cast('' as text) as raw"] : []),
      ...columns,
      ...Object.entries(kind.staged).map(
        ([column, type]) =>
          `cast(${type === 'text' ? "''" : '0'} as ${type === 'text' ? 'text' : 'bigint'}) as ${column}`,
      ),
    ].join(', ')
  }

  reset() {
    this.total = 0
    this.skipped = 0
    this.rejected = 0
    this.repeated = 0
  }

  get #names() {
    return ['line', ...(this.#keepsRaw ? ['raw'] : []), ...this.columns]
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
    for (const column of this.columns) {
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
    return sql`insert into ${sql.table(this.#table)} (${sql.raw(names.join(', '))}) values ${sql.join(tuples)}`.compile(
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

/** The columns that are needed to compare a row, and to tell whose it is. */
function comparedColumns({ key, identity, accounts, recordColumn, ownerColumn, merge, columns }: Kind): string[] {
  const compared = new Set([...key, ...identity, ...accounts, recordColumn, ownerColumn, ...(merge?.compared ?? [])])
  return columns.filter(column => compared.has(column))
}

/** Whether a row differs from another with the same key. Rows that are only a key never differ. */
function differs({ identity }: Kind, other: string): string {
  return ['1 = 0', ...identity.map(column => `${other}.${column} is distinct from incoming.${column}`)].join(' or ')
}

function conflicts(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and (${differs(kind, 'stored')}))`
}
