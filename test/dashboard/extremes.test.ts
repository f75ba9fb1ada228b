// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { cellTexts, figures, type Visitor, signInAs } from '../support/dashboard.ts'
import { extremeRecords } from '../support/extremes.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const now = Math.floor(Date.now() / 1000) * 1000
const ago = (days: number) => formatTimestamp(now - days * DAY_MS)

describe('records that are seldom seen', () => {
  let service: TestService
  let ann: Visitor
  before(async () => {
    service = await startService(extremeRecords(now), unlimited)
    ann = await signedIn(service)
  })
  after(() => service[Symbol.asyncDispose]())

  test('a lock session without an end or events has no known length, which is not 0', async () => {
    const { text } = await ann.get('/locks/52')
    assert.match(text, /<\/time>, end not known/)
    assert.match(text, /<dt>Lasted<\/dt><dd>–/)
    assert.doesNotMatch(text, /\b0\ss\b/)
    const lines = (await ann.get('/locks.csv')).text.split('\r\n')
    assert.match(lines.find(line => line.startsWith('52,')) ?? '', /^52,Lock 52,Ended early,[^,]+,,0,,,$/)
  })

  test('an active lock session that starts later has not been running, and is not over', async () => {
    assert.match((await ann.get('/')).text, /<h1><span data-live="state">Starts <time /)
    assert.match((await ann.get('/locks')).text, /<h1><span data-live="state">Starts <time /)
    assert.match(
      (await ann.get('/locks/53')).text,
      /<span class="beside">Pending<\/span><\/h1>\s*<p class="lead">(?:<span[^>]*>)*<time [^>]*>[^<]*<\/time> <span class="state">Date in the future<\/span>[^]*?<\/p>/,
    )
  })

  test('a target of 0 is no target', async () => {
    const { text } = await ann.get('/training/1')
    const rows = [...text.matchAll(/<tr[^>]*>([^]*?)<\/tr>/g)].map(([, row = '']) => cellTexts(row))
    const measured = (name: string) => rows.find(([segment]) => segment?.startsWith(name))?.slice(3, 5)
    assert.deepEqual(measured('1 Repetitions'), ['1:01 of 1:00', '1,234,567 of 20'])
    assert.deepEqual(measured('2 unlisted'), ['1:01', '19'])
  })

  test('small charts keep grades below 0 and above 100 inside', async () => {
    const drawings = [...(await ann.get('/')).text.matchAll(/<svg class="plane"[^>]*>([^]*?)<\/figure>/g)]
    const heights = drawings.flatMap(([, marks = '']) =>
      [...marks.matchAll(/[MV][\d.-]* ?([\d.-]+)/g)].map(([, y]) => Number(y)),
    )
    assert.ok(heights.length > 1)
    for (const height of heights) assert.ok(height >= 0 && height <= 1000, String(height))
  })

  test('pictures of all sessions reach to this week, quarter or year, also if a session has a date in the future', async () => {
    const last = ago(-400).slice(0, 10)
    const { text } = await ann.get('/training?range=all')
    const days = [...text.matchAll(/from=[\d-]+&amp;to=([\d-]+)">[^<]*</g)].map(([, to = '']) => to)
    assert.ok((days.at(-1) ?? '') >= ago(0).slice(0, 10), String(days.at(-1)))
    assert.ok((days.at(-1) ?? '') < last, String(days.at(-1)))
  })

  test('numbers of days from a thousand on are written like other numbers', async () => {
    assert.match((await ann.get('/locks/51')).text, /Planned<\/dt><dd>3,650\sd/)
  })
})

test('if all sessions are in the future, the overview shows none of them as the last one', async () => {
  const history = [records.account(1, 'ann'), records.trainingSession(1, 1, { created_at: ago(-40) })]
  await using service = await startService(history, unlimited)
  const { text } = await (await signedIn(service)).get('/')
  assert.doesNotMatch(text, /Last session/)
})

test('weeks and months of which nothing is known yet are not 0', async () => {
  const events = [records.lockSegment(1, 'start', ago(150), true), records.lockSegment(2, 'unlocked', ago(100), false)]
  const history = [
    { ...records.account(1, 'ann'), asOf: ago(75) },
    ...[90, 83].map((days, index) => records.trainingSession(index + 1, 1, { created_at: ago(days) })),
    records.lockSession(51, 1, { startDate: ago(150), endDate: ago(100), LockSegment: events }),
  ]
  await using service = await startService(history, unlimited)
  const ann = await signedIn(service)
  const summaryOf = async (path: string, chart: string) =>
    new RegExp(`<section[^>]* id="${chart}"[^]*?<p class="summary"><b>([^]*?)</p>`).exec(
      (await ann.get(path)).text,
    )?.[1] ?? ''
  assert.match(await summaryOf('/training?range=6m', 'repetitions'), /^\d+<\/b> in the last whole week[^;.]*$/)
  // Locked for fifty of the seventy-five days that are known.
  const { text } = await ann.get('/locks?range=all')
  assert.match(text, /Locked<\/dt><dd><data[^>]*>67\s%<\/data><small>50\sd in all<\/small>/)
  const months = figures(text, 'Locked')
  assert.ok(months.some(percent => (percent ?? 0) > 90))
  assert.ok(
    months.slice(-2).every(percent => percent === null),
    months.join(),
  )
})

async function signedIn(service: TestService): Promise<Visitor> {
  const ann = await signInAs(service, 'ann')
  return ann
}
