import { type JsonObject, readInstant } from './canonical.ts'

/** The columns that figures are made from. They follow from the record alone, and can be made again from it. */
export const SESSION_FIGURES = [
  'settings_id',
  'segments',
  'grade',
  'reps',
  'distance_um',
  'approximate',
  'kinds',
] as const

/** What figures need to know of a lock template whose fields have been checked. */
export function templateRules(template: JsonObject) {
  return {
    is_test_lock: template['isTestLock'] === true ? 1 : 0,
    is_time_displayed: template['isTimeDisplayed'] === false ? 0 : 1,
  }
}

/**
 * The figures of a training session whose fields have been checked. `isGraded` tells whether the segment at a place was:
 * a grade that the source did not give is sent as 0.
 */
export function sessionFigures(session: JsonObject, isGraded: (place: number) => boolean = () => true) {
  // Checked: each segment is a result with these fields.
  const segments = session['TrainerSegment'] as Result[]
  const kinds = new Map<string, KindSums>()
  const grades: number[] = []
  for (const [place, segment] of segments.entries()) {
    const kind = segment.type ?? ''
    const sums = kinds.get(kind) ?? new KindSums()
    kinds.set(kind, sums)
    const graded = isGraded(place)
    sums.add(segment, graded)
    if (graded) grades.push(segment.percentGrade)
  }
  return {
    settings_id: Number(session['settings_id']),
    segments: segments.length,
    grade: grades.length === 0 ? null : Math.floor(sum(grades) / grades.length + 0.5),
    reps: Number(session['repsMeasured']),
    distance_um: micrometres(session['distanceTravelled']),
    approximate: session['distanceApproximate'] === true ? 1 : 0,
    // By name, so that they do not depend on the order in which a source had its segments.
    kinds: JSON.stringify([...kinds].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([kind, sums]) => sums.cells(kind))),
  }
}

/** The figures of a session, of which `noted` are the pointers of extra fields: a grade of 0 among them is none. */
export function gradedFigures(session: JsonObject, noted: ReadonlySet<string>) {
  // A session in canonical form has a list of results.
  const segments = session['TrainerSegment'] as readonly JsonObject[]
  return sessionFigures(
    session,
    place => segments[place]?.['percentGrade'] !== 0 || !noted.has(`/TrainerSegment/${place}/percentGrade`),
  )
}

interface Result {
  readonly type: string | null
  readonly passed: boolean
  readonly percentGrade: number
  readonly durationMeasured: number
  readonly points: number
  readonly repsMeasured: number
  readonly distanceTravelled?: number
}

/** What the segments of one kind sum up to. */
class KindSums {
  #segments = 0
  #passed = 0
  readonly #grades: number[] = []
  #gradedPassed = 0
  #reps = 0
  #distance: number | null = null
  #duration = 0
  #points = 0

  add(segment: Result, graded: boolean) {
    this.#segments += 1
    this.#passed += segment.passed ? 1 : 0
    if (graded) {
      this.#grades.push(segment.percentGrade)
      this.#gradedPassed += segment.passed ? 1 : 0
    }
    this.#reps += segment.repsMeasured
    const distance = micrometres(segment.distanceTravelled)
    if (distance !== null) this.#distance = (this.#distance ?? 0) + distance
    this.#duration += segment.durationMeasured
    this.#points += segment.points
  }

  cells(kind: string) {
    const grades = this.#grades.toSorted((a, b) => a - b)
    return [
      kind,
      this.#segments,
      this.#passed,
      grades,
      this.#gradedPassed,
      this.#reps,
      this.#distance,
      this.#duration,
      this.#points,
    ]
  }
}

/** A distance that no integer can hold is none that was travelled. */
function micrometres(metres: unknown): number | null {
  const distance = typeof metres === 'number' ? Math.round(metres * 1_000_000) : null
  return Number.isSafeInteger(distance) ? distance : null
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}

/** The events of a lock session whose fields have been checked, in the order they happened. */
export function lockEvents(session: JsonObject): string {
  // Checked: each event has these fields.
  const events = session['LockSegment'] as { id: number; createdAt: string; isLocked: boolean; type: string | null }[]
  return JSON.stringify(
    events
      .map(({ id, createdAt, isLocked, type }) => ({ id, at: readInstant(createdAt), isLocked, type }))
      .toSorted((a, b) => a.at - b.at || a.id - b.id)
      .map(({ at, isLocked, type }) => [at, isLocked ? 1 : 0, type ?? '']),
  )
}
