import { test } from 'node:test'
import {
  checkLocksByMinute,
  checkPartition,
  checkTraining,
  rangesOver,
  seeded,
  transitionsOf,
} from '../support/statistics.ts'

const YEARS = [2016, 2026] as const

test('in every zone buckets fill ten years without a gap, and hold what a count by minute finds', () => {
  for (const [index, zone] of Intl.supportedValuesOf('timeZone').entries()) {
    const random = seeded(index)
    for (const range of rangesOver(YEARS)) {
      checkPartition(range, zone)
      checkTraining(range, zone, random)
    }
    for (const at of transitionsOf(zone, YEARS)) checkLocksByMinute(at, zone, random)
    checkLocksByMinute(Date.parse('2020-02-29T12:00:00Z'), zone, random)
  }
})
