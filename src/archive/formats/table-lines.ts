import { type CsvDelimiter, csvCells, csvDelimiters, type CsvRow, csvRows, MAX_CELLS } from '../csv.ts'
import { Faults, InvalidError } from '../faults.ts'
import type { Line, Lines } from '../lines.ts'
import { instantCell } from './cells.ts'
import { FormatError, UnclearOwnerError } from './errors.ts'
import { type Break, numberOf, type Table, tables } from './tables.ts'

/** What is found while a file is read. */
export interface Found {
  /** Whether times without a zone were read in the zone of the account. */
  usesTimeZone: boolean
  /** The titles of columns that records do not have. */
  notRead: readonly string[]
}

interface FoundTable {
  readonly table: Table
  readonly delimiter: CsvDelimiter
}

/** The table whose header a file begins with; undefined if it does not begin as a table. Throws FormatError for tables without records. */
export function findTable(start: Buffer): FoundTable | undefined {
  const [first = ''] = start
    .toString('utf8')
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/, 1)
  const headers = csvDelimiters.map(delimiter => ({ delimiter, titles: titlesOf(csvCells(first, delimiter)) }))
  if (first === '' || first.startsWith('{')) return undefined
  const widest = Math.max(...headers.map(({ titles }) => titles.length))
  if (widest > MAX_CELLS) throw new FormatError(`the table has more than ${MAX_CELLS} columns`)
  for (const { delimiter, titles } of headers) {
    const table = tables.find(({ recognised }) => recognised.every(title => titles.includes(title.toLowerCase())))
    if (table !== undefined) return { table, delimiter }
  }
  // Two cells may also be a damaged line of an archive.
  const isTable = widest > 2 || (widest === 2 && !start.includes('{'))
  // No table has NUL in its text: these bytes are something else.
  if (!isTable || first.includes('\0')) return undefined
  const needed = tables.map(({ recognised }) => recognised.join(' and ')).join(', or ')
  throw new FormatError(`this looks like a table, but its first line has no columns named ${needed}`)
}

function titlesOf(cells: readonly string[]): string[] {
  return cells.map(cell => cell.trim().toLowerCase())
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
  for await (const rows of csvRows(chunks)) {
    const lines: Line[] = []
    for (const row of rows) {
      if (reader !== undefined) lines.push(reader.read(row))
      else reader = new RowReader({ table, delimiter, account, header: csvCells(row.text, delimiter), options })
    }
    yield lines
  }
}

interface ReaderOptions extends FoundTable {
  readonly account: number
  readonly header: readonly string[]
  readonly options: TableOptions
}

class RowReader {
  readonly #table: Table
  readonly #delimiter: CsvDelimiter
  readonly #account: number
  readonly #found: Found
  readonly #context: { readonly timeZone: string; usesTimeZone: boolean }
  /** What each cell of a row is: a key of the columns, or a break. */
  readonly #cells: readonly (string | BreakColumn | undefined)[]
  /** How often rows without a number occurred, by the number that they get. */
  readonly #occurrences = new Map<number, number>()

  constructor({ table, delimiter, account, header, options }: ReaderOptions) {
    this.#table = table
    this.#delimiter = delimiter
    this.#account = account
    this.#found = options.found
    this.#context = { timeZone: options.timeZone ?? 'UTC', usesTimeZone: false }
    const keys = new Map(Object.entries(table.columns).map(([key, { title }]) => [title.toLowerCase(), key]))
    this.#cells = titlesOf(header).map(title => keys.get(title) ?? (table.hasBreaks ? breakColumn(title) : undefined))
    const derived = [...table.derived, ...(this.#cells.includes('number') ? table.derivedIfNumbered : [])]
    this.#found.notRead = header
      .map(title => title.trim())
      .filter((title, index) => title !== '' && (this.#cells[index] === undefined || derived.includes(title)))
  }

  read({ number, text, fault, bytes }: CsvRow): Line {
    const raw = bytes === undefined ? {} : { bytes }
    if (fault !== undefined) return { number, text: undefined, fault, ...raw }
    try {
      const line = this.#lineOf(csvCells(text, this.#delimiter))
      this.#found.usesTimeZone ||= this.#context.usesTimeZone
      return { number, fault: undefined, ...line }
    } catch (error) {
      if (!(error instanceof InvalidError)) throw error
      return { number, text: undefined, fault: error.message, ...raw }
    }
  }

  #lineOf(cells: readonly string[]): Pick<Line, 'text' | 'isPartial'> {
    const { columns, required, line } = this.#table
    const faults = new Faults()
    const values: Record<string, unknown> = {}
    const breaks: Partial<Record<'from' | 'to', number>>[] = []
    const content: string[] = []
    for (const [index, cell] of cells.entries()) {
      const key = this.#cells[index]
      const text = cell.trim()
      if (text !== '' && index >= this.#cells.length) throw new InvalidError('has more cells than the first line')
      if (text === '' || key === undefined) continue
      if (typeof key === 'string') {
        const { title = '', type } = columns[key] ?? {}
        values[key] = faults.collect(() => readCell(title, () => type?.read(text, this.#context)))
        content.push(`${title}: ${text}`)
      } else {
        const title = `Break ${key.index} ${key.end}`
        const at = faults.collect(() => readCell(title, () => instantCell.read(text, this.#context))) ?? 0
        breaks[key.index] = { ...breaks[key.index], [key.end]: at }
        content.push(`${title}: ${text}`)
      }
    }
    for (const key of required) {
      if (!(key in values)) faults.add(new InvalidError('is missing', columns[key]?.title))
    }
    faults.throwIfAny()
    const given = values['number']
    const id = typeof given === 'number' ? given : this.#numberOf(content.toSorted().join('\n'))
    const record = line(values, { id, account: this.#account, breaks: completed(breaks) })
    return { text: JSON.stringify(record), ...(typeof given === 'number' ? { isPartial: true } : {}) }
  }

  /** Equal rows of a file are different records. */
  #numberOf(content: string): number {
    const first = numberOf(this.#table, this.#account, content, 0)
    const occurrence = this.#occurrences.get(first) ?? 0
    this.#occurrences.set(first, occurrence + 1)
    if (this.#occurrences.size > MAX_ROWS)
      throw new FormatError(`the table has more than ${MAX_ROWS} rows without a number`)
    return occurrence === 0 ? first : numberOf(this.#table, this.#account, content, occurrence)
  }
}

/** People fill in fewer rows. */
const MAX_ROWS = 200_000

interface BreakColumn {
  readonly index: number
  readonly end: 'from' | 'to'
}

function breakColumn(title: string): BreakColumn | undefined {
  const [, index = '', end] = /^break (\d{1,2}) (from|to)$/.exec(title) ?? []
  return end === 'from' || end === 'to' ? { index: Number(index), end } : undefined
}

function completed(breaks: readonly (Partial<Break> | undefined)[]): Break[] {
  return breaks
    .filter(one => one !== undefined)
    .map(({ from, to }) => {
      if (from === undefined || to === undefined) throw new InvalidError('must have a start and an end', 'breaks')
      return { from, to }
    })
}

function readCell<Value>(title: string, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw error instanceof InvalidError ? error.within(title) : error
  }
}
