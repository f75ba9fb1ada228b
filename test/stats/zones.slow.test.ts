import assert from 'node:assert/strict'
import { test } from 'node:test'
import { zoneClock } from '../../src/stats/zone-clock.ts'
import {
  checkHours,
  checkLocksByMinute,
  checkPartition,
  checkTraining,
  rangesOver,
  seeded,
  transitionsOf,
} from '../support/statistics.ts'
import { sweep } from '../support/sweeps.ts'

const YEARS = [2016, 2026] as const

test('in every zone buckets cover ten years without a gap, and count what a count by minute finds', async () => {
  // Of zones that always had the same offsets, one is counted by minute; in a sample one of every eight of these.
  const counted = new Set<string>()
  const every = sweep(8, 1)
  const first = Math.floor(Math.random() * every)
  for (const [index, zone] of Intl.supportedValuesOf('timeZone').entries()) {
    const random = seeded(index)
    const clock = offsetsOf(zone)
    const isCounted = !counted.has(clock) && counted.size % every === first
    counted.add(clock)
    for (const range of rangesOver(YEARS)) {
      checkPartition(range, zone)
      if (isCounted) await checkTraining(range, zone, random)
    }
    if (!isCounted) continue
    for (const at of transitionsOf(zone, YEARS)) {
      await checkLocksByMinute(at, zone, random)
      const day = zoneClock(zone).dayOf(at)
      checkHours(day - 8, day + 7, zone)
    }
    await checkLocksByMinute(Date.parse('2020-02-29T12:00:00Z'), zone, random)
  }
  assert.ok(counted.size > 50)
})

/** When a zone had which offset from UTC, from a year before to a year after. */
function offsetsOf(zone: string): string {
  const first = Temporal.PlainDate.from(`${YEARS[0] - 1}-01-01`).toZonedDateTime({ timeZone: 'UTC' })
  const instants = [first.epochMilliseconds, ...transitionsOf(zone, [YEARS[0] - 1, YEARS[1] + 1])]
  return instants
    .map(at => `${at} ${Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone).offset}`)
    .join()
}
