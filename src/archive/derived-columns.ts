import { parseTimestamp } from '../contract/time.ts'
import type { JsonObject } from './canonical.ts'

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

/** The figures of a training session whose fields have been checked. */
export function sessionFigures(session: JsonObject) {
  // Checked: each segment is a result with these fields.
  const segments = session['TrainerSegment'] as { type: string | null; passed: boolean; percentGrade: number }[]
  const kinds = new Map<string, [kind: string, segments: number, passed: number, grades: number]>()
  let grades = 0
  for (const { type, passed, percentGrade } of segments) {
    const kind = type ?? ''
    const figures = kinds.get(kind) ?? [kind, 0, 0, 0]
    kinds.set(kind, figures)
    figures[1] += 1
    figures[2] += passed ? 1 : 0
    figures[3] += percentGrade
    grades += percentGrade
  }
  const distance = session['distanceTravelled']
  const micrometres = typeof distance === 'number' ? Math.round(distance * 1_000_000) : null
  return {
    settings_id: Number(session['settings_id']),
    segments: segments.length,
    grade: segments.length === 0 ? null : Math.floor(grades / segments.length + 0.5),
    reps: Number(session['repsMeasured']),
    // A distance that no integer can hold is none that was travelled.
    distance_um: Number.isSafeInteger(micrometres) ? micrometres : null,
    approximate: session['distanceApproximate'] === true ? 1 : 0,
    // By name, so that they do not depend on the order in which a source had its segments.
    kinds: JSON.stringify([...kinds.values()].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** The events of a lock session whose fields have been checked, in the order they happened. */
export function lockEvents(session: JsonObject): string {
  // Checked: each event has these fields.
  const events = session['LockSegment'] as { id: number; createdAt: string; isLocked: boolean; type: string | null }[]
  return JSON.stringify(
    events
      .map(({ id, createdAt, isLocked, type }) => ({ id, at: parseTimestamp(createdAt) ?? 0, isLocked, type }))
      .toSorted((a, b) => a.at - b.at || a.id - b.id)
      .map(({ at, isLocked, type }) => [at, isLocked ? 1 : 0, type ?? '']),
  )
}
