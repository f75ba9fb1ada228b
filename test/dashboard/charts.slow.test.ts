// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { testDrawn, testMarks, testStill } from '../support/charts.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { allowSignIn, sampleService, signIn, startSession } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService } from '../support/service.ts'
import { openSession } from '../support/pages.ts'

describe('every chart in a browser', needsChromium, () => {
  testDrawn()
  testMarks({ colorScheme: 'light', width: 1440 })
  testMarks({ colorScheme: 'dark', width: 320 })
  for (const width of [320, 768, 1440]) testStill(width)

  test('a chart that cannot be drawn opens its table and reports why', async () => {
    await using service = await sampleService()
    await using browser = await openPage()
    const { page } = browser
    await page.route('**/assets/plot.js*', route => route.abort())
    await startSession(page, service.url)
    await page.goto(`${service.url}/programs/13`)
    await page.locator('.chart.failed').first().waitFor()
    await page.getByRole('region', { name: 'Segments, as a table' }).waitFor()
    assert.ok(browser.problems.some(problem => problem.startsWith('console: The chart "segments" cannot be drawn')))
  })

  test('a segment too narrow for its name has its number, as in the tables of sessions', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service, { viewport: { width: 360, height: 800 } })
    const { page } = browser
    await page.goto(`${service.url}/programs/13`)
    const names = page.locator('.plot-segments [data-mark=text] text')
    await names.first().waitFor()
    assert.deepEqual(await names.allTextContents(), ['1', '2', '3', '4', '5', '6', '7', '8', '9'])
  })

  test('every lock has its timeline, however short it was', async () => {
    const start = '2026-02-01T08:00:00Z'
    const lengths = { '25 minutes': 25, '23 hours': 23 * 60, '24 hours': 24 * 60, '5 days': 5 * 24 * 60 }
    const locks = Object.entries(lengths).map(([name, minutes], index) => {
      const end = formatTimestamp(Date.parse(start) + minutes * 60_000)
      return records.lockSession(index + 1, 1, {
        name,
        startDate: start,
        endDate: end,
        LockSegment: [
          records.lockSegment(2 * index + 1, 'start', start, true),
          records.lockSegment(2 * index + 2, 'unlocked', end, false),
        ],
      })
    })
    await using service = await startService([records.account(1, 'ann'), ...locks])
    await allowSignIn(service, 'ann')
    await using browser = await openSession(service, { username: 'ann' })
    const { page } = browser
    for (const [index, name] of Object.keys(lengths).entries()) {
      await page.goto(`${service.url}/locks/${index + 1}`)
      await page.locator('.plot-timeline').scrollIntoViewIfNeeded()
      await page.locator('.plot-timeline svg [data-mark=rect] rect').first().waitFor()
      assert.deepEqual(browser.problems, [], name)
    }
  })

  test('a chart with one point shows it, and one without data says so', async () => {
    const today = formatTimestamp(Math.floor((Date.now() - DAY_MS) / 1000) * 1000)
    await using service = await startService([
      records.account(1, 'ann'),
      records.trainingSession(1, 1, { created_at: today, TrainerSegment: [records.trainerSegment(1)] }),
      records.trainingSession(2, 1, { created_at: today, settings_id: 7, TrainerSegment: [] }),
      records.trainingTemplate(1, 1, { Segment: [] }),
    ])
    await allowSignIn(service, 'ann')
    await using browser = await openSession(service, { username: 'ann' })
    const { page } = browser
    const shows = async (path: string, title: string, text: string) => {
      await page.goto(service.url + path)
      const chart = page.locator('[data-chart]', { has: page.getByRole('heading', { name: title, exact: true }) })
      await chart.locator('.plot').scrollIntoViewIfNeeded()
      await chart.locator('svg').first().waitFor()
      assert.ok((await chart.locator('svg').first().textContent())?.includes(text), `${path}: ${title}`)
      return chart
    }
    const one = await shows('/training', 'Grade over time', '100')
    assert.equal(await one.locator('[data-mark=dot] circle').count(), 1)
    assert.equal(await one.locator('[data-mark=line]').count(), 0)
    assert.match((await one.locator('.summary').textContent()) ?? '', /^One session, with a grade of 80/)
    await shows('/training?range=all', 'Grade over time', '100')
    await shows('/training?program=7', 'Grade over time', 'No grades in this period')
    await shows('/training?program=7', 'Repetitions per week', 'No repetitions in this period')
    await shows('/training?program=7', 'Distance per week (m)', 'No distance is known in this period')
    await shows('/programs/1', 'Segments', 'No segments')
    assert.deepEqual(browser.problems, [])
  })

  test('filters are part of the address: they survive going back, and further filters', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service)
    const { page } = browser
    await page.goto(`${service.url}/training`)
    await page.getByRole('link', { name: '26 weeks' }).click()
    await page.waitForURL(url => url.search === '?range=6m')
    await page.locator('select[name=kind]').selectOption({ label: 'Endurance' })
    await page.waitForURL(url => url.searchParams.get('kind') === 'endurance')
    await page.locator('select[name=result]').selectOption({ label: 'Not passed' })
    await page.waitForURL(url => url.searchParams.get('result') === 'not-passed')
    await page.getByRole('link', { name: 'Repetitions' }).click()
    await page.waitForURL(url => url.searchParams.get('sort') === 'reps')
    const { searchParams } = new URL(page.url())
    assert.deepEqual([searchParams.get('range'), searchParams.get('kind')], ['6m', 'endurance'])
    assert.equal(await page.locator('select[name=kind]').inputValue(), 'endurance')
    await page.goBack()
    await page.waitForURL(url => !url.searchParams.has('sort'))
    assert.equal(await page.locator('select[name=result]').inputValue(), 'not-passed')
    await page.getByRole('link', { name: 'Clear filters' }).click()
    await page.waitForURL(url => url.search === '?range=6m')
    assert.deepEqual(browser.problems, [])
  })

  test('a browser loads less than 30 KB of script besides the library of charts, which pages without charts do not load', async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width: 1280, height: 200 } })
    const { page, requests } = browser
    // By address: a script is loaded once, as its address has its version.
    const scripts = new Map<string, number>()
    page.on('response', response => {
      const { pathname } = new URL(response.url())
      if (pathname.endsWith('.js')) scripts.set(response.url(), Number(response.headers()['content-length']))
    })
    await startSession(page, service.url)
    await page.goto(`${service.url}/training`, { waitUntil: 'networkidle' })
    await page.goto(`${service.url}/programs`, { waitUntil: 'networkidle' })
    const own = [...scripts].filter(([url]) => !url.includes('/plot.js'))
    const bytes = own.reduce((sum, [, length]) => sum + length, 0)
    assert.ok(bytes > 0 && bytes < 30_000, `${bytes} bytes of script`)
    assert.deepEqual(
      [...scripts.keys()].filter(url => !url.includes('?v=')),
      [],
      'every address has a version',
    )
    assert.ok(scripts.size > own.length, 'also that of the library of charts')
    const before = requests.length
    await page.goto(`${service.url}/`, { waitUntil: 'networkidle' })
    assert.ok(!requests.slice(before).some(request => /plot|charts/.test(new URL(request).pathname)))
    assert.deepEqual(browser.problems, [])
  })

  test('no script measures the page before the first paint, which would lay it out twice', async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width: 390, height: 844 } })
    const { page } = browser
    await signIn(page, service.url)
    await page.addInitScript(noteSizes)
    for (const path of ['/', '/training?range=1y', '/training/100', '/programs/13', '/locks', '/locks/43']) {
      await page.goto(service.url + path)
      assert.deepEqual(
        await page.evaluate(() => Object.entries(globalThis).find(([name]) => name === 'asked')?.[1]),
        [],
      )
    }
  })
})

/** Runs in the page, before its own scripts: records which measurements they make while the page is parsed. */
function noteSizes() {
  const asked: string[] = []
  Object.assign(globalThis, { asked })
  for (const name of ['clientWidth', 'clientHeight'] as const) {
    const { get } = Object.getOwnPropertyDescriptor(Element.prototype, name) ?? {}
    Object.defineProperty(Element.prototype, name, {
      get() {
        if (document.readyState !== 'complete') asked.push(`${name} of ${String(this.className)}`)
        return get?.call(this)
      },
    })
  }
  const { getBoundingClientRect } = Element.prototype
  Element.prototype.getBoundingClientRect = function () {
    if (document.readyState !== 'complete') asked.push(`box of ${this.className}`)
    return getBoundingClientRect.call(this)
  }
}
