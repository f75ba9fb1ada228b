import assert from 'node:assert/strict'
import { test } from 'node:test'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { heavyYear } from '../support/heavy-year.ts'
import { account } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

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

test('a page of a year of heavy use takes less processor time than reading the records of the year from JSON 15 times', async t => {
  const year = [...heavyYear(1, Date.now())]
  await using service = await startService([account(1, 'ann'), ...year], unlimited)
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const lines = year.map(line => JSON.stringify(line))
  for (const path of paths) {
    // In turns, and the best of each: other work on the machine makes single runs slower.
    const pages: number[] = []
    const readings: number[] = []
    for (let round = 0; round < 7; round += 1) {
      pages.push(await processorTime(async () => assert.equal((await ann.get(path)).status, 200, path)))
      readings.push(await processorTime(async () => lines.forEach(line => void JSON.parse(line))))
    }
    const [page, reading] = [Math.min(...pages), Math.min(...readings)]
    t.diagnostic(`${path}: ${page.toFixed(0)} ms, reading the year: ${reading.toFixed(0)} ms`)
    assert.ok(page < 15 * reading, `${path} took ${page} ms, reading the year ${reading} ms`)
  }
})

/** Milliseconds. */
async function processorTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
