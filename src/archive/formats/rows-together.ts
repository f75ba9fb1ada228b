import { MINUTE_MS } from '../../contract/time.ts'
import { BESIDE_MINUTES } from '../made-here.ts'
import type { Known, StoredRecords } from './stored-records.ts'

/** What rows of a table say together: each may be right alone. */

export interface ReadRow {
  readonly line: number
  readonly bytes: Buffer
  readonly values: Readonly<Record<string, unknown>>
  /** In which it began, as it is written, and the instant. */
  readonly minute: string | undefined
  readonly at: unknown
  /** The record that it is; undefined for a new one. */
  readonly known: Known | undefined
  /** Its number, which a new one gets when all rows are read. */
  id: number | undefined
  fault: string | undefined
}

/** Notes why rows cannot be stored beside others of the file, or beside what is stored. */
export function noteContradictions(rows: readonly ReadRow[], stored: StoredRecords, isOfLocks: boolean) {
  if (isOfLocks) noteOverlaps(rows, stored)
  const unnumbered = rows.filter(({ values }) => !('number' in values))
  for (const [first, ...others] of Map.groupBy(unnumbered, ({ minute }) => minute).values()) {
    const [second] = others
    if (first === undefined || second === undefined) continue
    for (const row of [first, ...others]) {
      const other = row === first ? second : first
      row.fault = `begins in the same minute as line ${other.line}: one of them must be changed or removed`
    }
  }
}

interface Span {
  readonly from: number
  readonly to: number
  readonly name: string
  /** Of the file. */
  readonly row?: ReadRow
}

/** Two locks cannot be at the same time, practice locks aside, and only the newest can be without an end. */
function noteOverlaps(rows: readonly ReadRow[], stored: StoredRecords) {
  const replaced = new Set(rows.map(({ id }) => id))
  const spans: Span[] = [
    ...rows.map(row => {
      const { started, ended = Infinity } = row.values
      return { from: Number(started), to: Number(ended), name: `the lock of line ${row.line}`, row }
    }),
    ...stored.locks
      .filter(({ id }) => !replaced.has(id))
      .map(({ id, ...span }) => ({ ...span, name: `the stored lock ${id}` })),
  ]
  const blame = ({ row }: Span, reason: string) => {
    if (row !== undefined) row.fault ??= reason
  }
  let last: Span | undefined
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    if (last?.to === Infinity) {
      blame(last, `Ended is missing: only the newest lock may lack it, and ${span.name} is newer`)
      // A stored lock that runs may have ended since: who types a later one knows when.
      if (last.row === undefined) blame(span, `begins while ${last.name} runs: bring its end first`)
    } else if (last !== undefined && span.from < last.to) {
      blame(span, `must not overlap ${last.name}`)
      blame(last, `must not overlap ${span.name}`)
    }
    if (last === undefined || (last.to === Infinity && last.row !== undefined) || span.to > last.to) last = span
  }
}

/** The lines of new sessions that begin within a quarter of an hour of a stored one that no table made. */
export function linesBeside(rows: readonly ReadRow[], stored: StoredRecords): number[] {
  const offsets = Array.from({ length: 2 * BESIDE_MINUTES + 1 }, (_, index) => index - BESIDE_MINUTES)
  const isCopied = ({ minute, isDeleted }: Known) => minute === undefined && !isDeleted
  return rows
    .filter(({ known, fault }) => known === undefined && fault === undefined)
    .filter(({ at }) =>
      offsets.some(offset => stored.inMinute(Math.floor(Number(at) / MINUTE_MS) + offset).some(isCopied)),
    )
    .map(({ line }) => line)
}

/** By how many minutes many new sessions begin after stored ones, or before them: their zone may be another one. */
export function offsetOf(rows: readonly ReadRow[], stored: StoredRecords) {
  const minutes = rows.filter(({ known }) => known === undefined).map(({ at }) => Math.floor(Number(at) / MINUTE_MS))
  const counts = new Map<number, number>()
  for (const minute of minutes) {
    for (let offset = -MAX_OFFSET; offset <= MAX_OFFSET; offset += OFFSET_STEP) {
      const isBeside = offset !== 0 && stored.inMinute(minute - offset).some(({ isDeleted }) => !isDeleted)
      if (isBeside) counts.set(offset, (counts.get(offset) ?? 0) + 1)
    }
  }
  const [offset, count] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? [0, 0]
  return count >= MIN_OFFSET_ROWS && count * 2 >= minutes.length ? { minutes: offset, count } : undefined
}

/** Zones differ by quarters of an hour, up to 26 hours. */
const OFFSET_STEP = 15
const MAX_OFFSET = 26 * 60
const MIN_OFFSET_ROWS = 3
