import type { LockSegment } from '../contract/lock-sessions.ts'
import type { TrainerSegment } from '../contract/training-sessions.ts'
import { roundedRatio, sum } from '../contract/numbers.ts'
import { type JsonObject, readInstant } from './values.ts'

/** The columns of a training session that statistics read. They are derived from the record alone. */
export const SESSION_COLUMNS = [
  'settings_id',
  'segments',
  'grade',
  'reps',
  'distance_um',
  'approximate',
  'kinds',
] as const

/** The derived columns of a lock template whose fields have been checked. */
export function templateColumns(template: JsonObject) {
  return {
    is_test_lock: template['isTestLock'] === true ? 1 : 0,
    is_time_displayed: template['isTimeDisplayed'] === false ? 0 : 1,
  }
}

/**
 * The derived columns of a training session whose fields have been checked. A segment that the source did not
 * grade has the grade 0 in the record; `isGraded` tells the two apart, by the index of the segment.
 */
export function sessionColumns(session: JsonObject, isGraded: (index: number) => boolean = () => true) {
  // Checked: each segment is a result with these fields.
  const results = (session['TrainerSegment'] as TrainerSegment[]).map((result, index) => ({
    ...result,
    grades: isGraded(index) ? [result.percentGrade] : [],
  }))
  const kinds = Map.groupBy(results, ({ type }) => type ?? '')
  const grades = results.flatMap(result => result.grades)
  return {
    settings_id: Number(session['settings_id']),
    segments: results.length,
    grade: roundedRatio(sum(grades), grades.length),
    reps: Number(session['repsMeasured']),
    distance_um: micrometres(session['distanceTravelled']),
    approximate: session['distanceApproximate'] === true ? 1 : 0,
    // Sorted by name: the order of segments depends on the source.
    kinds: JSON.stringify([...kinds].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(sumsOf)),
  }
}

/** The derived columns of a session; a grade that was null, as the extra fields say, counts as no grade. */
export function gradedColumns(session: JsonObject, extra: JsonObject) {
  // A session in canonical form has a list of results.
  const segments = session['TrainerSegment'] as readonly JsonObject[]
  return sessionColumns(
    session,
    index => segments[index]?.['percentGrade'] !== 0 || extra[`/TrainerSegment/${index}/percentGrade`] !== null,
  )
}

function sumsOf([kind, results]: readonly [
  string,
  readonly (TrainerSegment & { readonly grades: readonly number[] })[],
]) {
  const passed = results.filter(result => result.passed)
  const distances = results.flatMap(({ distanceTravelled }) => micrometres(distanceTravelled) ?? [])
  return [
    kind,
    results.length,
    passed.length,
    results.flatMap(({ grades }) => grades).toSorted((a, b) => a - b),
    passed.filter(({ grades }) => grades.length > 0).length,
    sum(results.map(({ repsMeasured }) => repsMeasured)),
    distances.length === 0 ? null : sum(distances),
    sum(results.map(({ durationMeasured }) => durationMeasured)),
    sum(results.map(({ points }) => points)),
  ]
}

/** Null for a distance too large for an integer: nobody travelled it. */
function micrometres(metres: unknown): number | null {
  const distance = typeof metres === 'number' ? Math.round(metres * 1_000_000) : null
  return Number.isSafeInteger(distance) ? distance : null
}

/** The events of a lock session whose fields have been checked, in the order they happened. */
export function lockEvents(session: JsonObject): string {
  // Checked: each event has these fields.
  const events = session['LockSegment'] as LockSegment[]
  return JSON.stringify(
    events
      .map(({ id, createdAt, isLocked, type }) => ({ id, at: readInstant(createdAt), isLocked, type }))
      .toSorted((a, b) => a.at - b.at || a.id - b.id)
      .map(({ at, isLocked, type }) => [at, isLocked ? 1 : 0, type ?? '']),
  )
}
