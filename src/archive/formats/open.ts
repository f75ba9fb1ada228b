import { type LinesOf, readLines } from '../lines.ts'
import { isObject } from '../values.ts'
import { FormatError } from './errors.ts'
import { foreignFormat } from './foreign.ts'
import { type ResponseOptions, responseLines } from './responses.ts'
import { findTable, type Found, newFound, tableLines, type TableOptions } from './table-lines.ts'
import { counting, type Decrypt, unwrap } from './unwrap.ts'

export interface FormatOptions extends ResponseOptions, Partial<TableOptions> {
  readonly decrypt: Decrypt
  /** Called with all that is read, as it is after `decrypt`; what it throws ends the reading. */
  readonly onRead?: (chunk: Buffer) => void
}

/** A file as lines of an archive. */
export interface Records {
  readonly format: 'archive' | 'responses' | 'table'
  readonly lines: LinesOf
  readonly found: Found
}

/** Finds out by its content what a file is. Throws FormatError, also while its lines are read, and the errors of `decrypt`. */
export async function openRecords(file: AsyncIterable<Buffer>, options: FormatOptions): Promise<Records> {
  const { onRead, found = newFound() } = options
  const { start, chunks: unwrapped } = await unwrap(file, options.decrypt)
  const chunks = onRead === undefined ? unwrapped : counting(unwrapped, onRead)
  const foreign = foreignFormat(start)
  if (foreign !== undefined) throw new FormatError(foreign)
  const isJson = /^\uFEFF?\s*[[{]/.test(start.toString('utf8', 0, 1000))
  if (isJson && !isArchive(start)) return { format: 'responses', lines: () => responseLines(chunks, options), found }
  const table = isArchive(start) ? undefined : findTable(start)
  if (table === undefined) {
    if (isText(start)) throw new FormatError(UNKNOWN)
    return { format: 'archive', lines: () => readLines(chunks), found }
  }
  return { format: 'table', lines: context => tableLines(chunks, table, { ...options, found }, context), found }
}

const UNKNOWN =
  'this is neither an archive, nor saved responses, nor a table: a table begins with titles of columns, such as Recorded and Passed, or Started and Ended'

/** Whether it is text, of which no line looks like one of an archive. */
function isText(start: Buffer): boolean {
  const text = start.toString('utf8')
  // A first line that does not end is too long, whatever it is.
  const hasLine = text.trim().includes('\n')
  const isReadable = !text.includes('\uFFFD') && !text.includes('\0')
  return hasLine && isReadable && !/^\uFEFF?\s*\{/m.test(text)
}

/** Whether the first line is one of an archive, or may be one that is damaged. */
function isArchive(start: Buffer): boolean {
  const [first = ''] = start
    .toString('utf8')
    .replace(/^\uFEFF?\s*/, '')
    .split('\n', 1)
  if (/^\{\s*"kind"\s*:/.test(first)) return true
  try {
    const line: unknown = JSON.parse(first)
    return isObject(line) && ('kind' in line || Object.keys(line).length === 0)
  } catch {
    return false
  }
}
