import { sum } from '../../src/contract/numbers.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { seeded } from '../../src/demo/random.ts'
import * as records from './records.ts'

const historyOf = (use: Use) => (owner: number, now: number) => heavyUse(owner, now, use)

/** A year of heavy use of one account: 2,000 training sessions with 25,000 segments, and 300 lock sessions. */
export const heavyYear = historyOf({ sessions: 2000, locks: 300, years: 1 })

/** Five years: 6,000 training sessions, and 500 lock sessions. */
export const fiveYears = historyOf({ sessions: 6000, locks: 500, years: 5 })

/** Seven years: 20,000 training sessions with 250,000 segments, and 2,000 lock sessions. */
export const heavyYears = historyOf({ sessions: 20_000, locks: 2000, years: 7 })

/** Thirty years of the same. */
export const heavyDecades = historyOf({ sessions: 20_000, locks: 2000, years: 30 })

interface Use {
  readonly sessions: number
  readonly locks: number
  readonly years: number
}

function* heavyUse(owner: number, now: number, { sessions, locks, years }: Use): Generator<object> {
  const random = seeded(7)
  const kinds = ['warmup', 'training', 'repetition', 'endurance', 'bounce']
  const typesOf = (program: number) =>
    Array.from({ length: program % 2 === 0 ? 12 : 13 }, (_, place) => kinds[(place * (1 + (program % 3))) % 5] ?? '')
  const passing = { passFailEnabled: true, passGradeThreshold: 60 }
  for (let program = 1; program <= 12; program += 1) {
    const steps = typesOf(program).map((type, place) =>
      records.templateSegment(program * 100 + place, { type, ...(type !== 'warmup' && passing) }),
    )
    const name = `${['Evening', 'Interval', 'Endurance', 'Morning'][program % 4]} program ${'ABC'[program % 3]}`
    yield records.trainingTemplate(program, owner, { name, tagline: '', Segment: steps })
  }
  const text = (at: number) => new Date(Math.floor(at / 1000) * 1000).toISOString()
  let segmentId = 0
  for (let id = 1; id <= sessions; id += 1) {
    const program = random.whole(1, 12)
    const since = id / sessions
    // From 66 to 92 %, less in some months than in others, and with harder programs.
    const form = 59 + 33 * since ** 0.8 + 2 * Math.sin(since * years * 6) - (program % 4) + random.between(-4, 4)
    const segments = typesOf(program).map(type => {
      segmentId += 1
      const grade = type === 'warmup' ? 100 : Math.min(100, Math.round(form + random.between(-9, 8)))
      return records.trainerSegment(segmentId, {
        type,
        percentGrade: grade,
        passed: grade >= 60,
        repsMeasured: Math.round(0.4 * grade * (1 + Math.sin(id / 40) / 5)) + random.whole(0, 9),
        distanceTravelled: random.whole(1000, 20_000) / 1000,
        longestDeepthroat: random.whole(0, 60_000),
        strokeLength: 90,
        speedMeasured: 31.5,
      })
    })
    // One day of each week has no session.
    const age = ((sessions - id) * years * 365 * DAY_MS) / sessions
    yield records.trainingSession(id, owner, {
      created_at: text(now - age + (age % (7 * DAY_MS)) / 7 - 60_000),
      passed: segments.every(({ passed }) => passed),
      settings_id: program,
      TrainerSegment: segments,
    })
  }
  const plans = Array.from({ length: locks }, () => random.whole(1, 4))
  // More time between locks in some months than in others.
  const slots = plans.map((plan, index) => plan * (1.6 + 0.2 * Math.sin(index / 25)))
  const hours = (years * 365 * 24) / sum(slots)
  const names = ['Short lock', 'Night lock', 'Day lock', 'Long lock']
  for (const [index, name] of names.entries())
    yield records.lockTemplate(41 + index, owner, {
      name,
      duration: Math.floor(hours * (index + 1)) * 3600,
      breakMaximum: 3600,
    })
  let eventId = 0
  let start = now - years * 365 * DAY_MS
  for (const [index, plan] of plans.entries()) {
    const duration = Math.floor(hours * plan) * 3600
    const isCompleted = random.chance(0.85)
    const part = isCompleted ? 1 + Math.max(0, random.between(-0.2, 0.07)) : random.between(0.3, 0.9)
    const end = start + duration * part * 1000
    const breaks = Array.from(
      { length: random.whole(plan - 1, plan + 1) },
      (_, order, step = (end - start) / (plan + 2)) => {
        const from = start + (order + random.between(0.6, 1)) * step
        return [from, from + random.between(0.1, 1.05) * 3_600_000] as const
      },
    )
    const kinds = ['start', ...breaks.flatMap(() => ['break', 'locked']), 'unlocked']
    const events = [start, ...breaks.flat(), end].map((at, order) => {
      eventId += 1
      const kind = kinds[order] ?? ''
      return records.lockSegment(eventId, kind, text(at), kind === 'start' || kind === 'locked')
    })
    yield records.lockSession(
      index + 1,
      owner,
      {
        name: names[plan - 1],
        startDate: text(start),
        endDate: text(end),
        duration,
        lockState: isCompleted ? 'completed' : 'abandoned',
        LockSegment: events,
      },
      { templateId: 40 + plan },
    )
    start += (slots[index] ?? 0) * hours * 3_600_000
  }
}
