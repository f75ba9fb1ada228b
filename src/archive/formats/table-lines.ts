import { parse } from 'csv-parse/sync'
import { DAY_MS } from '../../contract/time.ts'
import { type CsvDelimiter, csvDelimiters, type CsvRow, csvRows } from '../csv.ts'
import { Faults, InvalidError } from '../faults.ts'
import type { Line, Lines } from '../lines.ts'
import { instantCell, minuteOf, numberCell, secondsCell } from './cells.ts'
import { FormatError, UnclearOwnerError } from './errors.ts'
import { type Break, numberOf, type Table, tables } from './tables.ts'

/** What is found while a file is read. */
export interface Found {
  /** Whether times without a zone were read in the zone of the account. */
  usesTimeZone: boolean
  /** The titles of columns that records do not have. */
  notRead: readonly string[]
  /** What was done to values, and how often. */
  readonly converted: Map<string, number>
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
  if (widest > MAX_CELLS) throw new FormatError(`the table has more than ${MAX_CELLS} columns`)
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
    `this looks like a table, but its first line has no columns named ${needed}: the page Source has such first lines`,
  )
}

/** A table may have a heading, which must be removed. */
const MAX_LINES_ABOVE = 20
/** More cells than a table of records has. */
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

interface TableOptions {
  readonly account?: number | undefined
  readonly timeZone?: string | undefined
  readonly found: Found
}

/** The rows of a table as lines of an archive. */
export async function* tableLines(
  chunks: AsyncIterable<Buffer>,
  { table, delimiter }: FoundTable,
  options: TableOptions,
): Lines {
  const { account } = options
  if (account === undefined) throw new UnclearOwnerError()
  let reader: RowReader | undefined
  const kept: Line[] = []
  for await (const rows of csvRows(chunks, delimiter)) {
    const lines: Line[] = []
    for (const row of rows) {
      if (reader !== undefined) lines.push(reader.read(row))
      else reader = new RowReader({ table, delimiter, account, header: row.cells, options })
    }
    // Whether a lock overlaps another one is known at the end.
    if (table.hasBreaks) kept.push(...lines)
    else yield lines
  }
  const faults = reader?.overlaps() ?? new Map<number, string>()
  yield kept.map(line => {
    const fault = faults.get(line.number)
    return fault === undefined ? line : { ...line, text: undefined, fault }
  })
}

interface ReaderOptions extends FoundTable {
  readonly account: number
  readonly header: readonly string[]
  readonly options: TableOptions
}

/** Where a value of a row is, and in which unit. */
interface Place {
  readonly title: string
  /** The key of a column, or of a time of a break. */
  readonly key: string
  readonly factor: number
}

interface Span {
  readonly line: number
  readonly from: number
  readonly to: number
}

class RowReader {
  readonly #table: Table
  readonly #account: number
  readonly #found: Found
  readonly #context: Omit<Parameters<typeof instantCell.read>[1], 'after'>
  /** What each cell of a row is. */
  readonly #places: readonly (Place | undefined)[]
  /** The lines of the rows without a number, by the minute in which they began. */
  readonly #minutes = new Map<string, number>()
  readonly #spans: Span[] = []

  constructor({ table, delimiter, account, header, options }: ReaderOptions) {
    this.#table = table
    this.#account = account
    this.#found = options.found
    const note = (what: string) => void options.found.converted.set(what, (options.found.converted.get(what) ?? 0) + 1)
    this.#context = { timeZone: options.timeZone ?? 'UTC', delimiter, usesTimeZone: false, note }
    this.#places = header.map(title => placeOf(table, title))
    for (const [index, place] of this.#places.entries()) {
      const other = place && this.#places.findIndex(one => one?.key === place.key)
      if (other === undefined || other === index) continue
      throw new FormatError(`the column ${place?.title} is there twice: remove one, or give it another title`)
    }
    const isNumbered = this.#places.some(place => place?.key === 'number')
    const derived = [...table.derived, ...(isNumbered ? table.derivedIfNumbered : [])]
    this.#found.notRead = header
      .map(title => title.trim())
      .filter((title, index) => title !== '' && (this.#places[index] === undefined || derived.includes(title)))
      .map(title => nameHint(table, title, this.#places))
  }

  read({ number, cells, text, fault }: CsvRow): Line {
    const raw = { bytes: Buffer.from(text) }
    if (fault !== undefined) return { number, text: undefined, fault, ...raw }
    try {
      const line = this.#lineOf(number, cells)
      this.#found.usesTimeZone ||= this.#context.usesTimeZone
      return { number, fault: undefined, ...line }
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error
      return { number, text: undefined, fault: error.message, ...raw }
    }
  }

  #lineOf(lineNumber: number, cells: readonly string[]): Pick<Line, 'text' | 'isPartial'> {
    const { required, line, columns } = this.#table
    if (cells.slice(this.#places.length).some(cell => cell.trim() !== '')) {
      throw new InvalidError('has more cells than the first line')
    }
    const given = new Map<string, Place & { readonly text: string }>()
    for (const [index, place] of this.#places.entries()) {
      const text = cells[index]?.trim() ?? ''
      if (place !== undefined && text !== '') given.set(place.key, { ...place, text })
    }
    const faults = new Faults()
    const values = this.#valuesOf(given, faults)
    for (const key of required) if (!given.has(key)) faults.add(new InvalidError('is missing', columns[key]?.title))
    faults.throwIfAny()
    const number = values['number']
    const isNumbered = typeof number === 'number'
    const id = isNumbered ? number : this.#numberOf(given.get(required[0])?.text ?? '', lineNumber)
    const record = line(values, { id, account: this.#account, breaks: breaksFrom(values) })
    const { started, ended = Infinity } = values
    if (!isNumbered && typeof started === 'number')
      this.#spans.push({ line: lineNumber, from: started, to: Number(ended) })
    return { text: JSON.stringify(record), ...(isNumbered ? { isPartial: true } : {}) }
  }

  /** Why locks that people filled in cannot have been: of two that overlap, each. */
  overlaps(): ReadonlyMap<number, string> {
    const faults = new Map<number, string>()
    let last: Span | undefined
    for (const span of this.#spans.toSorted((a, b) => a.from - b.from)) {
      if (last !== undefined && last.to === Infinity) {
        faults.set(
          last.line,
          `Ended is missing: only the newest lock can be without, and that of line ${span.line} is newer`,
        )
      } else if (last !== undefined && span.from < last.to) {
        faults.set(span.line, `overlaps the lock of line ${last.line}`)
        faults.set(last.line, `overlaps the lock of line ${span.line}`)
      }
      if (last === undefined || last.to === Infinity || span.to > last.to) last = span
    }
    return faults
  }

  /** The values of a row, in the order of its times: each begins where the one before it ended. */
  #valuesOf(given: ReadonlyMap<string, Place & { readonly text: string }>, faults: Faults): Record<string, unknown> {
    const values: Record<string, unknown> = {}
    const isTyped = !given.has('number')
    let after: number | undefined
    const order = (key: string) => (key === 'ended' ? 1e6 : Number(/^break (\d+) /.exec(key)?.[1] ?? -1))
    for (const [key, place] of [...given].toSorted(([a], [b]) => order(a) - order(b))) {
      const value = faults.collect(() => within(place.title, () => this.#valueOf(place, isTyped, after)))
      if (value !== undefined) values[key] = value
      if (typeof value === 'number' && this.#isTime(key)) after = value
    }
    return values
  }

  #isTime(key: string): boolean {
    return (this.#table.columns[key]?.type ?? instantCell) === instantCell
  }

  #valueOf({ key, title, factor, text }: Place & { readonly text: string }, isTyped: boolean, after?: number): unknown {
    const context = { ...this.#context, after }
    const { type = instantCell, most, title: ours } = this.#table.columns[key] ?? {}
    let value: unknown
    if (factor === 1) value = type.read(text, context)
    else {
      value = converted(numberCell.read(text, context), factor)
      if (type === secondsCell && !Number.isSafeInteger(value)) throw new InvalidError('must be whole seconds')
      context.note(`${title} to ${ours}`)
    }
    this.#context.usesTimeZone ||= context.usesTimeZone
    if (typeof value !== 'number' || !isTyped) return value
    if (type === instantCell && !(value >= 0 && value < Date.now() + DAY_MS)) {
      throw new InvalidError('must be from 1970 to tomorrow')
    }
    if (value < 0 || (most !== undefined && value > most)) {
      throw new InvalidError(most === undefined ? 'must not be negative' : `must be 0 to ${most}`)
    }
    return value
  }

  /** The number of a row without one. Throws InvalidError if another row began in the same minute. */
  #numberOf(began: string, lineNumber: number): number {
    const minute = minuteOf(began) ?? began
    const other = this.#minutes.get(minute)
    if (other !== undefined)
      throw new InvalidError(`begins in the same minute as line ${other}: one of them must be changed or removed`)
    this.#minutes.set(minute, lineNumber)
    if (this.#minutes.size > MAX_ROWS)
      throw new FormatError(`the table has more than ${MAX_ROWS} rows without a number`)
    return numberOf(this.#table, this.#account, minute)
  }
}

/** People fill in fewer rows. */
const MAX_ROWS = 200_000

function placeOf({ columns, hasBreaks }: Table, written: string): Place | undefined {
  const title = written.trim()
  const isSame = (one: string) => normal(one) === normal(title)
  for (const [key, { title: ours, units = {} }] of Object.entries(columns)) {
    if (isSame(ours)) return { title: ours, key, factor: 1 }
    const base = ours.replace(/ \(.*\)$/, '')
    const unit = Object.keys(units).find(one => isSame(`${base} (${one})`))
    if (unit !== undefined) return { title, key, factor: units[unit] ?? 1 }
  }
  const isBreak = hasBreaks && /^break \d{1,2} (?:from|to)$/i.test(title)
  return isBreak ? { title, key: normal(title), factor: 1 } : undefined
}

/** A title that is not read, with that of ours that may be meant: it begins alike, and is not there. */
function nameHint({ columns }: Table, title: string, places: readonly (Place | undefined)[]): string {
  const start = normal(title).slice(0, 3)
  const [, meant] =
    Object.entries(columns).find(
      ([key, one]) =>
        one.title !== title && normal(one.title).startsWith(start) && !places.some(place => place?.key === key),
    ) ?? []
  return meant === undefined || start.length < 3 ? title : `${title} (call it ${meant.title} to have it read)`
}

function converted(number: number, factor: number): number {
  return Math.round(number * factor * 1e6) / 1e6
}

function breaksFrom(values: Readonly<Record<string, unknown>>): Break[] {
  const ends = Object.keys(values).flatMap(key => /^break (\d+) /.exec(key)?.[1] ?? [])
  return [...new Set(ends)]
    .toSorted((a, b) => Number(a) - Number(b))
    .map(index => {
      const [from, to] = [values[`break ${index} from`], values[`break ${index} to`]]
      if (typeof from === 'number' && typeof to === 'number') return { from, to }
      throw new InvalidError('must have a start and an end', 'breaks')
    })
}

function within<Value>(title: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw error instanceof InvalidError ? error.within(title) : error
  }
}
