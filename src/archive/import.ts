import { CompiledQuery, type Kysely, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { Invalid, isObject } from './canonical.ts'
import { type Cell, type Kind, kinds, type Row, Unfinished } from './kinds.ts'
import { type Line, readLines } from './lines.ts'

/** What to do with a record that the store has with other content. */
export type OnConflict = 'fail' | 'skip' | 'replace'
export const conflictChoices: readonly OnConflict[] = ['fail', 'skip', 'replace']

export interface ImportOptions {
  readonly onConflict?: OnConflict
  /** Called with the bytes read so far, and once with undefined when the checked records are being stored. */
  readonly progress?: (bytes: number | undefined) => void
  /** Stops the import; nothing is written. */
  readonly signal?: AbortSignal
}

export interface ImportReport {
  /** Of each kind, in the order of an export. */
  readonly kinds: readonly KindReport[]
  /** Sessions without a result, which are not stored. */
  readonly unfinished: readonly { readonly line: number; readonly id: number }[]
  readonly unfinishedCount: number
  /** Fields that are not part of a record, by kind and name, with how often they occurred. */
  readonly dropped: readonly { readonly kind: string; readonly field: string; readonly count: number }[]
}

export interface KindReport {
  readonly kind: string
  readonly added: number
  readonly replaced: number
  readonly unchanged: number
  /** Left as the store has them, by `onConflict: 'skip'`. */
  readonly skipped: number
}

export interface LineError {
  readonly line: number
  readonly reason: string
}

/** Nothing was written. `errors` are the first of `count`, by line. */
export class ImportError extends Error {
  override readonly name = 'ImportError'
  readonly errors: readonly LineError[]
  readonly count: number
  constructor(errors: readonly LineError[], count: number) {
    super(`the archive has ${count} ${count === 1 ? 'error' : 'errors'}`)
    this.errors = errors
    this.count = count
  }
}

export const MOST_ERRORS = 100

/**
 * Imports one archive: all of it, or nothing. Lines are checked and set aside in a temporary table first, which holds
 * up nobody; only then is the store locked, for as long as the rows take to be copied. Throws ImportError.
 */
export async function importArchive(
  store: Store,
  chunks: AsyncIterable<Buffer>,
  { onConflict = 'fail', progress, signal }: ImportOptions = {},
): Promise<ImportReport> {
  return store.db.connection().execute(async db => {
    await prepare(db)
    try {
      const checked = await check(db, chunks, progress, signal)
      progress?.(undefined)
      await index(db)
      signal?.throwIfAborted()
      const reports = await store.locked(db, () => apply(db, onConflict))
      return { kinds: reports, ...checked }
    } finally {
      await discard(db)
    }
  })
}

/** Reads every line, sets its row aside, and collects what is wrong. */
async function check(
  db: Kysely<Tables>,
  chunks: AsyncIterable<Buffer>,
  progress: ImportOptions['progress'],
  signal: AbortSignal | undefined,
) {
  const errors = new Errors()
  const unfinished: { line: number; id: number }[] = []
  let unfinishedCount = 0
  const dropped = new Map<string, { kind: string; field: string; count: number }>()
  const batches = new Map(kinds.map(kind => [kind, new Batch(db, kind)]))
  let bytes = 0
  const counted = async function* () {
    for await (const chunk of chunks) {
      signal?.throwIfAborted()
      bytes += chunk.length
      yield chunk
    }
  }

  for await (const lines of readLines(counted())) {
    for (const line of lines) {
      try {
        const { kind, row } = readLine(line, (kind, field) => countDropped(dropped, kind, field))
        // Once something is wrong nothing will be written: the rest is only checked.
        if (errors.count === 0) batches.get(kind)?.add(line.number, row)
      } catch (error) {
        if (error instanceof Unfinished) {
          unfinishedCount += 1
          if (unfinished.length < MOST_ERRORS) unfinished.push({ line: line.number, id: error.id })
        } else if (error instanceof Invalid) errors.add(line.number, error.message)
        else throw error
      }
    }
    for (const batch of batches.values()) if (batch.isFull) await batch.flush()
    progress?.(bytes)
  }
  errors.throwIfAny()
  for (const batch of batches.values()) await batch.flush()
  return { unfinished, unfinishedCount, dropped: [...dropped.values()] }
}

function readLine(line: Line, onDropped: (kind: string, field: string) => void): { kind: Kind; row: Row } {
  if (line.text === undefined) throw new Invalid(line.fault ?? 'cannot be read')
  const record = parse(line.text)
  if (!isObject(record)) throw new Invalid('must be an object with kind and data')
  const kind = typeof record['kind'] === 'string' ? kindsByName.get(record['kind']) : undefined
  if (kind === undefined) throw new Invalid(`must be one of ${[...kindsByName.keys()].join(', ')}`, 'kind')
  if (!isObject(record['data'])) throw new Invalid('must be an object', 'data')
  for (const key of Object.keys(record)) {
    if (key !== 'kind' && key !== 'data' && !kind.beside.includes(key)) {
      throw new Invalid(
        kind.beside.length === 0
          ? 'must have no other keys than kind and data'
          : `must have no other keys than kind, data, ${kind.beside.join(', ')}`,
      )
    }
  }
  return { kind, row: kind.read(record['data'], record, field => onDropped(kind.name, field)) }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the line.
    throw new Invalid('is not valid JSON')
  }
}

function countDropped(
  dropped: Map<string, { kind: string; field: string; count: number }>,
  kind: string,
  field: string,
) {
  // Names come from the file: only plain ones are shown, and only so many.
  const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(field) && dropped.size < MOST_ERRORS ? field : '(other)'
  const key = `${kind}.${shown}`
  const entry = dropped.get(key)
  if (entry === undefined) dropped.set(key, { kind, field: shown, count: 1 })
  else entry.count += 1
}

/** Rows of one kind on their way into their temporary table, many with one statement. */
class Batch {
  readonly #db: Kysely<Tables>
  readonly #kind: Kind
  #cells: Cell[] = []
  #rows = 0
  #fullStatement: string | undefined

  constructor(db: Kysely<Tables>, kind: Kind) {
    this.#db = db
    this.#kind = kind
  }

  get isFull() {
    return this.#rows >= ROWS_AT_ONCE
  }

  add(line: number, row: Row) {
    this.#cells.push(line)
    for (const column of this.#kind.columns) this.#cells.push(row[column] ?? null)
    this.#rows += 1
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

class Errors {
  readonly #first: LineError[] = []
  count = 0

  add(line: number, reason: string) {
    this.count += 1
    if (this.#first.length < MOST_ERRORS) this.#first.push({ line, reason })
  }

  throwIfAny() {
    if (this.count > 0) {
      throw new ImportError(
        this.#first.toSorted((a, b) => a.line - b.line),
        this.count,
      )
    }
  }
}

const kindsByName = new Map(kinds.map(kind => [kind.name, kind]))

// Temporary tables are seen by this connection alone, and writing to them takes no lock that others wait for.

async function prepare(db: Kysely<Tables>) {
  await discard(db)
  for (const { table, columns } of kinds) {
    await run(
      db,
      `create temporary table incoming_${table} as select 0 as line, ${columns.join(', ')} from ${table} where 1 = 0`,
    )
  }
}

async function index(db: Kysely<Tables>) {
  for (const { table, key } of kinds) {
    await run(db, `create index incoming_${table}_key on incoming_${table} (${key.join(', ')}, line)`)
  }
  await run(db, 'create index incoming_account_name on incoming_account (username)')
}

async function discard(db: Kysely<Tables>) {
  for (const { table } of kinds) await run(db, `drop table if exists incoming_${table}`)
}

/** Puts the rows in their places. The statements read the same on every engine. Throws ImportError. */
async function apply(db: Kysely<Tables>, onConflict: OnConflict): Promise<KindReport[]> {
  const errors = new Errors()
  for (const kind of kinds) await checkRows(db, kind, onConflict, errors)
  errors.throwIfAny()
  const reports: KindReport[] = []
  for (const kind of kinds) reports.push(await applyKind(db, kind, onConflict))
  return reports
}

async function checkRows(db: Kysely<Tables>, kind: Kind, onConflict: OnConflict, errors: Errors) {
  const { table, accounts } = kind
  const find = async (reason: string, condition: string) => {
    const found = await rows<{ line: number }>(
      db,
      `select incoming.line from incoming_${table} as incoming where ${condition} order by incoming.line`,
    )
    for (const { line } of found) errors.add(Number(line), reason)
  }

  if (kind.identity.length > 0) {
    await find(
      'is the same record as an earlier line, with other content',
      `exists (select 1 from incoming_${table} as other where ${same(kind, 'other')} and other.line < incoming.line
        and (${differs(kind, 'other')}))`,
    )
    if (onConflict === 'fail') {
      await find(
        'is a record that the store has with other content (see --on-conflict)',
        `exists (select 1 from ${table} as other where ${same(kind, 'other')} and (${differs(kind, 'other')}))`,
      )
    }
  }
  for (const column of accounts) {
    const nobody = (accountTable: string) =>
      `not exists (select 1 from ${accountTable} as someone where someone.id = incoming.${column})`
    await find(
      'names an account that neither the archive nor the store has',
      `${nobody('incoming_account')} and ${nobody('account')}`,
    )
  }
  if (table === 'account') {
    const taken = (accountTable: string) =>
      `exists (select 1 from ${accountTable} as someone
        where someone.username = incoming.username and someone.id <> incoming.id)`
    await find('has the username of another account', `${taken('incoming_account')} or ${taken('account')}`)
  }
}

async function applyKind(db: Kysely<Tables>, kind: Kind, onConflict: OnConflict): Promise<KindReport> {
  const { table, columns, key, identity } = kind
  const count = async (condition: string) => {
    const [row] = await rows<{ count: number }>(
      db,
      `select count(*) as count from incoming_${table} as incoming where ${condition}`,
    )
    return Number(row?.count ?? 0)
  }
  const stored = `exists (select 1 from ${table} as stored where ${same(kind, 'stored')})`
  const first = `not exists (select 1 from incoming_${table} as other where ${same(kind, 'other')} and other.line < incoming.line)`
  const conflicting =
    identity.length === 0
      ? '1 = 0'
      : `exists (select 1 from ${table} as stored where ${same(kind, 'stored')} and (${differs(kind, 'stored')}))`

  const total = await count('1 = 1')
  const conflicts = onConflict === 'fail' ? 0 : await count(`${first} and ${conflicting}`)
  const added = await count(`${first} and not ${stored}`)
  const insert = `insert into ${table} (${columns.join(', ')})
    select ${columns.map(column => `incoming.${column}`).join(', ')} from incoming_${table} as incoming`
  const inOrder = `order by ${key.map(column => `incoming.${column}`).join(', ')}`
  if (onConflict === 'replace' && conflicts > 0) {
    const rest = columns.filter(column => !key.includes(column))
    await run(
      db,
      `${insert} where ${first} and ${conflicting} ${inOrder}
        on conflict (${key.join(', ')}) do update set ${rest.map(column => `${column} = excluded.${column}`).join(', ')}`,
    )
  }
  if (added > 0) await run(db, `${insert} where ${first} and not ${stored} ${inOrder}`)
  const replaced = onConflict === 'replace' ? conflicts : 0
  return {
    kind: kind.name,
    added,
    replaced,
    skipped: conflicts - replaced,
    unchanged: total - added - conflicts,
  }
}

function same({ key }: Kind, other: string): string {
  return key.map(column => `${other}.${column} = incoming.${column}`).join(' and ')
}

function differs({ identity }: Kind, other: string): string {
  return identity.map(column => `${other}.${column} is distinct from incoming.${column}`).join(' or ')
}

async function run(db: Kysely<Tables>, statement: string) {
  await sql.raw(statement).execute(db)
}

async function rows<Found>(db: Kysely<Tables>, statement: string): Promise<Found[]> {
  const result = await sql.raw<Found>(statement).execute(db)
  return result.rows
}
