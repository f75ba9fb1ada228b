import { isCounted, type SegmentKind } from '../contract/training-templates.ts'
import type { TrainerSegment } from '../contract/training-sessions.ts'
import { isGraded, type Part, type Program } from './programs.ts'
import type { Random } from './random.ts'

export type Result = Omit<TrainerSegment, 'id'>

/** How results were uploaded: with estimated distances, with the required fields, or with the optional ones too. */
export type Upload = 'legacy' | 'plain' | 'detailed'

/**
 * The results of a session, one for each run of a segment of the program. `form` is the share of the targets that the
 * account reaches that day.
 */
export function resultsOf(program: Program, form: number, upload: Upload, random: Random): Result[] {
  const results: Result[] = []
  for (const part of program.parts) {
    for (let run = 0; run < part.repeat; run += 1) {
      const isBroken = isGraded(part.type) && random.chance(0.02)
      const done = isBroken ? random.between(0.1, 0.4) : form + EASE[part.type] + random.noise() * 0.07
      results.push(resultOf(program, part, Math.min(1, done), upload, results.length + 1, random))
      // The session ends with a segment that was broken off.
      if (isBroken) return results
    }
  }
  return results
}

const EASE = { warmup: 0, training: 0.01, repetition: 0.02, endurance: -0.03, freeform: 0, bounce: -0.02 }
const POINTS = { warmup: 2, training: 10, repetition: 12, endurance: 15, freeform: 4, bounce: 8 }

/** The result of one run; `done` is the share of the target that was reached. */
function resultOf(
  program: Program,
  { type, amount, pace }: Part,
  done: number,
  upload: Upload,
  order: number,
  random: Random,
): Result {
  const repsTarget = isCounted(type) ? amount : type === 'freeform' ? 0 : Math.round((amount * pace) / 60)
  const durationTarget = isCounted(type) ? Math.round((amount / pace) * 60) : amount
  const measuredPace = pace * (type === 'training' ? done : random.between(0.9, 1.05))

  // Counted kinds end with their count, endurance when it is broken off, all others with their time.
  const seconds = isCounted(type)
    ? Math.round(((amount * done) / measuredPace) * 60)
    : Math.round(amount * (type === 'endurance' ? done : 1))
  const strokes = Math.round(2 * (isCounted(type) ? amount * done : (measuredPace * seconds) / 60))
  const reps = Math.floor(strokes / 2)
  const percentGrade = gradeOf(type, type === 'endurance' ? seconds / durationTarget : reps / repsTarget)
  const passed = !isGraded(type) || percentGrade >= program.passGrade

  const result: Result = {
    type,
    passed,
    percentGrade,
    points: passed ? Math.round((POINTS[type] * percentGrade) / 100) : 0,
    durationMeasured: seconds,
    durationTarget,
    repsMeasured: reps,
    repsTarget,
  }
  if (upload === 'legacy') {
    // Estimated from the count and the configured depth; without a target count there is no estimate.
    if (repsTarget === 0) return result
    return { ...result, distanceTravelled: Math.round((reps * 2 * program.depth) / 100) / 10 }
  }
  const depth = type === 'bounce' ? program.depth * 0.3 : program.depth
  const strokeLength = Math.round(depth * random.between(0.94, 1.04))
  const distanceTravelled = Math.round(strokes * strokeLength * random.between(0.97, 1.03)) / 1000
  if (upload === 'plain') return { ...result, distanceTravelled }
  const held = type === 'endurance' ? random.between(0.5, 0.8) : random.between(0.05, 0.2)
  return {
    ...result,
    distanceTravelled,
    order,
    // A bounce has no time in the target zone.
    longestDeepthroat: type === 'bounce' ? null : Math.round(seconds * 1000 * held),
    strokeLength,
    speedMeasured: Math.round((strokes / 2 / seconds) * 600) / 10,
  }
}

function gradeOf(type: SegmentKind, reached: number): number {
  return isGraded(type) ? Math.min(100, Math.round(100 * reached)) : 100
}
