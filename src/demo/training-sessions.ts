import { DAY_MS, formatTimestamp } from '../contract/time.ts'
import type { TrainingSession } from '../contract/training-sessions.ts'
import { ALEX, ROBIN, SAM, trainingDeviceIds } from './people.ts'
import { type Program, programs } from './programs.ts'
import { bubbleId, type Random, seeded } from './random.ts'
import { resultsOf, type Upload } from './results.ts'

/** A training session of the sample. The import computes its totals from its segments. */
export interface SampleTrainingSession {
  readonly ownerId: number
  readonly at: number
  readonly isLegacy: boolean
  readonly data: Omit<TrainingSession, 'repsMeasured' | 'distanceTravelled' | 'distanceApproximate'>
}

/** Every training session until the end of the day that starts at `midnight`, the oldest first. */
export function sampleTrainingSessions(midnight: number): SampleTrainingSession[] {
  const sessions = habits
    .flatMap(habit => [...sessionsOf(habit, midnight)])
    .toSorted((a, b) => a.at - b.at || a.habit.ownerId - b.habit.ownerId)
  let segmentId = 0
  return sessions.map(({ habit, at, upload, results, program, device }, index) => {
    const id = index + 1
    return {
      ownerId: habit.ownerId,
      at,
      isLegacy: upload === 'legacy',
      data: {
        id,
        bubble_id: bubbleId(at, id),
        name: titleAt(at),
        passed: results.every(({ passed }) => passed),
        created_at: formatTimestamp(at),
        trainer_id: device,
        settings_id: program.id,
        TrainerSegment: results.map(result => {
          segmentId += 1
          return { id: segmentId, ...result }
        }),
      },
    }
  })
}

/** How an account trains. Days count back from today, which is 0. */
interface Habit {
  readonly ownerId: number
  readonly seed: number
  readonly firstDay: number
  readonly lastDay: number
  /** How likely a session is, from Sunday to Saturday. */
  readonly week: readonly number[]
  /** Days without a session, first and last. */
  readonly holiday: readonly [number, number] | undefined
  /** Before that day, sessions came by the legacy upload path. */
  readonly legacyUntil: number
  /** From that day on, results have the optional fields. */
  readonly detailedFrom: number
  /** The share of its targets that the account reaches, on its first day and today. */
  readonly skill: readonly [number, number]
}

const habits: readonly Habit[] = [
  {
    ownerId: ALEX,
    seed: 11,
    firstDay: 364,
    lastDay: 0,
    week: [0.4, 0.8, 0.5, 0.8, 0.45, 0.6, 0.9],
    holiday: [152, 137],
    legacyUntil: 310,
    detailedFrom: 250,
    skill: [0.77, 0.91],
  },
  {
    ownerId: ROBIN,
    seed: 22,
    firstDay: 190,
    lastDay: 2,
    week: [0.3, 0.1, 0.4, 0.1, 0.4, 0.1, 0.3],
    holiday: [152, 137],
    legacyUntil: Infinity,
    detailedFrom: 190,
    skill: [0.78, 0.86],
  },
  {
    ownerId: SAM,
    seed: 33,
    firstDay: 135,
    lastDay: 90,
    week: [0, 0, 0, 0.8, 0, 0, 0.5],
    holiday: undefined,
    legacyUntil: Infinity,
    detailedFrom: 0,
    skill: [0.8, 0.8],
  },
]

/** The random choices depend only on the day of the week, so there are seven histories; a test checks all of them. */
function* sessionsOf(habit: Habit, midnight: number) {
  const random = seeded(habit.seed)
  for (let ago = habit.firstDay; ago >= habit.lastDay; ago -= 1) {
    const day = midnight - ago * DAY_MS
    for (const hour of hoursOf(habit, ago, new Date(day).getUTCDay(), random)) {
      const program = programOf(habit, ago, random)
      const upload = uploadOf(habit, ago)
      const results = resultsOf(program, skillOn(habit, ago, random), upload, random)
      yield { habit, at: day + Math.round(hour * 3600) * 1000, upload, results, program, device: deviceOf(habit, ago) }
    }
  }
}

/** The hours of the day at which the sessions of a day end. */
function hoursOf(habit: Habit, ago: number, weekday: number, random: Random): number[] {
  // At any hour, one session lies within the last 24 hours: that of this morning or that of last evening.
  if (habit.ownerId === ALEX && ago === 0) return [random.between(6.6, 7.2)]
  if (habit.ownerId === ALEX && ago === 1) return [random.between(19.5, 21.5)]
  const [first, last] = habit.holiday ?? [-1, -1]
  if (ago <= first && ago >= last) return []
  if (!random.chance(habit.week[weekday] ?? 0)) return []
  if (weekday === 0 || weekday === 6) {
    const morning = random.between(9, 11.5)
    return random.chance(0.3) ? [morning, random.between(16, 19)] : [morning]
  }
  return [random.chance(0.3) ? random.between(6.2, 7.8) : random.between(18.5, 22)]
}

function titleAt(at: number): string {
  const hour = new Date(at).getUTCHours()
  if (hour < 12) return 'Morning session'
  return hour < 18 ? 'Afternoon session' : 'Evening session'
}

/** One of the programs in use on that day, most often the one that was active then. */
function programOf(habit: Habit, ago: number, random: Random): Program {
  const usable = programs
    .filter(({ ownerId, made, ended = -1 }) => ownerId === habit.ownerId && made > ago && ended < ago)
    .map(program => ({ program, weight: program.isActive || program.ended !== undefined ? 3 : 1 }))
  const [first, ...others] = usable
  if (first === undefined) throw new Error(`account ${habit.ownerId} had no program ${ago} days ago`)
  return random.pick([first, ...others]).program
}

function deviceOf({ ownerId, detailedFrom }: Habit, ago: number): number {
  if (ownerId === ROBIN) return trainingDeviceIds.robin
  if (ownerId === SAM) return trainingDeviceIds.sam
  return ago > detailedFrom ? trainingDeviceIds.alexOld : trainingDeviceIds.alex
}

function uploadOf({ legacyUntil, detailedFrom }: Habit, ago: number): Upload {
  if (ago > legacyUntil) return 'legacy'
  return ago > detailedFrom ? 'plain' : 'detailed'
}

function skillOn({ skill: [atFirst, today], firstDay }: Habit, ago: number, random: Random): number {
  return today - ((today - atFirst) * ago) / firstDay + random.noise() * 0.04
}
