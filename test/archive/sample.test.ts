import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DAY_MS } from '../../src/contract/time.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { openStore } from '../support/archives.ts'

const HOUR_MS = 3_600_000
const now = Date.parse('2026-03-18T14:25:36.789Z')
const midnight = now - (now % DAY_MS)
const ALEX = 1

const linesOf = (today: number): any[] => [...sampleArchive(today)].map(line => JSON.parse(line))

/** Every instant that stands anywhere in a record. */
function instantsIn(value: unknown): number[] {
  if (typeof value === 'string') return /^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value) ? [Date.parse(value)] : []
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(instantsIn) : []
}

test('the sample is imported whole: every line added, no field extra, no session unfinished', async () => {
  await using store = await openStore()
  const lines = [...sampleArchive(now)]
  const { kinds, extra, unfinishedCount } = await store.import(lines)
  assert.deepEqual([extra, unfinishedCount], [[], 0])
  for (const { kind, added, replaced, unchanged, skipped } of kinds) {
    const count = lines.filter(line => line.startsWith(`{"kind":"${kind}"`)).length
    assert.deepEqual([added, replaced, unchanged, skipped], [count, 0, 0, 0], kind)
  }
})

test('at any hour of a week there is a year of training, whose last session is less than a day old, and only a planned end is after now', () => {
  for (let hour = 0; hour < 7 * 24; hour += 7) {
    const today = midnight + hour * HOUR_MS
    const lines = linesOf(today)
    const happened = lines.map(({ data }) => (data.isActive === true ? { ...data, endDate: null } : data))
    const latest = Math.max(...happened.flatMap(instantsIn))
    assert.ok(latest <= today, `${new Date(latest).toISOString()} at ${new Date(today).toISOString()}`)
    const trained = lines.filter(({ ownerId }) => ownerId === ALEX)
    const times = trained.flatMap(({ data }) => instantsIn(data.created_at))
    assert.ok(times.length >= 180 && today - Math.max(...times) < DAY_MS, new Date(today).toISOString())
    const failed = trained.filter(({ data }) => data.passed === false).length / trained.length
    assert.ok(failed > 0.08 && failed < 0.2, String(failed))
  }
})
