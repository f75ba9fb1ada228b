import { parse } from 'csv-parse/sync'
import type { Kysely } from 'kysely'
import { DAY_MS, MINUTE_MS } from '../../contract/time.ts'
import type { Tables } from '../../store/tables.ts'
import { type CsvDelimiter, csvDelimiters, type CsvRow, csvRows } from './csv.ts'
import { Faults, InvalidError } from '../faults.ts'
import type { Row } from '../kind.ts'
import type { Line, Lines, LinesOf } from '../lines.ts'
import { isProgramName, MAX_PROGRAM_NAME, programKey } from '../made-here.ts'
import { MAX_INTEGER } from '../values.ts'
import { instantCell, minuteOf, numberCell, secondsCell } from './cells.ts'
import { FormatError, UnclearOwnerError } from './errors.ts'
import { linesBeside, noteContradictions, offsetOf, type ReadRow } from './rows-together.ts'
import { type Known, StoredRecords } from './stored-records.ts'
import { type Table, tables } from './tables.ts'

export type Found = ReturnType<typeof newFound>

/** What is found while files are read. */
export function newFound() {
  const compared: StoredRecords[] = []
  return {
    /** Whether times without a zone were read in the zone of the account. */
    usesTimeZone: false,
    /** The titles of columns that are not read, and of ours that may be meant. */
    notRead: [] as { readonly title: string; readonly meant: string | undefined }[],
    /** What was done to values, how often, and a value before and after. */
    converted: new Map<string, { count: number; readonly before: string; readonly after: string }>(),
    /** The lines of rows about records that no table made, and that differ from them. */
    differing: [] as number[],
    /** The lines of new sessions that begin within a quarter of an hour of one that no table made. */
    beside: [] as number[],
    /** How many minutes after stored sessions many new ones begin. */
    offset: undefined as ReturnType<typeof offsetOf>,
    /** The minutes of new sessions: files are read together. */
    minutes: new Set<string>(),
    /** What rows were compared with. */
    compared,
    /** Throws FormatError if that has changed since. */
    async confirm(db: Kysely<Tables>) {
      for (const stored of compared) await stored.confirm(db)
    },
  }
}

interface FoundTable {
  readonly table: Table
  readonly delimiter: CsvDelimiter
}

/** The table whose header a file begins with; undefined if it does not begin as a table. Throws FormatError for tables without records. */
export function findTable(start: Buffer): FoundTable | undefined {
  const lines = start
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r\n|\r|\n/, MAX_LINES_ABOVE)
  const [first = ''] = lines
  if (first === '' || first.startsWith('{')) return undefined
  const widest = Math.max(...csvDelimiters.map(delimiter => cellsOf(first, delimiter).length))
  if (widest > MAX_CELLS)
    throw new FormatError(`the table has more than ${MAX_CELLS} columns: remove those that are none of ours`)
  const found = tableWith(first)
  if (found !== undefined) return found
  // Two cells may also be a damaged line of an archive.
  const isTable = widest > 2 || (widest === 2 && !start.includes('{'))
  // No table has NUL in its text: these bytes are something else.
  if (!isTable || first.includes('\0')) return undefined
  const below = lines.findIndex(line => tableWith(line) !== undefined)
  if (below > 0) throw new FormatError(`the titles of the columns are in line ${below + 1}: remove the lines above it`)
  const needed = tables.map(({ recognised }) => recognised.join(' and ')).join(', or ')
  throw new FormatError(
    `this table has no columns named ${needed}: name them so in its first line, as the templates on the Source page of the dashboard do`,
  )
}

/** A table may have a heading, which must be removed. */
const MAX_LINES_ABOVE = 20
const MAX_CELLS = 200

function tableWith(header: string): FoundTable | undefined {
  for (const delimiter of csvDelimiters) {
    const titles = cellsOf(header, delimiter).map(normal)
    const table = tables.find(({ recognised }) => recognised.every(title => titles.includes(normal(title))))
    if (table !== undefined) return { table, delimiter }
  }
  return undefined
}

function cellsOf(line: string, delimiter: CsvDelimiter): readonly string[] {
  return parse(line, { delimiter, relax_quotes: true, skip_records_with_error: true, to: 1 })[0] ?? []
}

function normal(title: string): string {
  return title.trim().toLowerCase()
}

export interface TableOptions {
  readonly account?: number | undefined
  /** The zone of times that have none. */
  readonly timeZone?: string | undefined
  /** Our titles of columns that a file calls otherwise, by their titles there. */
  readonly columns?: ReadonlyMap<string, string> | undefined
  readonly found: Found
}

export async function* tableLines(
  chunks: AsyncIterable<Buffer>,
  { table, delimiter }: FoundTable,
  options: TableOptions,
  { db, isPreview = false }: Parameters<LinesOf>[0],
): Lines {
  const { account, found } = options
  if (account === undefined) throw new UnclearOwnerError()
  const stored = await StoredRecords.read(db, table.kind, account)
  found.compared.push(stored)
  let reader: RowReader | undefined
  /** Rows that others of the file may contradict, which is known at its end. */
  const judged: ReadRow[] = []
  async function* linesOf(rows: readonly ReadRow[]): Lines {
    for (let start = 0; start < rows.length; start += MAX_BATCH_RECORDS) {
      const some = rows.slice(start, start + MAX_BATCH_RECORDS)
      const records = await stored.rows(some.flatMap(({ known }) => known ?? []))
      yield some.flatMap(row => reader?.linesOf(row, records.get(String(row.known?.id))) ?? [])
    }
  }
  for await (const rows of csvRows(chunks, delimiter)) {
    const others: ReadRow[] = []
    for (const row of rows) {
      if (reader === undefined) reader = new RowReader({ table, delimiter, header: row.cells, stored }, options)
      else {
        const read = reader.read(row)
        if (isJudged(read) && read.fault === undefined) judged.push(read)
        else others.push(read)
      }
    }
    if (judged.length > MAX_ROWS)
      throw new FormatError(`the table has more than ${MAX_ROWS} rows of records made here: bring it in several files`)
    yield* linesOf(others)
  }
  noteContradictions(judged, stored, table.hasBreaks)
  found.offset ??= offsetOf(judged, stored)
  found.beside.push(...linesBeside(judged, stored))
  const added = judged.filter(({ known, fault }) => known === undefined && fault === undefined)
  for (const row of added) {
    const began = `${table.kind.name} ${row.minute}`
    if (found.minutes.has(began)) row.fault = 'begins in the same minute as a row of another file: remove one of them'
    found.minutes.add(began)
  }
  const numbered = added.filter(({ fault }) => fault === undefined)
  const numbers = isPreview ? numbered.map((_, index) => MAX_INTEGER - index) : await stored.newNumbers(numbered.length)
  for (const [index, row] of numbered.entries()) row.id = numbers[index]
  yield* linesOf(judged)
}

/** Whether a table made the record of a row, or would: then the row must make sense. */
function isJudged({ known }: Pick<ReadRow, 'known'>): boolean {
  return known === undefined || (known.minute !== undefined && !known.isDeleted)
}

/** People fill in fewer rows. */
const MAX_ROWS = 50_000
/** Each can take a megabyte. */
const MAX_BATCH_RECORDS = 50

/** Where a value of a row is, and in which unit. */
interface Place {
  readonly title: string
  /** The key of a column, or of a time of a break. */
  readonly key: string
  readonly factor: number
}

type Values = Readonly<Record<string, unknown>>
type Given = ReadonlyMap<string, Place & { readonly text: string }>

class RowReader {
  readonly #table: Table
  readonly #stored: StoredRecords
  readonly #found: Found
  readonly #context: Omit<Parameters<typeof instantCell.read>[1], 'after'>
  /** What each cell of a row is. */
  readonly #places: readonly (Place | undefined)[]
  /** The keys of the columns that are read. */
  readonly #keys: ReadonlySet<string>

  constructor(
    file: FoundTable & { readonly header: readonly string[]; readonly stored: StoredRecords },
    { found, timeZone = 'UTC', columns = new Map<string, string>() }: TableOptions,
  ) {
    const { table, delimiter, header, stored } = file
    this.#table = table
    this.#stored = stored
    this.#found = found
    const note = (what: string, before: string, after: string) => {
      found.converted.getOrInsertComputed(what, () => ({ count: 0, before, after })).count += 1
    }
    const noteTimeZone = () => {
      found.usesTimeZone = true
    }
    this.#context = { timeZone, delimiter, noteTimeZone, note }
    const titles = header.map(title => title.trim())
    this.#places = titles.map(title => placeOf(table, columns.get(title) ?? title))
    for (const [theirs, ours] of columns) {
      if (!titles.includes(theirs) || placeOf(table, ours) !== undefined) continue
      const known = Object.values(table.columns).map(({ title }) => title)
      throw new FormatError(`no column is called ${ours}: there are ${known.join(', ')}`)
    }
    for (const [index, place] of this.#places.entries()) {
      const other = place && this.#places.findIndex(one => one?.key === place.key)
      if (other === undefined || other === index) continue
      throw new FormatError(`the column ${place?.title} is there twice: remove one, or give it another title`)
    }
    const isRead = (place: Place | undefined) => place !== undefined && !table.derived.includes(place.title)
    this.#keys = new Set(this.#places.flatMap(place => (place !== undefined && isRead(place) ? [place.key] : [])))
    for (const [index, title] of titles.entries()) {
      if (title === '' || isRead(this.#places[index])) continue
      found.notRead.push({ title, meant: meantBy(table, title, this.#keys) })
    }
  }

  /** Reads the cells of a row, and finds out which record it is. */
  read({ number: line, cells, text, fault }: CsvRow): ReadRow {
    const faults = new Faults()
    const read = faults.collect(() => {
      if (fault !== undefined) throw new InvalidError(fault)
      return this.#readCells(cells, faults)
    })
    const { values = {}, known, ...began } = read ?? { minute: undefined, at: undefined }
    return { line, bytes: Buffer.from(text), values, known, id: known?.id, fault: faults.message, ...began }
  }

  #readCells(cells: readonly string[], faults: Faults) {
    const given = this.#givenIn(cells)
    const values = this.#valuesOf(given, faults)
    const [began] = this.#table.required
    const minute = minuteOf(given.get(began)?.text ?? '')
    const at = values[began]
    const known = this.#knownOf(given, values['number'], { minute, at: minuteNumber(at) })
    if (isJudged({ known })) {
      for (const place of given.values())
        faults.collect(() => within(place.title, () => this.#judge(place, values[place.key])))
      for (const key of this.#table.required) {
        if (!given.has(key)) faults.add(new InvalidError('is missing', this.#table.columns[key]?.title))
      }
    }
    return { values, minute, at, known }
  }

  /** The lines of a row, given the record that it is: none if that is gone meanwhile. */
  linesOf(row: ReadRow, record: Row | undefined): Line[] {
    if (isJudged(row) || row.known?.isDeleted === true) return [this.#lineOf(row, record)]
    return record === undefined ? [] : [this.#unchanged(row, record)]
  }

  /** The line of a row about a record that no table made: it stays as it is. */
  #unchanged({ line, values, fault }: ReadRow, record: Row): Line {
    const before = this.#before(record)
    const differs = [...this.#keys].some(key => {
      const value = values[key]
      // Pages leave cells of their files empty for what they hide.
      if (key === 'number' || value === undefined || value === '') return false
      if (key === 'program' && !isBlank(values['programNumber'])) return false
      return key === 'program' ? !isSameProgram(before[key], value) : !this.#isSame(key, before, values)
    })
    if (differs || fault !== undefined) this.#found.differing.push(line)
    return { number: line, text: this.#table.kind.write(record), fault: undefined }
  }

  /** The line of a row about a new record, or one that a table made, or one that was deleted. */
  #lineOf(
    { line: number, bytes, values: given, minute, known, id = 0, fault }: ReadRow,
    record: Row | undefined,
  ): Line {
    try {
      // The import counts a deleted one.
      if (fault !== undefined && known?.isDeleted !== true) throw new InvalidError(fault)
      const before = record === undefined ? {} : this.#before(record)
      const merged = this.#merged(before, given)
      const [began] = this.#table.required
      const stays = known?.minute !== undefined && minuteNumber(before[began]) === minuteNumber(merged[began])
      const { name, ...program } = this.#programOf(merged)
      const madeHere = {
        minute: (stays ? known.minute : minute) ?? '',
        ...(name === undefined ? {} : { program: name }),
      }
      const context = { id, account: this.#stored.account, madeHere }
      const text = JSON.stringify(this.#table.line({ ...merged, ...program }, context))
      return { number, text, fault: undefined }
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error
      return { number, text: undefined, fault: error.message, bytes }
    }
  }

  #givenIn(cells: readonly string[]): Given {
    if (cells.slice(this.#places.length).some(cell => cell.trim() !== '')) {
      throw new InvalidError('has more cells than the first line: give their columns titles, or remove them')
    }
    return new Map(
      this.#places.flatMap((place, index) => {
        const text = cells[index]?.trim() ?? ''
        return place === undefined || text === '' || !this.#keys.has(place.key) ? [] : [[place.key, { ...place, text }]]
      }),
    )
  }

  /** The record that a row is, stored or deleted; undefined for a new one. Throws InvalidError. */
  #knownOf(
    given: Given,
    number: unknown,
    { minute, at }: { readonly minute: string | undefined; readonly at: number | undefined },
  ): Known | undefined {
    if (given.has('number')) {
      const known = typeof number === 'number' ? this.#stored.byId.get(number) : undefined
      if (known !== undefined) return known
      throw new InvalidError('matches no record here: leave it empty to import the row as a new record', 'Number')
    }
    if (minute === undefined || at === undefined) return undefined
    // Without a zone, which makes it longer, another one in the settings makes another instant of the same minute.
    const isInstant = (known: Known) => known.minute === undefined || minute.length > 16
    const found = new Set([...this.#stored.inMinute(minute), ...this.#stored.inMinute(at).filter(isInstant)])
    const [deleted, stored] = [[...found].find(known => known.isDeleted), [...found].filter(known => !known.isDeleted)]
    if (stored.length < 2) return stored[0] ?? deleted
    const numbers = stored.slice(0, MAX_NUMBERS).map(({ id }) => id)
    throw new InvalidError(
      `begins in the minute of several records: write the Number of one of them, ${numbers.join(', ')}`,
    )
  }

  /** The values of a stored record under the columns of this table. */
  #before(record: Row): Record<string, unknown> {
    const values = this.#table.valuesOf(record)
    const program = this.#stored.programNames.get(Number(values['programNumber'])) ?? values['program']
    const known = Object.entries({ ...values, program }).filter(([, value]) => value !== null && value !== undefined)
    return Object.fromEntries(known)
  }

  /** A column that is not there leaves a value, an empty cell empties it. */
  #merged(before: Values, given: Values) {
    const hasBreaks = [...this.#keys].some(isBreak)
    const merged: Record<string, unknown> = Object.fromEntries(
      Object.entries(before).filter(([key]) => !(hasBreaks && isBreak(key))),
    )
    for (const key of this.#keys)
      merged[key] = this.#isSame(key, before, given) ? (before[key] ?? given[key]) : given[key]
    const changes = (key: string) => this.#keys.has(key) && !this.#isSame(key, before, given)
    if (changes('program') && !this.#keys.has('programNumber')) delete merged['programNumber']
    if (changes('ended') && !this.#keys.has('state')) delete merged['state']
    return Object.fromEntries(Object.entries(merged).filter(([, value]) => value !== undefined))
  }

  /** The program of a row: its number goes before its name, which is given back if no program has it. Throws InvalidError. */
  #programOf({ programNumber, program }: Values): { programNumber?: number; program?: string; name?: string } {
    const given = typeof program === 'string' ? program : ''
    const number = typeof programNumber === 'number' && programNumber !== 0 ? programNumber : undefined
    const known = number ?? (given === '' ? undefined : this.#stored.programNamed(given))
    if (known !== undefined) return { programNumber: known, program: this.#stored.programNames.get(known) ?? given }
    if (given !== '' && !isProgramName(given)) {
      throw new InvalidError(`must have at most ${MAX_PROGRAM_NAME} characters`, 'Program')
    }
    return { program: given, ...(given === '' ? {} : { name: given }) }
  }

  /** The values of a row, in the order of its times: each begins where the one before it ended. */
  #valuesOf(given: Given, faults: Faults): Record<string, unknown> {
    const values: Record<string, unknown> = {}
    let after: number | undefined
    const order = (key: string) => (key === 'ended' ? 1e6 : Number(/^break (\d+) /.exec(key)?.[1] ?? -1))
    for (const [key, place] of [...given].toSorted(([a], [b]) => order(a) - order(b))) {
      const value = faults.collect(() => within(place.title, () => this.#valueOf(place, after)))
      if (value !== undefined) values[key] = value
      if (typeof value === 'number' && this.#isTime(key)) after = value
    }
    return values
  }

  /** Whether a row says of a column what is stored. Spreadsheets shorten long numbers, and leave out seconds. */
  #isSame(key: string, { [key]: before }: Values, { [key]: given }: Values): boolean {
    if (isBlank(before) || isBlank(given)) return isBlank(before) && isBlank(given)
    if (typeof before === 'string' && typeof given === 'string') return plain(before) === plain(given)
    if (typeof before !== 'number' || typeof given !== 'number') return before === given
    if (!this.#isTime(key)) return Math.abs(before - given) <= SHORTENED * Math.max(1, Math.abs(before))
    const unit = given % MINUTE_MS === 0 ? MINUTE_MS : given % 1000 === 0 ? 1000 : 1
    return Math.floor(before / unit) === Math.floor(given / unit)
  }

  #isTime(key: string): boolean {
    return (this.#table.columns[key]?.type ?? instantCell) === instantCell
  }

  #valueOf({ key, title, factor, text }: Place & { readonly text: string }, after?: number): unknown {
    const context = { ...this.#context, after }
    const { type = instantCell, title: ours } = this.#table.columns[key] ?? {}
    if (factor === 1) return type.read(text, context)
    const number = converted(numberCell.read(text, context), factor)
    if (type === secondsCell && !Number.isSafeInteger(number)) throw new InvalidError('must be whole seconds')
    context.note(`${title} to ${ours}`, text, String(number))
    return number
  }

  /** Throws InvalidError for a value that nobody can have typed on purpose. */
  #judge({ key }: Place, value: unknown) {
    if (typeof value !== 'number') return
    const { most } = this.#table.columns[key] ?? {}
    if (this.#isTime(key) && !(value >= 0 && value < Date.now() + DAY_MS)) {
      throw new InvalidError('must be from 1970 to tomorrow')
    }
    if (value < 0 || (most !== undefined && value > most)) {
      throw new InvalidError(most === undefined ? 'must not be negative' : `must be 0 to ${most}`)
    }
  }
}

/** How many numbers a reason names. */
const MAX_NUMBERS = 10

const SHORTENED = 1e-9

function isSameProgram(before: unknown, given: unknown): boolean {
  if (isBlank(before) || isBlank(given)) return isBlank(before) && isBlank(given)
  return programKey(String(before)) === programKey(String(given))
}

function isBlank(value: unknown): boolean {
  return value === undefined || value === null || value === '' || value === 0 || value === false
}

/** A text as spreadsheets may have changed it: they take the zeros from what looks like a number. */
function plain(text: string): string {
  const spaced = text.replaceAll('\u00a0', ' ').trim().normalize('NFC')
  return /^0+\d+$/.test(spaced) ? String(Number(spaced)) : spaced
}

function minuteNumber(at: unknown): number | undefined {
  return typeof at === 'number' ? Math.floor(at / MINUTE_MS) : undefined
}

function isBreak(key: string): boolean {
  return key.startsWith('break ')
}

function placeOf({ columns, hasBreaks }: Table, written: string): Place | undefined {
  const title = written.trim()
  const isEqual = (one: string) => normal(one) === normal(title)
  for (const [key, { title: ours, units = {} }] of Object.entries(columns)) {
    if (isEqual(ours)) return { title: ours, key, factor: 1 }
    const base = ours.replace(/ \(.*\)$/, '')
    const unit = Object.keys(units).find(one => isEqual(`${base} (${one})`))
    if (unit !== undefined) return { title, key, factor: units[unit] ?? 1 }
  }
  const isOfBreak = hasBreaks && /^break \d{1,2} (?:from|to)$/i.test(title)
  return isOfBreak ? { title, key: normal(title), factor: 1 } : undefined
}

/** Which of our columns may be meant by a title that is none of them: it begins alike, and is not there. */
function meantBy({ columns, derived }: Table, title: string, keys: ReadonlySet<string>): string | undefined {
  const start = normal(title).slice(0, 3)
  if (start.length < 3) return undefined
  const found = Object.entries(columns).find(
    ([key, { title: ours }]) =>
      !keys.has(key) && !derived.includes(ours) && normal(ours) !== normal(title) && normal(ours).startsWith(start),
  )
  return found?.[1].title
}

function converted(number: number, factor: number): number {
  return Math.round(number * factor * 1e6) / 1e6
}

function within<Value>(title: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw error instanceof InvalidError ? error.within(title) : error
  }
}
