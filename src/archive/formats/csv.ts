import { type CsvError, parse } from 'csv-parse'
import { finished } from 'node:stream/promises'
import { FormatError } from './errors.ts'
import { MAX_LINE_BYTES } from '../lines.ts'

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

export interface CsvRow {
  /** Of the line that the row begins in. */
  readonly number: number
  /** Without the marks of text. */
  readonly cells: readonly string[]
  /** As it is in the file. */
  readonly text: string
  readonly fault?: string
}

/** The rows of a file, a batch for each chunk. Blank rows are skipped. Throws FormatError if it is not UTF-8. */
export async function* csvRows(chunks: AsyncIterable<Buffer>, delimiter: CsvDelimiter): AsyncGenerator<CsvRow[]> {
  let rows: CsvRow[] = []
  let last = 0
  const add = (end: number, raw: string, row: Pick<CsvRow, 'cells' | 'fault'>) => {
    const text = raw.replaceAll(/^[\r\n]+|[\r\n]+$/g, '')
    const number = end - (text.match(/\r\n|\r|\n/g)?.length ?? 0)
    // What is too long is reported again and again.
    if (number > last) rows.push({ number, text, ...row })
    last = number
  }
  const parser = parse({
    delimiter,
    bom: true,
    raw: true,
    record_delimiter: ['\r\n', '\n', '\r'],
    relax_column_count: true,
    skip_empty_lines: true,
    skip_records_with_empty_values: true,
    skip_records_with_error: true,
    max_record_size: MAX_LINE_BYTES,
    on_record: (given: unknown, { lines, raw = '' }) => {
      // With `raw`, it is in an object.
      const { record } = given as { readonly record: readonly string[] }
      add(lines, raw, { cells: record.map(cell => cell.replace(/^'(?='*[=+\-@\t\r])/, '')) })
      return null
    },
    on_skip: (error, raw = '') => {
      if (error !== undefined) add(Number(error['lines']), raw, { cells: [], fault: faultOf(error) })
    },
  })
  parser.resume()
  for await (const text of decodeText(chunks)) {
    await new Promise(resolve => parser.write(text, resolve))
    yield rows
    rows = []
  }
  await finished(parser.end())
  yield rows
}

function faultOf({ code }: CsvError): string {
  if (code === 'CSV_MAX_RECORD_SIZE') return 'is longer than 1 MiB'
  if (code === 'CSV_QUOTE_NOT_CLOSED')
    return 'has a quotation mark without a second one: add it, or remove the first one'
  return 'has a quotation mark within a cell: write it twice, and put the whole cell in quotation marks'
}

export async function* decodeText(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  try {
    for await (const chunk of chunks) yield decoder.decode(chunk, { stream: true })
    yield decoder.decode()
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    throw new FormatError('this is text in another encoding: save it as CSV UTF-8', { cause: error })
  }
}
