import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { heavyYear } from '../support/heavy-year.ts'
import { account } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

test('a year of heavy use opens each page in under 150 ms', async () => {
  await using service = await startService([account(1, 'ann'), ...heavyYear(1, Date.now())], unlimited)
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const paths = [
    '/',
    '/training',
    '/training?range=1y',
    '/training?range=all',
    '/training/1000',
    '/programs',
    '/programs/1',
    '/locks',
    '/locks/150',
    '/keys',
    '/settings',
  ]
  for (const path of paths) {
    const times: number[] = []
    for (let round = 0; round < 7; round += 1) {
      const before = process.cpuUsage()
      assert.equal((await ann.get(path)).status, 200, path)
      const { user, system } = process.cpuUsage(before)
      times.push((user + system) / 1000)
    }
    const median = times.toSorted((a, b) => a - b)[3] ?? Infinity
    assert.ok(median < 150, `${path} took ${median.toFixed(0)} ms`)
  }
})
