// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { figures, type Seen, type Visitor, signInAs } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

/** More sessions than a chart has marks: two a day, each with a grade in two types, and one with many segments. */
const SESSIONS = 500
const now = Math.floor(Date.now() / 1000) * 1000

function* history() {
  yield records.account(1, 'ann')
  for (let id = 1; id <= SESSIONS; id += 1) {
    yield records.trainingSession(id, 1, {
      created_at: formatTimestamp(now - ((SESSIONS - id) * DAY_MS) / 2 - 60_000),
      TrainerSegment: ['training', 'endurance'].map((type, index) =>
        records.trainerSegment(2 * id + index, { type, percentGrade: 40 + (id % 50) }),
      ),
    })
  }
  const start = now - 30 * DAY_MS
  yield records.trainingSession(SESSIONS + 1, 1, {
    created_at: formatTimestamp(start),
    TrainerSegment: Array.from({ length: 250 }, (_, index) => records.trainerSegment(5000 + index)),
  })
  yield records.lockSession(1, 1, {
    startDate: formatTimestamp(start),
    endDate: formatTimestamp(start + 5 * DAY_MS),
    LockSegment: Array.from({ length: 250 }, (_, index) =>
      records.lockSegment(
        index + 1,
        index % 2 === 0 ? 'locked' : 'break',
        formatTimestamp(start + index * 1_000_000),
        index % 2 === 0,
      ),
    ),
  })
}

describe('a long history', () => {
  let service: TestService
  let ann: Visitor
  before(async () => {
    service = await startService([...history()], unlimited)
    ann = await signInAs(service, 'ann')
  })
  after(() => service[Symbol.asyncDispose]())

  test('more than 60 sessions are drawn by week, as their median and the band around it', async () => {
    const { text } = await ann.get('/training?range=all')
    const spreads = [...text.matchAll(/>(\d+) % \((\d+)–(\d+)\)/g)].map(found => found.slice(1).map(Number))
    assert.ok(spreads.length > 35 && spreads.length < 39)
    for (const [median = 0, low = 0, high = 0] of spreads) assert.ok(low <= median && median <= high)
    // Of the fourteen grades of a week, in steps of one, the second, that between the seventh and the eighth rounded up, and the thirteenth.
    const exact = spreads.filter(([median = 0, low = 0, high = 0]) => median - low === 6 && high - median === 5)
    assert.ok(exact.length > 15, `${exact.length} weeks without a jump back`)
    assert.match(text, /Median of a week/)
    const few = await ann.get('/training?range=4w')
    assert.equal(figures(few.text, 'Grade', 'grades').length, tableTotal(few.text), 'fewer have a mark each')
  })

  test('tables on the page of a record have 100 rows', async () => {
    const path = `/training/${SESSIONS + 1}`
    const { text } = await ann.get(path)
    const [, card = ''] = text.split('<section class="card" id="rows"')
    assert.equal(card.split(/<.?tbody>/)[1]?.split(/<tr\b/).length, 101)
    assert.match((await ann.get(`${path}?page=3`)).text, /201–250 of 250/)
    // The next page stays at the table.
    assert.ok(text.includes(`rel="next" href="${path}?page=2#rows"`))
  })

  test('the JSON of a long record is shown in part, with the request of the whole', async () => {
    const path = `/training/${SESSIONS + 1}`
    const { text } = await ann.get(`${path}?view=data`)
    const [, shown = ''] = /<pre[^>]*><code>([^]*?)<\/code>/.exec(text) ?? []
    const length = shown.replaceAll('&quot;', '"').length
    assert.ok(length > 15_000 && length <= 16 * 1024 + 2, String(length))
    assert.ok(text.includes(`/api/v1/dtt/sessions/${SESSIONS + 1}`), 'the request of the whole')
  })

  test('pages are compressed, except for requests of other sites and in response to forms', async () => {
    const encodings = { 'Accept-Encoding': 'gzip, br' }
    const encodingOf = ({ headers }: Seen) => headers.get('Content-Encoding')
    const page = await ann.get('/training', encodings)
    assert.equal(encodingOf(page), 'gzip')
    assert.match(page.text, /<h1>Training\b/)
    assert.equal(page.headers.get('Vary'), 'Accept-Encoding')
    for (const accepted of ['identity', 'br, gzip;q=0']) {
      assert.equal(encodingOf(await ann.get('/training', { 'Accept-Encoding': accepted })), null)
    }
    for (const site of ['cross-site', 'same-site']) {
      assert.equal(encodingOf(await ann.get('/training', { ...encodings, 'Sec-Fetch-Site': site })), null)
    }
    const key = await ann.post('/keys', { name: 'Shown once', scope: 'dtt:read', expires: '30d' }, encodings)
    assert.match(key.text, /lks_[0-9A-Za-z]{36}/)
    assert.equal(encodingOf(key), null)
  })

  test('every page has one script of at most 25 KB and one style sheet, which are kept for good', async () => {
    const seen = new Set<string>()
    for (const path of ['/', '/training', '/training/1', '/programs', '/locks', '/locks/1', '/year', '/keys']) {
      const { text } = await ann.get(path)
      const files = [...text.matchAll(/"(\/assets\/[^"?]*\.(?:js|css)\?v=[^"]+)"/g)].map(([, file = '']) => file)
      assert.equal(files.filter(file => file.includes('.js')).length, 1, path)
      assert.equal(files.length, 2, path)
      for (const file of files) seen.add(file)
    }
    for (const file of seen) {
      const response = await fetch(service.url + file, { headers: { 'Accept-Encoding': 'gzip' } })
      assert.match(response.headers.get('Cache-Control') ?? '', /max-age=31536000, immutable/)
      assert.ok(Number(response.headers.get('Content-Length')) < 25_000, file)
      if (file.includes('.js')) assert.doesNotMatch(await response.text(), /^import /m, 'it needs no other file')
    }
  })

  test('assets are compressed once, and have a validator for each encoding', async () => {
    const etags = new Set<string | null>()
    for (const encoding of ['gzip', 'identity']) {
      const { status, headers, text } = await ann.get('/assets/dashboard.js', { 'Accept-Encoding': encoding })
      assert.equal(status, 200)
      assert.equal(headers.get('Content-Encoding'), encoding === 'identity' ? null : encoding)
      assert.match(text, /querySelectorAll\('\.plot\[data-name\]'\)/)
      const etag = headers.get('ETag')
      etags.add(etag)
      const again = await ann.get('/assets/dashboard.js', { 'Accept-Encoding': encoding, 'If-None-Match': etag ?? '' })
      assert.equal(again.status, 304)
    }
    assert.equal(etags.size, 2)
  })
})

/** How many rows the table of sessions has on all of its pages. */
function tableTotal(page: string): number {
  return Number(/\u2013\d+ of (\d+)/.exec(page)?.[1])
}
