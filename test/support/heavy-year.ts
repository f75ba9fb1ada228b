import { sum } from '../../src/contract/numbers.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import { seeded } from '../../src/demo/random.ts'
import * as records from './records.ts'

/** A year of heavy use of one account: 2,000 training sessions with 25,000 segments, and 300 lock sessions. */
export function heavyYear(owner: number, now: number): Generator<object> {
  return heavyUse(owner, now, { sessions: 2000, locks: 300, years: 1 })
}

/** Seven years: 20,000 training sessions with 250,000 segments, and 2,000 lock sessions. */
export function heavyYears(owner: number, now: number): Generator<object> {
  return heavyUse(owner, now, { sessions: 20_000, locks: 2000, years: 7 })
}

/** Thirty years of the same. */
export function heavyDecades(owner: number, now: number): Generator<object> {
  return heavyUse(owner, now, { sessions: 20_000, locks: 2000, years: 30 })
}

interface Use {
  readonly sessions: number
  readonly locks: number
  readonly years: number
}

function* heavyUse(owner: number, now: number, { sessions, locks, years }: Use): Generator<object> {
  const random = seeded(7)
  const kinds = ['warmup', 'training', 'repetition', 'endurance', 'freeform', 'bounce']
  for (let program = 1; program <= 12; program += 1) yield records.trainingTemplate(program, owner)
  const text = (at: number) => new Date(Math.floor(at / 1000) * 1000).toISOString()
  let segmentId = 0
  for (let id = 1; id <= sessions; id += 1) {
    const segments = Array.from({ length: id % 2 === 0 ? 12 : 13 }, () => {
      segmentId += 1
      const grade = random.whole(40, 100)
      return records.trainerSegment(segmentId, {
        type: kinds[random.whole(0, kinds.length - 1)],
        percentGrade: grade,
        passed: grade >= 60,
        repsMeasured: random.whole(5, 60),
        distanceTravelled: random.whole(1000, 20_000) / 1000,
        longestDeepthroat: random.whole(0, 60_000),
        strokeLength: 90,
        speedMeasured: 31.5,
      })
    })
    yield records.trainingSession(id, owner, {
      created_at: text(now - ((sessions - id) * years * 365 * DAY_MS) / sessions - 60_000),
      passed: random.chance(0.8),
      settings_id: random.whole(1, 12),
      TrainerSegment: segments,
    })
  }
  const plans = Array.from({ length: locks }, () => random.whole(1, 4))
  // More time between locks in some months than in others.
  const slots = plans.map((plan, index) => plan * (1.6 + 0.5 * Math.sin(index / 25)))
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
        return [from, from + random.between(0.1, 0.25) * step] as const
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
