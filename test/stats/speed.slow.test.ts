import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bucketsOf } from '../../src/stats/buckets.ts'
import { streaksOf } from '../../src/stats/streaks.ts'
import { trainingStatistics } from '../../src/stats/training-statistics.ts'
import { zoneClock } from '../../src/stats/zone-clock.ts'
import { DAY, dayOf, seeded, trainingSessionsWithin } from '../support/statistics.ts'

/** On an idle core of 2026 both take about 20 milliseconds. */
test('20,000 sessions by week over seven years take less than twice the processor time of parsing them from JSON', async () => {
  const to = Date.parse('2026-11-20T00:00:00Z')
  const sessions = trainingSessionsWithin(to - 7 * 365 * DAY, to, 20_000, seeded(1))
  const range = { unit: 'week', weekStart: 'monday', from: dayOf('2019-11-22'), to: dayOf('2026-11-20') } as const
  const text = JSON.stringify(sessions)
  const computeStatistics = async () => {
    const clock = zoneClock('Europe/Berlin')
    const { total } = await trainingStatistics(sessions, bucketsOf(range, clock, to), clock)
    streaksOf(
      sessions.map(({ at }) => clock.dayOf(at)),
      dayOf('2026-11-20'),
      clock,
    )
    assert.ok(total.sessions > 19_900)
  }
  // In turns, and the best of each, because other work on the machine slows down single runs.
  const times: number[][] = []
  for (let round = 0; round < 30; round += 1) {
    times.push([await processorTime(computeStatistics), await processorTime(async () => void JSON.parse(text))])
  }
  const [statistics = 0, parsing = 0] = [0, 1].map(index => Math.min(...times.map(pair => pair[index] ?? 0)))
  assert.ok(statistics < 2 * parsing, `${statistics} against ${parsing} microseconds`)
})

/** Microseconds. */
async function processorTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return user + system
}
