import { isUtf8 } from 'node:buffer'
import { MAX_LINE_BYTES } from './lines.ts'

/** CSV files (RFC 4180), as the pages write them and as spreadsheets save them. */

export type CsvCells = readonly (string | number | null)[]

/** A line of a CSV file. Text that spreadsheets would run as a formula is marked as text. */
export function csvLine(cells: CsvCells): string {
  return `${cells.map(cellText).join(',')}\r\n`
}

function cellText(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const plain = value.replaceAll('\u00a0', ' ')
  const text = /^'*[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** The characters between cells. Spreadsheets of many languages write semicolons. */
export const csvDelimiters = [',', ';', '\t'] as const
export type CsvDelimiter = (typeof csvDelimiters)[number]

/** More cells than a table of records has. */
export const MAX_CELLS = 200

/** The cells of a row, at most one more than MAX_CELLS, without the mark of text. */
export function csvCells(row: string, delimiter: CsvDelimiter): string[] {
  const cells: string[] = []
  for (let at = 0; at <= row.length && cells.length <= MAX_CELLS;) {
    let text = ''
    if (row[at] === '"') {
      const close = closingQuote(row, at + 1)
      text = row.slice(at + 1, close).replaceAll('""', '"')
      at = close + 1
    }
    const end = row.indexOf(delimiter, at)
    const stop = end === -1 ? row.length : end
    text += row.slice(at, stop)
    cells.push(text.replace(/^'(?='*[=+\-@\t\r])/, ''))
    at = stop + 1
  }
  return cells
}

function closingQuote(row: string, from: number): number {
  for (let at = row.indexOf('"', from); at !== -1; at = row.indexOf('"', at + 2)) if (row[at + 1] !== '"') return at
  return row.length
}

export interface CsvRow {
  /** Of the line that the row begins in. */
  readonly number: number
  readonly text: string
  /** Why it cannot be read. */
  readonly fault?: string
  readonly bytes?: Buffer
}

/** Splits bytes into rows, a batch for each chunk, and holds one row in memory. Blank rows are skipped. */
export async function* csvRows(chunks: AsyncIterable<Buffer>): AsyncGenerator<CsvRow[]> {
  const splitter = new RowSplitter()
  for await (const chunk of chunks) yield splitter.read(chunk)
  yield splitter.end()
}

class RowSplitter {
  #parts: Buffer[] = []
  #length = 0
  #isQuoted = false
  /** The number of the line that is read, and of that in which the row began. */
  #line = 1
  #first = 1

  read(chunk: Buffer): CsvRow[] {
    const rows: CsvRow[] = []
    let from = 0
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index]
      if (byte === QUOTE) this.#isQuoted = !this.#isQuoted
      if (byte !== NEWLINE) continue
      this.#line += 1
      if (this.#isQuoted) continue
      this.#add(chunk.subarray(from, index))
      rows.push(...this.#finish())
      from = index + 1
    }
    this.#add(chunk.subarray(from))
    return rows
  }

  end(): CsvRow[] {
    if (!this.#isQuoted) return this.#finish()
    return [{ number: this.#first, text: '', fault: 'has a quotation mark without a second one' }]
  }

  #add(part: Buffer) {
    this.#length += part.length
    if (this.#length > MAX_LINE_BYTES) this.#parts = []
    else if (part.length > 0) this.#parts.push(part)
  }

  #finish(): CsvRow[] {
    if (this.#length === 0) {
      this.#first = this.#line
      return NO_ROWS
    }
    const [number, bytes, length] = [this.#first, Buffer.concat(this.#parts), this.#length]
    this.#parts = []
    this.#length = 0
    this.#first = this.#line
    if (length > MAX_LINE_BYTES) return [{ number, text: '', fault: 'is longer than 1 MiB' }]
    if (!isUtf8(bytes)) return [{ number, text: '', fault: 'is not valid UTF-8', bytes }]
    const text = bytes
      .toString('utf8')
      .replace(/^\uFEFF/, '')
      .replace(/\r$/, '')
    return /^[\s,;]*$/.test(text) ? [] : [{ number, text, bytes }]
  }
}

const NO_ROWS: CsvRow[] = []
const QUOTE = 0x22
const NEWLINE = 0x0a
