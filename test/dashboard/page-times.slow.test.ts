// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heavyDecades, heavyYear, heavyYears } from '../support/heavy-year.ts'
import { heavyPages, heavyViews, MAX_PAGE_BYTES, MAX_PAGE_NODES, nodesOf } from '../support/page-budgets.ts'
import { account } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'
import { signInAs } from '../support/dashboard.ts'

test('a page of a year of heavy use takes less processor time than reading the records of the year from JSON 15 times', async t => {
  const year = [...heavyYear(1, Date.now())]
  await using service = await startService([account(1, 'ann'), ...year], unlimited)
  const ann = await signInAs(service, 'ann')
  const lines = year.map(line => JSON.stringify(line))
  for (const path of heavyPages) {
    // In turns, and the best of each, because other work on the machine slows down single runs.
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

test('no page has more than 60 KB, 4,000 elements or 60 marks in a picture, also with 20,000 sessions', async () => {
  await assertBudgets(heavyYears(1, Date.now()), heavyViews)
})

test('no page has more over thirty years, because long times are drawn by month or quarter', async () => {
  await assertBudgets(heavyDecades(1, Date.now()), ['/', '/training?range=all', FIFTEEN_YEARS, '/programs/1', '/locks'])
})

const FIFTEEN_YEARS = '/training?from=2006-01-01&to=2020-12-31'

async function assertBudgets(records: Iterable<object>, pages: readonly string[]) {
  await using service = await startService([account(1, 'ann'), ...records], unlimited)
  const ann = await signInAs(service, 'ann')
  for (const path of pages) {
    const { status, text } = await ann.get(path)
    assert.equal(status, 200, path)
    const bytes = Buffer.byteLength(text)
    assert.ok(bytes <= MAX_PAGE_BYTES, `${path}: ${bytes} bytes`)
    assert.ok(nodesOf(text) <= MAX_PAGE_NODES, `${path}: ${nodesOf(text)} elements`)
    const hasPictures = path.startsWith('/training') || path === '/locks'
    const marks = text.split('</table>').map(table => table.match(/<tr data-x/g)?.length ?? 0)
    if (hasPictures) assert.ok(Math.max(...marks) <= MAX_MARKS, `${path}: ${marks.join()} marks`)
  }
}

const MAX_MARKS = 60

/** Milliseconds. */
async function processorTime(work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
