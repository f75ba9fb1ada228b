import { isUtf8 } from 'node:buffer'
import { hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Kysely, sql } from 'kysely'
import type { Engine } from '../store/index.ts'
import { withLocalRecords } from '../store/distributed.ts'
import { insertRows } from '../store/insert-rows.ts'
import { addedTables, baselineTables, recordTables, type Tables } from '../store/tables.ts'
import { account, deletion, partnership } from './account-kinds.ts'
import { decide, differs, type Decided, type DecideOptions, type Decision, type Names, WRITTEN } from './decide.ts'
import type { Cell, Kind, Row } from './kind.ts'
import { kinds as allKinds } from './kinds.ts'
import { FormatError } from './formats/errors.ts'
import { isTooLong } from './lines.ts'
import { ImportError, MAX_LISTED, type RejectedLine } from './report.ts'
import { noteChangedRecords } from './revisions.ts'
import { sampleFields, type SampleRow } from './sample-rows.ts'
import { keyOf, storedIds, storedRows } from './stored-rows.ts'
import { isCounted, type NameOptions, refuseNames } from './usernames.ts'

export interface IncomingOptions extends DecideOptions, NameOptions {
  readonly engine: Engine
  /** Whether nothing will be stored, so that no text of a line is needed. */
  readonly isPreview?: boolean | undefined
  /** The name of the file, for its owners, who can take out again what it adds. */
  readonly file?: string | undefined
  /** Called with each decision. */
  readonly onDecided?: () => void
  readonly signal?: AbortSignal | undefined
}

export type KindReport = ReturnType<Incoming['report']>[number]['report']

interface Undecided {
  readonly id: number
  readonly line: number
  /** Whether it was merged with a stored row before. */
  readonly isMerged: boolean
  readonly names: Names
}

/** The first rows with a number, by their keys. */
type Firsts = Map<string, { readonly id: number; readonly row: Row; isContradicted: boolean }>

/** What was decided about the rows of a kind. */
interface KindCounts {
  readonly counts: Partial<Record<Decided, number>>
  /** Sessions that have not started or are not finished. */
  readonly unfinished: number
  /** The times of the oldest and the newest record; null for kinds without a time. */
  readonly first: number | null
  readonly last: number | null
}

/**
 * Checked rows on their way into the store. They are in a temporary table, which only this connection can see and which blocks nobody.
 * What becomes of each is decided by a walk in batches, and noted there.
 */
export class Incoming {
  readonly options: IncomingOptions
  readonly #db: Kysely<Tables>
  readonly #pending = new Map<Kind | null, (readonly Cell[])[]>()
  #pendingCharacters = 0
  readonly #kinds = new Map<Kind, KindCounts>()
  /** How many lines `refuse` was called with. */
  #invalid = 0

  constructor(options: IncomingOptions) {
    this.options = options
    this.#db = options.db
  }

  /** Creates the table; whatever was left behind is dropped. Until `discard`, SQLite keeps its log, so that the disk never has the rows three times. */
  async prepare() {
    await this.discard()
    if (this.options.engine === 'sqlite') await this.#run('pragma wal_autocheckpoint = 0')
    await this.#run(`create temporary table incoming (line integer primary key, kind text not null, id bigint, owner bigint,
      time bigint, decided text not null default 'added', reason text, stored_owner bigint, row_key text, raw text, encoding text, unmerged text,
      ${[...HELD].join(', ')})`)
    await this.#run('create index incoming_refused on incoming (line) where reason is not null')
    await this.#run('create index incoming_username on incoming (username) where username is not null')
  }

  async discard() {
    for (const table of ['incoming', 'owner_total', 'known_account', 'moved_account', 'refused_line', 'rejected_line'])
      await this.#run(`drop table if exists ${table}`)
    if (this.options.engine === 'postgres') return
    for (const pragma of ['wal_autocheckpoint = 1000', 'wal_checkpoint(passive)']) await this.#run(`pragma ${pragma}`)
  }

  add(kind: Kind, line: number, row: Row, raw: string | undefined) {
    // Of an account up to when it is known, and of access when it ended.
    const time = (kind.isOwned ? row['newest'] : (row['as_of'] ?? row['ended_at'])) ?? null
    const { [kind.recordColumn]: id = null, [kind.ownerColumn]: owner = null } = row
    const facts = { line, kind: kind.name, recordId: id, ownerId: owner }
    this.#add(kind, facts, [time, 'added', null, ...cellsOf(kind, row)], raw)
    if (!this.#kinds.has(kind)) this.#kinds.set(kind, NOTHING)
  }

  /**
   * Adds a line that cannot be stored: of an account, its records are valid even so where one such line refuses the file. Too many of them
   * are only counted, and end a preview. Throws FormatError.
   */
  refuse({ line, reason, raw, ...facts }: RejectedLine & { readonly raw: Buffer | string | undefined }) {
    this.#invalid += 1
    if (this.options.isPreview === true) checkRejected(this.#invalid)
    if (this.#invalid <= MAX_INVALID) this.#add(null, { line, ...facts }, [null, 'invalid', reason], raw)
  }

  #add(
    kind: Kind | null,
    { line, kind: name, recordId, ownerId }: Readonly<Record<'line' | 'kind' | 'recordId' | 'ownerId', Cell>>,
    rest: readonly Cell[],
    raw: Buffer | string | undefined,
  ) {
    const { setsAside, isPreview = false } = this.options
    const isKept = setsAside && !isPreview && raw !== undefined && !isTooLong(raw)
    // A later rejected row with the same key replaces this one.
    const kept = isKept
      ? [recordId === null ? hash('sha256', raw, 'hex') : `${name}/${recordId}/${ownerId ?? ''}`, ...encoded(raw)]
      : NOT_KEPT
    const cells = [line, name, recordId, ownerId, ...kept, ...rest]
    this.#pending.getOrInsertComputed(kind, () => []).push(cells)
    for (const cell of cells) this.#pendingCharacters += typeof cell === 'string' ? cell.length : 0
  }

  /** Counts a session that is not stored. */
  skip(kind: Kind) {
    const counts = this.#kinds.get(kind) ?? NOTHING
    this.#kinds.set(kind, { ...counts, unfinished: counts.unfinished + 1 })
  }

  async flushFull() {
    if (this.#pendingCharacters >= MAX_BATCH_CHARACTERS) await this.flush()
  }

  async flush() {
    for (const [kind, rows] of this.#pending) await this.#put([...FACTS, ...ownOf(kind).map(heldIn)], rows)
    this.#pending.clear()
    this.#pendingCharacters = 0
  }

  /** Writes some columns of lines, the number and the kind first. */
  async #put(columns: readonly string[], lines: readonly (readonly Cell[])[]) {
    const updates = columns.slice(2).map(column => `${column} = excluded.${column}`)
    for (let start = 0; start < lines.length; start += MAX_WRITTEN_ROWS) {
      const rows = lines.slice(start, start + MAX_WRITTEN_ROWS)
      await insertRows(
        this.options,
        { name: 'incoming', columns },
        rows,
        `on conflict (line) do update set ${updates.join(', ')}`,
      )
    }
  }

  /** Decides about all rows. With `remembers`, `decideMoved` can decide again about those that the store has changed since. */
  async decide(remembers = true) {
    // With all columns that are compared and counted, so that neither reads the documents.
    await this.#run('create index incoming_key on incoming (kind, id, line, decided, owner, stored_owner, time)')
    if (remembers) {
      if (this.options.engine === 'postgres') await this.#run('analyze incoming')
      await this.#run(`create temporary table known_account as select id, ${COMPARED.join(', ')} from account`)
    }
    for (const kind of this.#present()) await this.#decide(kind)
    // Records of a file are noted in this order, in which SQLite writes them fastest.
    if (this.options.isPreview !== true)
      await this.#run('create index incoming_owned on incoming (owner, kind, decided, id, time)')
  }

  /** Decides again about what has changed in the store: access, whose changes have no number, and what was decided for accounts that moved. */
  async decideMoved() {
    await this.#run(`create temporary table moved_account as
      select known.id from known_account as known left join account on account.id = known.id
        where ${['id', ...COMPARED].map(column => `account.${column} is distinct from known.${column}`).join(' or ')}
      union all select account.id from account where account.id not in (select known.id from known_account as known)`)
    const { rows } = await sql`select 1 from moved_account limit 1`.execute(this.#db)
    const hasMoved = rows.length > 0
    for (const kind of this.#present()) {
      const isMoved = `(owner in (select id from moved_account) or stored_owner in (select id from moved_account) or exists (
        select 1 from ${kind.table} as stored where stored.${kind.recordColumn} = incoming.id
          and stored.${kind.ownerColumn} in (select id from moved_account)))`
      if (kind === account && hasMoved) {
        await this.#run(REFUSED_ACCOUNTS)
        await this.#decide(kind, '1 = 1')
        await this.#run(REFUSED_ACCOUNTS)
      } else if (kind === partnership) await this.#decide(kind, '1 = 1')
      else if (hasMoved) await this.#decide(kind, isMoved)
    }
  }

  /** Runs work that compares the rows with the store, or moves them into it. */
  inStore<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.options.engine === 'sqlite') return work()
    const records = this.#present().filter(({ isOwned }) => isOwned)
    const named = records.map(kind => ({
      table: kind.table,
      ids: `select id from incoming where kind = '${kind.name}'`,
    }))
    return withLocalRecords(this.#db, named, work)
  }

  async *rejected(): AsyncGenerator<RejectedLine> {
    for (let last: number | undefined = -1; last !== undefined;) {
      const rows: readonly RejectedLine[] = await this.#rejectedAfter(last, MAX_READ_LINES)
      yield* rows
      last = rows.at(-1)?.line
    }
  }

  async #rejectedAfter(line: number, limit: number): Promise<readonly RejectedLine[]> {
    const { rows } = await sql<RejectedLine>`
      select line, kind, id as "recordId", owner as "ownerId", reason from incoming
      where reason is not null and line > ${line} order by line limit ${limit}`.execute(this.#db)
    return rows
  }

  /** How many lines cannot be stored, and the first MAX_LISTED of them. */
  async rejectedLines() {
    const { rows } = await sql<{ count: Cell }>`
      select count(*) as count from incoming where reason is not null`.execute(this.#db)
    const lines = await this.#rejectedAfter(-1, MAX_LISTED)
    return { count: Number(rows[0]?.count) + Math.max(0, this.#invalid - MAX_INVALID), lines }
  }

  async throwIfRejected() {
    const { count, lines } = await this.rejectedLines()
    if (count > 0) throw new ImportError(lines, count)
  }

  async decisions(): Promise<ReadonlyMap<number, Decided>> {
    const { rows } = await sql<{ line: number; decided: Decided }>`select line, decided from incoming`.execute(this.#db)
    return new Map(rows.map(({ line, decided }) => [line, decided]))
  }

  /** The first records of each kind that would be stored, and what they would change. */
  async samples(): Promise<SampleRow[]> {
    const samples: SampleRow[] = []
    for (const kind of this.#present().filter(({ isOwned }) => isOwned)) {
      for (const decided of ['added', 'replaced'] as const) {
        const { rows } = await sql<Row & { readonly id: number; readonly line: number }>`
          select line, ${sql.raw(rowOf(kind))} from incoming where kind = ${kind.name} and decided = ${decided}
          order by line limit ${SAMPLES}`.execute(this.#db)
        const stored = await storedRows(this.#db, kind, decided === 'added' ? [] : rows)
        for (const { line, ...row } of rows) {
          samples.push({ kind: kind.name, line, fields: sampleFields(kind, row, stored.get(keyOf(kind, row))) })
        }
      }
    }
    return samples
  }

  async deleted(limit: number): Promise<{ kind: string; id: number }[]> {
    const { rows } = await sql<{ kind: string; id: number }>`
      select kind, id from incoming where decided = 'deleted' order by line limit ${limit}`.execute(this.#db)
    return rows.map(row => ({ ...row }))
  }

  /** Access that is open in the archive and ended in the store; the first MAX_LISTED of it. */
  async endedAccess(): Promise<{ ownerId: number; partnerId: number }[]> {
    const { rows } = await sql<{ ownerId: number; partnerId: number }>`
      select incoming.owner as "ownerId", incoming.id as "partnerId" from incoming
      join partnership as stored on stored.owner_id = incoming.owner and stored.partner_id = incoming.id
      where incoming.kind = ${partnership.name} and incoming.decided not in ('repeated', 'invalid') and incoming.time is null and stored.ended_at is not null
      order by incoming.line limit ${MAX_LISTED}`.execute(this.#db)
    return rows.map(row => ({ ...row }))
  }

  /** Writes the rows. All must have been decided. */
  async store(now: number) {
    await this.#run(`create temporary table owner_total as
      select owner, kind, decided, count(*) as count, max(time) as newest from incoming group by owner, kind, decided`)
    for (const kind of this.#present()) await this.#write(kind)
    if (this.#count(deletion, 'added') > 0) await this.#dropVoidDeletions()
    await this.#noteBrought()
    if (this.options.file !== undefined) await this.#noteFile(this.options.file, now)
    if (this.#count(partnership, 'added') > 0) {
      await sql`insert into account_event (account_id, at, kind, actor, subject, subject_id, network, browser, times)
        select incoming.owner, ${now}, 'access-given', 'operator', account.username, 0, '', '', 1
        from incoming join account on account.id = incoming.id
        where incoming.kind = ${partnership.name} and incoming.decided = 'added' and incoming.time is null`.execute(
        this.#db,
      )
    }
  }

  /** Notes of records that a file had added that something else has brought or changed them. The same file again, unchanged, is nothing else. */
  async #noteBrought() {
    const isChanged = this.#present().some(kind => this.#count(kind, 'added', 'replaced') > 0)
    const same = isChanged ? null : (this.options.file ?? null)
    await sql`update imported_record set is_kept = 1 from incoming
      where imported_record.owner_id = incoming.owner and imported_record.kind = incoming.kind and imported_record.id = incoming.id
        and is_kept = 0 and incoming.decided in ('replaced', 'refreshed', 'unchanged', 'skipped')
        and file_id not in (select id from imported_file where name = cast(${same} as text))`.execute(this.#db)
  }

  /** Notes for each owner what a file brought. Only the last files of an owner can be undone. */
  async #noteFile(name: string, now: number) {
    const records = `kind in (${quoted(allKinds.filter(({ isOwned }) => isOwned).map(kind => kind.name))})`
    const { numAffectedRows = 0n } = await sql`insert into imported_file (owner_id, name, at, added, replaced)
      select owner, ${name}, cast(${now} as bigint), sum(case when decided = 'added' then count else 0 end),
        sum(case when decided = 'replaced' then count else 0 end)
      from owner_total where ${sql.raw(records)} and decided in ('added', 'replaced') group by owner`.execute(this.#db)
    if (numAffectedRows === 0n) return
    await this.#run(`insert into imported_record (owner_id, kind, id, file_id, is_kept)
      select owner, kind, incoming.id, file.id, 0
      from (select owner_id, max(id) as id from imported_file where owner_id in (select owner from owner_total) group by owner_id) as file
      cross join incoming where owner = file.owner_id and ${records} and decided = 'added'
      on conflict (owner_id, kind, id) do update set file_id = excluded.file_id, is_kept = 0`)
    await this.#run(`delete from imported_file where id in (select id from
      (select id, row_number() over (partition by owner_id order by id desc) as place from imported_file) as numbered
      where place > ${MAX_FILES})`)
  }

  /** Drops the deletions that came in of records that are stored. */
  async #dropVoidDeletions() {
    for (const { name, table } of allKinds.filter(({ isOwned }) => isOwned)) {
      await this.#run(`delete from deleted_record where kind = '${name}'
        and owner_id in (select owner from incoming where kind = '${deletion.name}')
        and exists (select 1 from ${table} as stored where stored.owner_id = deleted_record.owner_id and stored.id = deleted_record.id)`)
    }
  }

  /** What was decided about each kind, in the order of an export, and the times of its oldest and its newest record. */
  report() {
    return allKinds.map(kind => {
      const { counts, unfinished, first, last } = this.#kinds.get(kind) ?? NOTHING
      const { added = 0, replaced = 0, skipped = 0, unchanged = 0, refreshed = 0, repeated = 0, deleted = 0 } = counts
      const same = unchanged + refreshed + repeated
      // Skipped are those that conflict, with `onConflict: 'skip'`, and those that are not finished; `deleted` are those that their owner deleted here.
      const all = { added, replaced, unchanged: same, skipped: skipped + unfinished }
      const report = { kind: kind.name, ...all, ...(deleted > 0 && { deleted }) }
      return { report, isPresent: this.#kinds.has(kind), first, last }
    })
  }

  /** Sets `as_of` of accounts whose lines have none to the newest instants of their records. */
  async updateAsOf() {
    const records = this.#present().filter(({ isOwned }) => isOwned)
    if (records.length === 0) return
    const newest = `select account.id, newest from (
        select owner, max(newest) as newest from owner_total where kind in (${quoted(records.map(({ name }) => name))})
          and decided in (${quoted([...WRITTEN, 'unchanged'])}) group by owner
      ) as given join account on account.id = given.owner
      where (account.as_of is null or account.as_of < newest)
      and not exists (select 1 from incoming as line where line.kind = '${account.name}' and line.id = account.id and line.time is not null)`
    await this.#run(
      // Citus: an update of a reference table cannot read a temporary table.
      `insert into account (id, username, document, etag, as_of)
        select stored.id, username, document, etag, newest from (${newest}) as known join account as stored on stored.id = known.id
        where true
        on conflict (id) do update set as_of = excluded.as_of`,
    )
  }

  /** The kinds of which there are rows, in the order of an export. */
  #present(): readonly Kind[] {
    return allKinds.filter(kind => this.#kinds.has(kind))
  }

  #count(kind: Kind, ...decided: readonly Decided[]): number {
    const { counts = {} } = this.#kinds.get(kind) ?? {}
    return decided.reduce((sum, one) => sum + (counts[one] ?? 0), 0)
  }

  /** Decides about the rows of a kind; with a condition, again about those that match it. */
  async #decide(kind: Kind, again?: string) {
    const firsts: Firsts = new Map()
    let last: Undecided | undefined
    for (;;) {
      const batch = await this.#read(kind, last, again)
      const known = await storedIds(this.#db, kind, batch)
      const ids = [last?.id, ...batch.map(({ id }) => id)]
      // Most rows of a file are the only ones with their number: nothing else of them has to be read. Of the last, the next batch tells.
      const isAlone = ({ id, isMerged }: Undecided, at: number) =>
        at < batch.length - 1 && !isMerged && !known.has(id) && id !== ids[at] && id !== ids[at + 2]
      const alone = batch.filter(isAlone)
      const others = batch.filter((row, at) => !isAlone(row, at))
      const notes = alone.map(({ line, names }) =>
        noteOf(kind, line, decide(kind, {}, undefined, { ...this.options, names })),
      )
      for (let start = 0; start < others.length; start += MAX_COMPARED_ROWS)
        notes.push(...(await this.#compare(kind, others.slice(start, start + MAX_COMPARED_ROWS), firsts)))
      // A row that nothing was decided about counts as added.
      const changed = again === undefined ? notes.filter(([, , decided]) => decided !== 'added') : notes
      await this.#put(['line', 'kind', 'decided', 'reason', 'stored_owner'], changed)
      // On SQLite, statements keep the process from hearing a signal.
      await nextTurn()
      this.options.signal?.throwIfAborted()
      if (batch.length < MAX_READ_LINES) break
      last = batch.at(-1)
    }
    if (kind === account) await refuseNames(this.options)
    await this.#countDecided(kind)
  }

  /** Decides about rows whose number others have, in the file or in the store, and writes those that were merged. */
  async #compare(kind: Kind, undecided: readonly Undecided[], firsts: Firsts): Promise<Cell[][]> {
    const rows = await this.#rows(kind, undecided)
    const stored = await storedRows(this.#db, kind, undecided)
    const notes: Cell[][] = []
    const merged: Cell[][] = []
    for (const { id, line, isMerged, names } of undecided) {
      const row = rows.get(line) ?? {}
      const key = keyOf(kind, row)
      const earlier = firsts.get(key)
      if (earlier !== undefined) {
        earlier.isContradicted ||= differs(kind.identity, row, earlier.row)
        notes.push([line, kind.name, ...(earlier.isContradicted ? CONTRADICTION : ['repeated', null]), null])
        continue
      }
      for (const [other, first] of firsts) if (first.id !== id) firsts.delete(other)
      firsts.set(key, { id, row, isContradicted: false })
      const before = stored.get(key)
      const decision = decide(kind, row, before, { ...this.options, names })
      notes.push(noteOf(kind, line, decision, before))
      // What was merged with a stored row that has changed is taken back.
      const written = decision.merged ?? (isMerged ? row : undefined)
      if (written !== undefined) merged.push([line, kind.name, JSON.stringify(row), ...cellsOf(kind, written)])
    }
    await this.#put(['line', 'kind', 'unmerged', ...ownOf(kind).map(heldIn)], merged)
    return notes
  }

  async #countDecided(kind: Kind) {
    const times = kind.columns.includes('at') ? 'min(at) as first, max(at) as last' : 'null as first, null as last'
    const { rows } = await sql<{ decided: Decided; count: Cell; first: Cell; last: Cell }>`
      select decided, count(*) as count, ${sql.raw(times)} from incoming where kind = ${kind.name} group by decided`.execute(
      this.#db,
    )
    const counts = Object.fromEntries(rows.map(({ decided, count }) => [decided, Number(count)]))
    const { unfinished } = this.#kinds.get(kind) ?? NOTHING
    const kept = rows.filter(({ decided, first }) => KEPT.includes(decided) && first !== null)
    const [first, last] =
      kept.length === 0
        ? [null, null]
        : [Math.min(...kept.map(({ first }) => Number(first))), Math.max(...kept.map(({ last }) => Number(last)))]
    this.#kinds.set(kind, { counts, unfinished, first, last })
  }

  /** The next rows of a kind that are not decided by the file alone, and what is known of the accounts that they name. */
  async #read(
    kind: Kind,
    { id, line }: Pick<Undecided, 'id' | 'line'> = BEFORE_ALL,
    condition = '1 = 1',
  ): Promise<Undecided[]> {
    const idOf = (column: string) => `incoming.${column === kind.ownerColumn ? 'owner' : 'id'}`
    const isKnown = (id: string) => `(exists (select 1 from account as someone where someone.id = ${id}) or exists (
      select 1 from incoming as someone where someone.kind = '${account.name}' and someone.id = ${id}
        and ${isCounted('someone', this.options)}))`
    const unknown = kind.accounts.map(column => `case when ${isKnown(idOf(column))} then '' else '${column} ' end`)
    const isRemoved = `exists (select 1 from removed_account as removed
      where removed.id in (${kind === account ? 'incoming.id' : kind.accounts.map(idOf).join(', ')})) as removed`
    const isDeleted = kind.isOwned
      ? `exists (select 1 from deleted_record as mark
          where mark.owner_id = incoming.owner and mark.kind = incoming.kind and mark.id = incoming.id) as deleted`
      : '0 as deleted'
    const facts = [
      isRemoved,
      isDeleted,
      `${["''", ...unknown].join(' || ')} as unknown`,
      'unmerged is not null as merged',
    ]
    const { rows } = await sql<{ id: Cell; line: number; unknown: string; removed: Cell; deleted: Cell; merged: Cell }>`
      select line, id, ${sql.raw(facts.join(', '))} from incoming
      where kind = ${kind.name} and (id, line) > (${id}, ${line})
      and decided not in ('repeated', 'contradicts', 'invalid') and ${sql.raw(condition)}
      order by id, line limit ${MAX_READ_LINES}`.execute(this.#db)
    return rows.map(row => {
      this.options.onDecided?.()
      return {
        id: Number(row.id),
        line: row.line,
        isMerged: Boolean(row.merged),
        names: {
          removed: Boolean(row.removed),
          deleted: Boolean(row.deleted),
          unknown: row.unknown.split(' ').filter(column => column !== ''),
        },
      }
    })
  }

  /** Rows as they came, by their lines. */
  async #rows(kind: Kind, undecided: readonly Undecided[]): Promise<ReadonlyMap<number, Row>> {
    const { rows } = await sql<Row & { line: number; unmerged: string | null }>`
      select line, unmerged, ${sql.raw(rowOf(kind))} from incoming
      where line in (${sql.join(undecided.map(({ line }) => line))})`.execute(this.#db)
    // `#compare` wrote it.
    return new Map(
      rows.map(({ line, unmerged, ...row }) => [line, unmerged === null ? row : (JSON.parse(unmerged) as Row)]),
    )
  }

  async #write(kind: Kind) {
    const { engine } = this.options
    const { table, columns, key, isOwned, fixed = [] } = kind
    if (this.#count(kind, ...WRITTEN) === 0) return
    const replaced = this.#count(kind, 'replaced')
    const rows = (...decided: readonly Decided[]) =>
      `from incoming where kind = '${kind.name}' and decided in (${quoted(decided)})`
    // Accounts may swap names, so each first gets a name that no account can have.
    if (kind === account && replaced > 0) {
      await this.#run(`update account set username = '\u0001' || id where id in (select id ${rows('replaced')})`)
    }
    if (isOwned && replaced > 0) {
      // PostgreSQL: the owner is part of the primary key, so an update cannot change it.
      const moved = `${rows('replaced')} and stored_owner <> owner`
      await noteChangedRecords(this.#db, table, sql.raw(`select stored_owner ${moved}`))
      await this.#run(`delete from ${table} where id in (select id ${moved})`)
    }
    const primaryKey = isOwned && engine === 'postgres' ? ['owner_id', ...key] : key
    const updates = columns
      .filter(column => !primaryKey.includes(column) && !fixed.includes(column))
      .map(column => `${column} = ${newValue(table, column)}`)
    const onConflict = replaced + this.#count(kind, 'refreshed') === 0 ? 'nothing' : `update set ${updates.join(', ')}`
    await this.#run(`insert into ${table} (${columns.join(', ')}) select ${columns.map(heldIn).join(', ')} ${rows(...WRITTEN)} order by id
      on conflict (${primaryKey.join(', ')}) do ${onConflict}`)
    const owners = `select owner from owner_total where kind = '${kind.name}' and decided in (${quoted(WRITTEN)})`
    if (isOwned) await noteChangedRecords(this.#db, table, sql.raw(owners))
  }

  async #run(statement: string) {
    await sql.raw(statement).execute(this.#db)
  }
}

/** What is noted of a row about which was decided. */
function noteOf(kind: Kind, line: number, { decided, reason }: Decision, stored?: Row): Cell[] {
  return [line, kind.name, decided, reason ?? null, kind.isOwned ? (stored?.['owner_id'] ?? null) : null]
}

/** What is noted of a row that contradicts an earlier one: the decision, and the reason. */
const CONTRADICTION = ['contradicts', 'is the same record as an earlier line, with other content']

/** Throws FormatError for so many lines that a preview does not list them. */
export function checkRejected(count: number) {
  if (count <= MAX_INVALID) return
  throw new FormatError(`more than ${MAX_INVALID.toLocaleString('en')} of its lines are no records`)
}

const NOT_KEPT = [null, null, null]

/** Text as it is; bytes that a text column cannot store as base64. */
function encoded(raw: Buffer | string): readonly [text: string, encoding: 'utf-8' | 'base64'] {
  if (typeof raw === 'string') return [raw, 'utf-8']
  return isUtf8(raw) && !raw.includes(0) ? [raw.toString('utf8'), 'utf-8'] : [raw.toString('base64'), 'base64']
}

/** Of an owner. */
const MAX_FILES = 100

const NOTHING: KindCounts = { counts: {}, unfinished: 0, first: null, last: null }

/** The columns of an account that change whenever decisions about it, or about its records, may change. */
const COMPARED = ['username', 'etag', 'subscription_ends_at', ...recordTables.map(table => `${table}_revision`)]

/** What is decided about their records may change. */
const REFUSED_ACCOUNTS = `insert into moved_account select id from incoming where kind = '${account.name}' and decided = 'refused'`

const BEFORE_ALL = { id: Number.MIN_SAFE_INTEGER, line: -1 }

/** The decisions after which a record is in the store. */
const KEPT: readonly Decided[] = [...WRITTEN, 'unchanged', 'skipped']

/** How many rows are compared at once: each, and the stored one, can take a megabyte. */
const MAX_COMPARED_ROWS = 50
const MAX_READ_LINES = 1000
/** How many invalid lines are kept; further ones are only counted. */
const MAX_INVALID = 100_000
const MAX_WRITTEN_ROWS = 100
/** How many records of a kind a preview shows. */
const SAMPLES = 3
const MAX_BATCH_CHARACTERS = 1024 * 1024

/** What `add` knows of a line, whether it can be stored or not. */
const FACTS = ['line', 'kind', 'id', 'owner', 'row_key', 'raw', 'encoding', 'time', 'decided', 'reason']

/** The other columns of the rows of each kind; the last two are not stored. */
const OWN = new Map<Kind | null, readonly string[]>(
  allKinds.map(kind => [kind, [...kind.columns.filter(column => column !== 'id'), 'missing', 'given']]),
)

function ownOf(kind: Kind | null): readonly string[] {
  return OWN.get(kind) ?? []
}

function cellsOf(kind: Kind, row: Row): Cell[] {
  return ownOf(kind).map(column => row[column] ?? null)
}

/** The column of the table `incoming` that holds a column of rows: `kind` is that of the line. */
function heldIn(column: string): string {
  return column === 'kind' ? 'deleted_kind' : column
}

/** The select list of a row as it came. */
function rowOf(kind: Kind): string {
  return ['id', ...ownOf(kind)].map(column => `incoming.${heldIn(column)} as ${column}`).join(', ')
}

const described: Readonly<Record<string, Readonly<Record<string, string>>>> = { ...baselineTables, ...addedTables }

const HELD = new Set(
  allKinds.flatMap(kind =>
    ownOf(kind).map(column => {
      const isInteger = described[kind.table]?.[column]?.startsWith('integer') === true
      return `${heldIn(column)} ${isInteger ? 'bigint' : 'text'}`
    }),
  ),
)

/** The new value of a column of a stored row: missing extra fields keep their stored value, and `as_of` never goes back. */
function newValue(table: string, column: string): string {
  if (column === 'extra') return `coalesce(excluded.extra, ${table}.extra)`
  if (column !== 'as_of') return `excluded.${column}`
  return `case when excluded.as_of is null or excluded.as_of <= ${table}.as_of then ${table}.as_of else excluded.as_of end`
}

function quoted(words: readonly string[]): string {
  return words.map(word => `'${word}'`).join(', ')
}
