import { MINUTE_MS, type StoredRecords } from './stored-records.ts'

/** What rows of a table say together: each may be right alone. */

/** A row whose cells were read. */
export interface ReadRow {
  readonly line: number
  readonly bytes: Buffer
  readonly values: Readonly<Record<string, unknown>>
  /** In which it began, as it is written. */
  readonly minute: string
  /** Of the stored record that it is. */
  readonly id: number | undefined
  readonly hasNumber: boolean
  /** Whether a table made that record, or would: then the row must make sense. */
  readonly isJudged: boolean
  readonly isReadable: boolean
}

/** Why rows cannot be stored beside others of the file, or beside what is stored, by their lines. */
export function contradictions(
  rows: readonly ReadRow[],
  stored: StoredRecords,
  isOfLocks: boolean,
): Map<number, string> {
  const faults = new Map<number, string>()
  if (isOfLocks) overlaps(rows, stored, faults)
  for (const [minute, [first, ...others]] of Map.groupBy(
    rows.filter(({ hasNumber }) => !hasNumber),
    row => row.minute,
  )) {
    const [second] = others
    if (minute === '' || first === undefined || second === undefined) continue
    for (const { line } of [first, ...others]) {
      const other = line === first.line ? second.line : first.line
      faults.set(line, `begins in the same minute as line ${other}: one of them must be changed or removed`)
    }
  }
  return faults
}

interface Span {
  readonly from: number
  readonly to: number
  readonly name: string
  /** Of a row of the file. */
  readonly line?: number
}

/** Two locks cannot be at the same time, practice locks aside, and only the newest can be without an end. */
function overlaps(rows: readonly ReadRow[], stored: StoredRecords, faults: Map<number, string>) {
  const replaced = new Set(rows.map(({ id }) => id))
  const spans: Span[] = rows.flatMap(({ line, values: { started, ended = Infinity } }) =>
    typeof started === 'number' ? [{ from: started, to: Number(ended), name: `the lock of line ${line}`, line }] : [],
  )
  for (const { id, at, end, isPractice } of stored.all) {
    if (!isPractice && !replaced.has(id) && end > at) spans.push({ from: at, to: end, name: `the stored lock ${id}` })
  }
  const blame = ({ line }: Span, reason: string) => line !== undefined && !faults.has(line) && faults.set(line, reason)
  let last: Span | undefined
  for (const span of spans.toSorted((a, b) => a.from - b.from)) {
    if (last?.to === Infinity) {
      blame(last, `Ended is missing: only the newest lock can be without, and ${span.name} is newer`)
      // A stored lock that runs may have ended since: who types a later one knows when.
      if (last.line === undefined) blame(span, `begins while ${last.name} runs: bring its end first`)
    } else if (last !== undefined && span.from < last.to) {
      blame(span, `overlaps ${last.name}`)
      blame(last, `overlaps ${span.name}`)
    }
    if (last === undefined || (last.to === Infinity && last.line !== undefined) || span.to > last.to) last = span
  }
}

/** By how many minutes many new sessions begin after stored ones, or before them: their zone may be another one. */
export function offsetOf(rows: readonly ReadRow[], stored: StoredRecords) {
  const minutes = rows.flatMap(({ id, values: { recorded, started } }) => {
    const at = recorded ?? started
    return id === undefined && typeof at === 'number' ? [Math.floor(at / MINUTE_MS)] : []
  })
  const counts = new Map<number, number>()
  for (const minute of minutes) {
    for (let offset = -MAX_OFFSET; offset <= MAX_OFFSET; offset += OFFSET_STEP) {
      if (offset !== 0 && stored.inMinute(minute - offset).length > 0) counts.set(offset, (counts.get(offset) ?? 0) + 1)
    }
  }
  const [offset, count] = [...counts].toSorted(([, a], [, b]) => b - a)[0] ?? [0, 0]
  return count >= MIN_OFFSET_ROWS && count * 2 >= minutes.length ? { minutes: offset, count } : undefined
}

/** Zones differ by quarters of an hour, up to 26 hours. */
const OFFSET_STEP = 15
const MAX_OFFSET = 26 * 60
const MIN_OFFSET_ROWS = 3
