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
  for (let template = 41; template <= 44; template += 1) yield records.lockTemplate(template, owner)
  let eventId = 0
  for (let id = 1; id <= locks; id += 1) {
    const start = now - ((locks + 1 - id) * years * 365 * DAY_MS) / locks
    const hours = [0, 6, 6.5, 12, 12.5, 18, 18.5, 24]
    const events = hours.map((hour, index) => {
      eventId += 1
      const kind =
        index === 0 ? 'start' : index === hours.length - 1 ? 'unlocked' : index % 2 === 1 ? 'break' : 'locked'
      return records.lockSegment(eventId, kind, text(start + hour * 3_600_000), kind === 'start' || kind === 'locked')
    })
    yield records.lockSession(
      id,
      owner,
      {
        startDate: text(start),
        endDate: text(start + 24 * 3_600_000),
        LockSegment: events,
      },
      { templateId: 41 + (id % 4) },
    )
  }
}
