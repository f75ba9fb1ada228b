// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { needsChromium } from '../support/chromium.ts'
import { drawnValues, type Seen, type Visitor, signInAs } from '../support/dashboard.ts'
import { DRAWN, openSession } from '../support/pages.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

/** More sessions than a chart has marks: two a day, each with a grade in two kinds, and one with many segments. */
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

  test('more than 400 sessions are drawn by week, as their median and a band around it', async () => {
    const { text } = await ann.get('/training?range=all')
    const [median, low, high] = ['median', 'low', 'high'].map(key => drawnValues(text, 'grades', key))
    assert.ok(median !== undefined && median.length > 35 && median.length < 39)
    // The sessions of a whole week have grades in steps of one.
    for (const [index, value] of [...median.entries()].slice(2, 30)) {
      assert.ok((low?.[index] ?? 100) <= value && value <= (high?.[index] ?? 0))
    }
    // Of the fourteen grades of a week, the second, the seventh and the thirteenth.
    const exact = [...median.entries()].filter(
      ([index, value]) => value - (low?.[index] ?? 0) === 5 && (high?.[index] ?? 0) - value === 6,
    )
    assert.ok(exact.length > 15, `${exact.length} weeks without a jump back`)
    assert.match(text, /501 sessions, so each week is drawn as one/)
    assert.equal(drawnValues(text, 'grades', 'kind-1').length, median.length)
    const few = await ann.get('/training?range=4w')
    assert.ok(drawnValues(few.text, 'grades', 'grade').length > 50, 'fewer have a mark each')
  })

  test('the table of a chart is a page of its own, 100 rows at a time, which keeps the filters', async () => {
    const { text } = await ann.get('/training?range=6m')
    assert.match(text, /href="\/training\?range=6m&amp;table=grades"/)
    const first = await ann.get('/training?range=6m&table=grades')
    assert.equal(first.text.split('<tr>').length - 2, 100)
    assert.match(first.text, /<h1>Training: Grade over time<\/h1>/)
    assert.match(first.text, /<p class="back"><a href="\/training\?range=6m">/)
    assert.match(first.text, /rel="next" href="\/training\?range=6m&amp;table=grades&amp;page=2">Later rows</)
    const last = await ann.get('/training?range=6m&table=grades&page=4')
    assert.match(last.text, /301–\d+ of 3\d\d/)
    assert.match((await ann.get('/training?range=6m&table=unknown')).text, /<h1>Training<\/h1>/)
  })

  test('tables on the page of a record have 100 rows', async () => {
    for (const path of [`/training/${SESSIONS + 1}`, '/locks/1']) {
      const { text } = await ann.get(path)
      assert.equal(text.split(/<.?tbody>/)[1]?.split('<tr>').length, 101, path)
      assert.match((await ann.get(`${path}?page=3`)).text, /201–250 of 250/, path)
      // The next page stays at the table.
      const [, place = '?'] = new RegExp(`rel="next" href="${path}\\?page=2#([a-z]+)"`).exec(text) ?? []
      assert.match(text, new RegExp(`<section class="card" id="${place}">[^]*<h2>(Segments|Events)</h2>`), path)
    }
  })

  test('the JSON of a long record is shown in part, with a link to the whole', async () => {
    const path = `/training/${SESSIONS + 1}`
    const { text } = await ann.get(`${path}?view=data`)
    const [, shown = ''] = /<pre[^>]*><code>([^]*?)<\/code>/.exec(text) ?? []
    const length = shown.replaceAll('&quot;', '"').length
    assert.ok(length > 15_000 && length <= 16 * 1024 + 2, String(length))
    const [, link = ''] = /<a href="([^"]+)" download>The whole record</.exec(text) ?? []
    const whole = await ann.get(path + link.replaceAll('&amp;', '&'))
    const { body } = await service.fetch(`/api/v1/dtt/sessions/${SESSIONS + 1}`, 'ann')
    assert.deepEqual(JSON.parse(whole.text), body)
  })

  test('pages are compressed, except for requests of other sites and in response to forms', async () => {
    const encodings = { 'Accept-Encoding': 'gzip, br' }
    const encodingOf = ({ headers }: Seen) => headers.get('Content-Encoding')
    const page = await ann.get('/training', encodings)
    assert.equal(encodingOf(page), 'br')
    assert.match(page.text, /<h1>Training<\/h1>/)
    assert.equal(page.headers.get('Vary'), 'Accept-Encoding')
    assert.equal(encodingOf(await ann.get('/training', { 'Accept-Encoding': 'gzip, br;q=0' })), 'gzip')
    assert.equal(encodingOf(await ann.get('/training', { 'Accept-Encoding': 'identity' })), null)
    for (const site of ['cross-site', 'same-site']) {
      assert.equal(encodingOf(await ann.get('/training', { ...encodings, 'Sec-Fetch-Site': site })), null)
    }
    const key = await ann.post('/keys', { name: 'Shown once', scope: 'dtt:read', expires: '30d' }, encodings)
    assert.match(key.text, /lks_[0-9A-Za-z]{36}/)
    assert.equal(encodingOf(key), null)
  })

  test('a page with charts has two scripts and one style sheet, which are kept for good and take less than 100 KB to load', async () => {
    const { text } = await ann.get('/training')
    const [scripts, styles] = ['js', 'css'].map(type => [
      ...text.matchAll(new RegExp(`"(/assets/[^"]*\\.${type}\\?v=[^"]+)"`, 'g')),
    ])
    assert.deepEqual(
      scripts?.map(([, path]) => path?.split('?')[0]),
      ['/assets/dashboard.js', '/assets/plot.js'],
    )
    assert.equal(styles?.length, 1)
    let bytes = 0
    for (const [, path = ''] of [...(scripts ?? []), ...(styles ?? [])]) {
      const response = await fetch(service.url + path, { headers: { 'Accept-Encoding': 'br' } })
      assert.match(response.headers.get('Cache-Control') ?? '', /max-age=31536000, immutable/)
      bytes += Number(response.headers.get('Content-Length'))
    }
    assert.ok(bytes < 100_000, `${bytes} bytes`)
    const [, script = ''] = scripts?.[0] ?? []
    const { text: code } = await ann.get(script)
    assert.doesNotMatch(code, /^import /m, 'it needs no other file before it runs')
    assert.ok(
      code.includes(`import('./plot.js?v=${scripts?.[1]?.[1]?.split('=')[1]}')`),
      'the preloaded one is the one it loads',
    )
    assert.doesNotMatch((await ann.get('/keys')).text, /plot\.js/)
  })

  test('assets are compressed once, and have a validator for each encoding', async () => {
    const etags = new Set<string | null>()
    for (const encoding of ['br', 'gzip', 'identity']) {
      const { status, headers, text } = await ann.get('/assets/dashboard.js', { 'Accept-Encoding': encoding })
      assert.equal(status, 200)
      assert.equal(headers.get('Content-Encoding'), encoding === 'identity' ? null : encoding)
      assert.match(text, /querySelectorAll\('\[data-chart\]'\)/)
      const etag = headers.get('ETag')
      etags.add(etag)
      const again = await ann.get('/assets/dashboard.js', { 'Accept-Encoding': encoding, 'If-None-Match': etag ?? '' })
      assert.equal(again.status, 304)
    }
    assert.equal(etags.size, 3)
  })

  test('bands and their panels are drawn, and open as tables', needsChromium, async () => {
    await using browser = await openSession(service, { username: 'ann', viewport: { width: 1280, height: 4000 } })
    const { page } = browser
    await page.goto(`${service.url}/training?range=all`)
    await page.locator('#grades [data-mark=area] path').waitFor()
    await page.locator(`#grades-by-kind ${DRAWN}`).first().waitFor()
    assert.equal(await page.locator('#grades-by-kind svg').count(), 3)
    await page.locator('#grades').getByRole('button', { name: 'Show the figures' }).click()
    await page.locator('#grades').getByRole('columnheader', { name: 'Week of' }).waitFor()
    await page.goto(`${service.url}/training?range=6m`)
    const grades = page.locator('#grades')
    await grades.getByRole('button', { name: 'Show the figures' }).click()
    await grades.getByRole('link', { name: 'Later rows' }).click()
    await grades.getByText(/^101–200 of/).waitFor()
    assert.equal(new URL(page.url()).search, '?range=6m')
    await grades.getByRole('link', { name: 'Later rows' }).and(page.locator(':focus')).waitFor()
    assert.deepEqual(browser.problems, [])
  })
})
