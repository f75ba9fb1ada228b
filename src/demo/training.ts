import { DAY_MS, formatTimestamp } from '../contract/time.ts'
import type { TrainerSegment, TrainingSession } from '../contract/training-sessions.ts'
import { isCounted } from '../contract/training-templates.ts'
import { ALEX, bubbleId, ROBIN, SAM } from './people.ts'
import { isGraded, PASS_GRADE, type Program, programs, type Step } from './programs.ts'
import { type Random, seeded } from './random.ts'

/** How an account trains. Weeks count back from this one, which is 0. */
interface Habit {
  readonly ownerId: number
  readonly device: number
  readonly first: number
  readonly last: number
  /** The days with a session, 0 for Monday, in weeks that follow each other; a day that stands twice has two. */
  readonly days: readonly string[]
  /** The days of weeks that are different. */
  readonly others?: Readonly<Record<number, string>>
  /** The share of its targets that the account reaches, in its first and its last week. */
  readonly skill: readonly [number, number]
}

const habits: readonly Habit[] = [
  {
    ownerId: ALEX,
    device: 21,
    first: 51,
    last: 0,
    days: ['0245', '13556', '0246', '1345', '02566', '135'],
    // A streak that goes on, the best week until now, a week without training, a long streak, and a break of two weeks.
    others: { 0: '0123456', 1: '22334566', 4: '', 18: '01234', 19: '0123456', 29: '', 30: '' },
    skill: [0.8, 0.89],
  },
  { ownerId: ROBIN, device: 22, first: 27, last: 0, days: ['035', '26', '14'], skill: [0.78, 0.86] },
  { ownerId: SAM, device: 23, first: 19, last: 13, days: ['36'], skill: [0.8, 0.8] },
]

/** Every training session until the end of the week that starts at `monday`, the oldest first. The import computes their totals. */
export function trainingSessions(monday: number) {
  let segmentId = 0
  return habits
    .flatMap(habit => [...sessionsOf(habit, monday)])
    .toSorted((a, b) => a.at - b.at)
    .map(({ ownerId, at, device, program, results }, index, all) => {
      const id = index + 1
      const ofOwner = all.slice(0, id).filter(one => one.ownerId === ownerId)
      const data: Omit<TrainingSession, 'repsMeasured'> = {
        id,
        bubble_id: bubbleId(at, id),
        name: `Session ${ofOwner.length}`,
        passed: results.every(({ passed }) => passed),
        created_at: formatTimestamp(at),
        trainer_id: device,
        settings_id: program.id,
        TrainerSegment: results.map(result => ({ id: (segmentId += 1), ...result })),
      }
      return { ownerId, at, data }
    })
}

function* sessionsOf({ ownerId, device, first, last, days, others, skill: [atFirst, now] }: Habit, monday: number) {
  const random = seeded(ownerId * 11)
  let count = 4
  for (let week = first; week >= last; week -= 1) {
    const ofWeek = others?.[week] ?? days[week % days.length] ?? ''
    const usable = programs.filter(({ owner, made }) => owner === ownerId && made > 7 * week)
    for (const [index, day] of [...ofWeek].entries()) {
      const program = usable[(count += 1) % usable.length]
      if (program === undefined) throw new Error(`account ${ownerId} had no program ${week} weeks ago`)
      const at = monday + (Number(day) - 7 * week) * DAY_MS
      const hour = hourOf(week, Number(day), ofWeek[index - 1] === day, random)
      const form = now - ((now - atFirst) * week) / first + random.between(-0.08, 0.08)
      const results = resultsOf(program, form - (program.strain ?? 0), random)
      yield { ownerId, at: at + Math.round(hour * 3600) * 1000, device, program, results }
    }
  }
}

/** The hour of a day at which a session ends. In this week each is earlier than the one before, so the last is never a day old. */
function hourOf(week: number, day: number, isSecond: boolean, random: Random): number {
  if (week === 0) return 7.5 - day / 10
  if (day > 4 || isSecond) return random.between(9, 11.5) + (isSecond ? 8 : 0)
  return random.between(17, 21)
}

type Result = Omit<TrainerSegment, 'id'>

/** The results of a session, one for each run of a step. `form` is the share of the targets that is reached that day. */
function resultsOf(program: Program, form: number, random: Random): Result[] {
  const steps = program.steps.flatMap(step => Array.from({ length: step.repeat }, () => step))
  return steps.map((step, index) => {
    const done = isGraded(step.type) ? Math.min(1, form + random.between(-0.13, 0.13)) : 1
    const result = resultOf(step, done)
    return { ...result, ...measuresOf(result, program, index + 1, random) }
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

function measuresOf(result: Result, { depth }: Program, order: number, random: Random): Partial<Result> {
  const { type, repsMeasured, durationMeasured } = result
  const strokeLength = Math.round(depth * random.between(0.94, 1.04))
  const held = durationMeasured * (type === 'endurance' ? random.between(0.5, 0.8) : random.between(0.05, 0.2))
  return {
    order,
    strokeLength,
    distanceTravelled: (2 * repsMeasured * strokeLength) / 1000,
    speedMeasured: Math.round((repsMeasured / durationMeasured) * 600) / 10,
    // A bounce has no time in the target zone.
    longestDeepthroat: type === 'bounce' ? null : Math.round(held * 1000),
  }
}
