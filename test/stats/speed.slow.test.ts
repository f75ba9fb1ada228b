import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketsOf } from '../../src/stats/buckets.ts'
import { streaksOf } from '../../src/stats/streaks.ts'
import { trainingStatistics } from '../../src/stats/training-statistics.ts'
import { zoneClock } from '../../src/stats/zone-clock.ts'
import { DAY, dayOf, seeded, trainingSessionsWithin } from '../support/statistics.ts'

test('20,000 sessions by week over seven years take under 20 milliseconds of processor time', () => {
  const to = Date.parse('2026-11-20T00:00:00Z')
  const sessions = trainingSessionsWithin(to - 7 * 365 * DAY, to, 20_000, seeded(1))
  const range = { unit: 'week', weekStart: 'monday', from: dayOf('2019-11-22'), to: dayOf('2026-11-20') } as const
  const measure = () => {
    const clock = zoneClock('Europe/Berlin')
    const before = process.cpuUsage()
    const { total } = trainingStatistics(sessions, bucketsOf(range, clock, to), clock)
    streaksOf(
      sessions.map(({ at }) => clock.dayOf(at)),
      dayOf('2026-11-20'),
      clock,
    )
    const { user, system } = process.cpuUsage(before)
    assert.ok(total.sessions > 19_900)
    return (user + system) / 1000
  }
  // Other work on the machine makes single runs slower.
  assert.ok(Math.min(...Array.from({ length: 30 }, measure)) < 20)
})
