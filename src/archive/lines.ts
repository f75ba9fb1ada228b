import { isUtf8 } from 'node:buffer'
import type { Kysely } from 'kysely'
import type { Tables } from '../store/tables.ts'

export const MAX_LINE_BYTES = 1024 * 1024

export function isTooLong(text: string | Buffer): boolean {
  // A UTF-16 code unit takes at most three bytes.
  return text.length > MAX_LINE_BYTES / 3 && Buffer.byteLength(text) > MAX_LINE_BYTES
}

/** A line of an archive: its text, or why it is not text. */
export interface Line {
  readonly number: number
  readonly text: string | undefined
  readonly fault: string | undefined
  /** What the line is as JSON, where that is known without its text. */
  readonly envelope?: unknown
  /** The bytes of a line that is not text, unless there are too many. */
  readonly bytes?: Buffer
}

/** Lines in batches, with which an import pauses. */
export type Lines = AsyncIterable<readonly Line[]>

/** Reads lines; those of tables are compared with stored records, and new ones need no numbers in a preview. */
export type LinesOf = (context: { readonly db: Kysely<Tables>; readonly isPreview?: boolean | undefined }) => Lines

/**
 * Splits bytes into lines, a batch for each chunk, and holds one line in memory. Removes a byte-order mark at the start
 * and carriage returns. Blank lines are skipped but count in line numbers.
 */
export async function* readLines(chunks: AsyncIterable<Buffer>): AsyncGenerator<Line[]> {
  let number = 0
  let pending: Buffer[] = []
  let pendingBytes = 0

  const finish = (last: Buffer): Line | undefined => {
    number += 1
    if (pendingBytes + last.length === 0) return undefined
    const tooLong = pendingBytes + last.length > MAX_LINE_BYTES + NOT_COUNTED
    const bytes = pending.length === 0 ? last : Buffer.concat([...pending, last])
    pending = []
    pendingBytes = 0
    return tooLong ? fault(number, 'is longer than 1 MiB') : decode(number, bytes)
  }

  for await (const chunk of chunks) {
    const lines: Line[] = []
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, start)) {
      const line = finish(chunk.subarray(start, end))
      if (line !== undefined) lines.push(line)
      start = end + 1
    }
    const rest = chunk.subarray(start)
    pendingBytes += rest.length
    // Only the length of a line that is too long matters.
    if (pendingBytes > MAX_LINE_BYTES + NOT_COUNTED) pending = []
    else if (rest.length > 0) pending.push(rest)
    if (lines.length > 0) yield lines
  }
  if (pendingBytes > 0) {
    const line = finish(Buffer.alloc(0))
    if (line !== undefined) yield [line]
  }
}

const NEWLINE = 0x0a
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])
// A byte-order mark and a carriage return do not count in the length of a line.
const NOT_COUNTED = BYTE_ORDER_MARK.length + 1

function decode(number: number, bytes: Buffer): Line | undefined {
  let line = bytes
  if (number === 1 && line.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK)) {
    line = line.subarray(BYTE_ORDER_MARK.length)
  }
  if (line.at(-1) === 0x0d) line = line.subarray(0, -1)
  if (line.length > MAX_LINE_BYTES) return fault(number, 'is longer than 1 MiB')
  if (!isUtf8(line)) return fault(number, 'is not valid UTF-8', line)
  if (line.includes(0)) return fault(number, 'contains a NUL byte', line)
  const text = line.toString('utf8')
  return /^[ \t]*$/.test(text) ? undefined : { number, text, fault: undefined }
}

function fault(number: number, reason: string, bytes?: Buffer): Line {
  return { number, text: undefined, fault: reason, ...(bytes === undefined ? {} : { bytes }) }
}
