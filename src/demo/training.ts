import { DAY_MS, formatTimestamp } from '../contract/time.ts'
import type { TrainerSegment, TrainingSession } from '../contract/training-sessions.ts'
import { isCounted } from '../contract/training-templates.ts'
import { ALEX, bubbleId, ROBIN, SAM } from './people.ts'
import { isGraded, PASS_GRADE, type Program, programs, type Step } from './programs.ts'
import { type Random, seeded } from './random.ts'

/** How an account trains. Days count back from today, which is 0. */
interface Habit {
  readonly ownerId: number
  readonly device: number
  readonly first: number
  readonly last: number
  /** How likely a session is, by the day of a week that ends today. */
  readonly week: readonly number[]
  /** The share of its targets that the account reaches, on its first day and today. */
  readonly skill: readonly [number, number]
}

const habits: readonly Habit[] = [
  { ownerId: ALEX, device: 21, first: 364, last: 0, week: [0.4, 0.8, 0.5, 0.8, 0.45, 0.6, 0.9], skill: [0.77, 0.91] },
  { ownerId: ROBIN, device: 22, first: 190, last: 2, week: [0.3, 0.1, 0.4, 0.1, 0.4, 0.1, 0.3], skill: [0.78, 0.86] },
  { ownerId: SAM, device: 23, first: 135, last: 90, week: [0, 0, 0, 0.8, 0, 0, 0.5], skill: [0.8, 0.8] },
]

/** Before that day, sessions came by the legacy upload path; from the other one on, results have the optional fields. */
const LEGACY_UNTIL_DAY = 310
const DETAILED_FROM_DAY = 250

/** Every training session until the end of the day that starts at `midnight`, the oldest first. The import computes their totals. */
export function trainingSessions(midnight: number) {
  let segmentId = 0
  return habits
    .flatMap(habit => [...sessionsOf(habit, midnight)])
    .toSorted((a, b) => a.at - b.at)
    .map(({ ownerId, at, ago, device, program, results }, index) => {
      const id = index + 1
      const data: Omit<TrainingSession, 'repsMeasured'> = {
        id,
        bubble_id: bubbleId(at, id),
        name: `${program.name} session`,
        passed: results.every(({ passed }) => passed),
        created_at: formatTimestamp(at),
        trainer_id: device,
        settings_id: program.id,
        TrainerSegment: results.map(result => ({ id: (segmentId += 1), ...result })),
      }
      return { ownerId, at, isLegacy: ago > LEGACY_UNTIL_DAY, data }
    })
}

function* sessionsOf({ ownerId, device, first, last, week, skill: [atFirst, today] }: Habit, midnight: number) {
  const random = seeded(ownerId * 11)
  for (let ago = first; ago >= last; ago -= 1) {
    for (const hour of hoursOf(ownerId, ago, week[ago % 7] ?? 0, random)) {
      const program = programOf(ownerId, ago, random)
      const form = today - ((today - atFirst) * ago) / first + random.between(-0.07, 0.07)
      const at = midnight - ago * DAY_MS + Math.round(hour * 3600) * 1000
      yield { ownerId, at, ago, device, program, results: resultsOf(program, form, ago, random) }
    }
  }
}

/** The hours of the day at which sessions end. At any time, one of alex lies within the last 24 hours. */
function hoursOf(ownerId: number, ago: number, likely: number, random: Random): number[] {
  if (ownerId === ALEX && ago < 2) return [ago === 0 ? 6.8 : 20.2]
  if (!random.chance(likely)) return []
  if (ago % 7 > 4) return random.chance(0.3) ? [random.between(9, 11.5), random.between(16, 19)] : [10.25]
  return [random.chance(0.3) ? random.between(6.2, 7.8) : random.between(18.5, 22)]
}

/** One of the programs that there were on that day. */
function programOf(ownerId: number, ago: number, random: Random): Program {
  const usable = programs.filter(({ owner, made }) => owner === ownerId && made > ago)
  const chosen = usable[random.whole(0, usable.length - 1)]
  if (chosen === undefined) throw new Error(`account ${ownerId} had no program ${ago} days ago`)
  return chosen
}

type Result = Omit<TrainerSegment, 'id'>

/** The results of a session, one for each run of a step. `form` is the share of the targets that is reached that day. */
function resultsOf(program: Program, form: number, ago: number, random: Random): Result[] {
  const steps = program.steps.flatMap(step => Array.from({ length: step.repeat }, () => step))
  return steps.map((step, index) => {
    const done = isGraded(step.type) ? Math.min(1, form + random.between(-0.14, 0.14)) : 1
    const result = resultOf(step, done)
    return { ...result, ...measuresOf(result, program, ago, index + 1, random) }
  })
}

/** `done` is the share of the target that is reached. Endurance ends when it is broken off, all others with their time. */
function resultOf({ type, amount, pace }: Step, done: number): Result {
  const reps = isCounted(type) ? amount : (amount * pace) / 60
  const durationTarget = isCounted(type) ? Math.round((amount / pace) * 60) : amount
  const repsTarget = type === 'freeform' ? 0 : Math.round(reps)
  const repsMeasured = Math.floor(reps * done)
  const durationMeasured = Math.round(durationTarget * (type === 'endurance' ? done : 1))
  const reached = type === 'endurance' ? durationMeasured / durationTarget : repsMeasured / repsTarget
  const percentGrade = isGraded(type) ? Math.round(100 * reached) : 100
  const passed = percentGrade >= PASS_GRADE
  const points = passed ? Math.round(percentGrade / 10) : 0
  return { type, passed, percentGrade, points, durationMeasured, durationTarget, repsMeasured, repsTarget }
}

/** The optional fields. By the legacy path, distances are estimated from the count; without a target there is no estimate. */
function measuresOf(result: Result, { depth }: Program, ago: number, order: number, random: Random): Partial<Result> {
  const { type, repsMeasured, repsTarget, durationMeasured } = result
  const isLegacy = ago > LEGACY_UNTIL_DAY
  if (isLegacy && repsTarget === 0) return {}
  const strokeLength = isLegacy ? depth : Math.round(depth * random.between(0.94, 1.04))
  const distanceTravelled = (2 * repsMeasured * strokeLength) / 1000
  if (ago > DETAILED_FROM_DAY) return { distanceTravelled }
  const held = durationMeasured * (type === 'endurance' ? random.between(0.5, 0.8) : random.between(0.05, 0.2))
  const speedMeasured = Math.round((repsMeasured / durationMeasured) * 600) / 10
  // A bounce has no time in the target zone.
  const longestDeepthroat = type === 'bounce' ? null : Math.round(held * 1000)
  return { distanceTravelled, order, longestDeepthroat, strokeLength, speedMeasured }
}
