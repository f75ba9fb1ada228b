import type { Leniency } from '../archive/notes.ts'
import type { NoteCounts } from '../archive/report.ts'

/** Lines that say where records differed from the format. */
export function deviationLines(
  report: ReturnType<NoteCounts['list']> & {
    readonly kinds: readonly { readonly kind: string; readonly deleted?: number }[]
  },
): string[] {
  return [
    ...report.kinds.flatMap(({ kind, deleted = 0 }) =>
      deleted === 0 ? [] : [`${kind}: ${deleted} deleted here, left out (lockstep record list)`],
    ),
    ...report.extra.map(
      ({ kind, field, count }) => `${kind}: unknown field ${field} kept as an extra field (${inRecords(count)})`,
    ),
    ...report.leniencies.map(({ kind, rule, count }) => `${kind}: ${CONVERSIONS[rule]} (${inRecords(count)})`),
  ]
}

const CONVERSIONS: Readonly<Record<Leniency, string>> = {
  'beyond-milliseconds': 'digits beyond milliseconds cut off',
  'no-zone': 'instant without a zone read as UTC',
  fraction: 'fraction rounded to an integer',
  'null-number': 'null read as 0',
  missing: 'field left out by the source stored as empty',
  'other-type': 'value of another type kept as an extra field, and sent as null',
  'unknown-tier': 'unknown tier kept, which grants nothing',
  'not-started': 'session that has not started skipped',
}

function inRecords(count: number): string {
  return count === 1 ? 'in 1 record' : `in ${count} records`
}
