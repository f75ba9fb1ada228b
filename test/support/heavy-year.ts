import { formatTimestamp } from '../../src/contract/time.ts'
import {
  account,
  lockSegment,
  lockSession,
  lockTemplate,
  partnership,
  trainerSegment,
  trainingSession,
  trainingTemplate,
} from './records.ts'

const DAY_MS = 86_400_000
const SESSIONS = 2000
const LOCKS = 300
const KINDS = ['warmup', 'training', 'repetition', 'endurance', 'freeform', 'bounce']

/** A year of heavy use: 2,000 training sessions with 25,000 segments, and 300 lock sessions, all of one account. */
export function* heavyYear(now: number): Generator<object> {
  yield account(1, 'ann')
  yield account(2, 'ben')
  yield partnership(2, 1)
  for (let id = 1; id <= 20; id += 1) {
    yield lockTemplate(id, 1)
    yield trainingTemplate(id, 1)
  }
  for (let index = 0; index < LOCKS; index += 1) {
    const start = now - 365 * DAY_MS + (index * 365 * DAY_MS) / LOCKS
    const at = (hours: number) => formatTimestamp(Math.round(start / 1000) * 1000 + hours * 3_600_000)
    const running = index === LOCKS - 1
    const events = Array.from({ length: 20 }, (_, place) =>
      lockSegment(
        index * 100 + place + 1,
        place === 0 ? 'start' : place % 2 === 1 ? 'break' : 'locked',
        at(place),
        place % 2 === 0,
      ),
    )
    yield lockSession(
      index + 1,
      1,
      {
        lockState: running ? 'locked' : 'completed',
        isActive: running,
        startDate: at(0),
        endDate: running ? null : at(24),
        LockSegment: running ? events : [...events, lockSegment(index * 100 + 99, 'unlocked', at(24), false)],
      },
      { templateId: (index % 20) + 1 },
    )
  }
  for (let index = 0; index < SESSIONS; index += 1) {
    // 12 and 13 in turn make 25,000.
    const segments = Array.from({ length: 12 + (index % 2) }, (_, place) =>
      trainerSegment(index * 20 + place + 1, {
        type: KINDS[(index + place) % KINDS.length],
        percentGrade: (index * 7 + place * 13) % 101,
        passed: (index + place) % 3 > 0,
        distanceTravelled: 4.125,
      }),
    )
    yield trainingSession(index + 1, 1, {
      passed: index % 4 > 0,
      settings_id: (index % 20) + 1,
      created_at: formatTimestamp(Math.round((now - (index * 365 * DAY_MS) / SESSIONS) / 1000) * 1000),
      TrainerSegment: segments,
    })
  }
}
