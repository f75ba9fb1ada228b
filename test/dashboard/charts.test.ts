// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { allowSignIn, drawnValues, sampleService, signIn } from '../support/dashboard.ts'
import { testDrawn } from '../support/pages.ts'
import * as records from '../support/records.ts'
import { startService } from '../support/service.ts'

const WHOLE_YEAR = '/training?range=1y'

/** An element that moved, as browsers report it; TypeScript does not have this type yet. */
interface LayoutShiftAttribution {
  readonly node: Node | null
  readonly previousRect: DOMRectReadOnly
  readonly currentRect: DOMRectReadOnly
}

describe('charts', needsChromium, () => {
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
    await using browser = await openPage()
    const { page } = browser
    await signIn(page, service.url, 'ann')
    for (const [index, name] of Object.keys(lengths).entries()) {
      await page.goto(`${service.url}/locks/${index + 1}`)
      await page.locator('.plot-timeline').scrollIntoViewIfNeeded()
      await page.locator('.plot-timeline svg [data-mark=rect] rect').first().waitFor()
      assert.deepEqual(browser.problems, [], name)
    }
  })

  testDrawn('each kind of chart')

  test('a chart that cannot be drawn opens its table and reports why', async () => {
    await using service = await sampleService()
    await using browser = await openPage()
    const { page } = browser
    await page.route('**/assets/plot.js*', route => route.abort())
    await signIn(page, service.url)
    await page.goto(`${service.url}/programs/13`)
    await page.locator('.chart.failed').first().waitFor()
    await page.getByRole('region', { name: 'Segments, as a table' }).waitFor()
    assert.ok(browser.problems.some(problem => problem.startsWith('console: The chart "segments" cannot be drawn')))
  })

  test('each chart has as many marks as rows in its table, in both themes and widths', async () => {
    await using service = await sampleService()
    for (const { colorScheme, width } of [
      { colorScheme: 'light', width: 1440 },
      { colorScheme: 'dark', width: 320 },
    ] as const) {
      await using browser = await openPage({ colorScheme, viewport: { width, height: 900 } })
      const { page } = browser
      await signIn(page, service.url)
      await page.goto(service.url + WHOLE_YEAR)
      const chart = (title: string) =>
        page.locator('[data-chart]', { has: page.getByRole('heading', { name: title, exact: true }) })
      const drawn = async (title: string, marks: string) => {
        await chart(title).locator('.plot').scrollIntoViewIfNeeded()
        await chart(title).locator('svg').first().waitFor()
        return chart(title).locator(marks).count()
      }
      await chart('Grade over time').getByRole('button', { name: 'Table' }).click()
      await chart('Grade over time').getByRole('columnheader', { name: 'Average over seven' }).waitFor()
      // The table has the same rows, in pages.
      const dots = await drawn('Grade over time', '[data-mark=dot] circle')
      await chart('Grade over time').getByText(`1–100 of ${dots}`).waitFor()
      assert.equal(await chart('Grade over time').locator('tbody tr').count(), 100)
      const hollow = await chart('Grade over time').locator('[data-mark=dot] circle[fill="var(--card)"]').count()
      const notPassed = drawnValues(await page.content(), 'grades', 'passed').filter(value => value === 0).length
      assert.equal(hollow, notPassed)
      assert.equal(await chart('Grade over time').locator('[data-mark=line] path').count(), 1)

      assert.equal(await drawn('Grade by kind', 'svg'), 4, 'each kind has a chart of its own')
      const summary = (await chart('Grade by kind').locator('.summary').textContent()) ?? ''
      assert.match(summary, /The same in every session, so not drawn: [\w-]+ \(100\s%\), [\w-]+ \(100\s%\)\./)
      assert.equal(await drawn('Pass rate by kind', '[data-mark=text] text'), 6)
      // Beside the bars where there is room, above them elsewhere.
      const labels = chart('Pass rate by kind').locator('[data-mark="y-axis tick label"]')
      assert.equal(await labels.getAttribute('text-anchor'), width === 320 ? 'start' : 'end')
      assert.equal(await drawn('Repetitions per week', '[data-mark=rect] [fill="url(#hatch-so-far)"]'), 1)
      await drawn('Distance per week (m)', 'svg')
      const estimated = chart('Distance per week (m)').locator('[fill="url(#hatch-approximate)"]')
      assert.ok((await estimated.count()) > 0, 'estimates look different')

      // The table closes and opens again.
      const head = chart('Grade over time').getByRole('columnheader', { name: 'Average over seven' })
      await chart('Grade over time').getByRole('button', { name: 'Table' }).click()
      assert.ok(!(await head.isVisible()))
      await chart('Grade over time').getByRole('button', { name: 'Table' }).click()
      assert.ok(await head.isVisible())
      assert.deepEqual(browser.problems, [])
    }
  })

  test('a chart with one point shows it, and one without data says so', async () => {
    const today = formatTimestamp(Math.floor((Date.now() - DAY_MS) / 1000) * 1000)
    await using service = await startService([
      records.account(1, 'ann'),
      records.trainingSession(1, 1, { created_at: today, TrainerSegment: [records.trainerSegment(1)] }),
      records.trainingSession(2, 1, { created_at: today, TrainerSegment: [] }),
      records.trainingTemplate(1, 1, { Segment: [] }),
    ])
    await allowSignIn(service, 'ann')
    await using browser = await openPage()
    const { page } = browser
    await signIn(page, service.url, 'ann')
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
    await shows('/training?program=7', 'Grade over time', 'No sessions in this time')
    await shows('/training?program=7', 'Repetitions per week', 'No repetitions in this time')
    await shows('/training?program=7', 'Distance per week (m)', 'No distance known in this time')
    await shows('/training?program=7', 'Pass rate by kind', 'No segments in this time')
    await shows('/training/2', 'Measured against target', 'No segments')
    await shows('/training/1', 'Measured against target', '1 Repetitions')
    await shows('/programs/1', 'Segments', 'No segments')
    assert.deepEqual(browser.problems, [])
  })

  test('nothing moves while charts are drawn: their space is reserved from the first paint on', async () => {
    await using service = await sampleService()
    for (const width of [320, 768, 1440]) {
      await using browser = await openPage({ viewport: { width, height: 900 } })
      const { page } = browser
      await page.addInitScript(() => {
        const moved: string[] = []
        Object.assign(globalThis, { moved })
        const describe = ({ node, previousRect, currentRect }: LayoutShiftAttribution) =>
          `${(node as Element | null)?.className} from ${previousRect.y} to ${currentRect.y}`
        const note = (entries: PerformanceEntryList) => {
          for (const entry of entries) {
            moved.push((entry as PerformanceEntry & { sources: LayoutShiftAttribution[] }).sources.map(describe).join())
          }
        }
        const observer = new PerformanceObserver(list => note(list.getEntries()))
        observer.observe({ type: 'layout-shift', buffered: true })
        Object.assign(globalThis, { noteLast: () => note(observer.takeRecords()) })
      })
      await signIn(page, service.url)
      for (const path of ['/', WHOLE_YEAR, '/training/100', '/programs/1', '/locks', '/locks/5']) {
        await page.goto(service.url + path)
        const height = () => page.evaluate(() => document.documentElement.scrollHeight)
        const before = await height()
        for (const chart of await page.locator('[data-chart]').all()) {
          await chart.scrollIntoViewIfNeeded()
          await chart.locator('svg').first().waitFor()
        }
        assert.equal(await height(), before, `${path} at ${width}`)
        const moved = await page.evaluate(async () => {
          const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
          await frame().then(frame)
          const noted = globalThis as unknown as { moved: string[]; noteLast: () => void }
          noted.noteLast()
          return noted.moved
        })
        assert.deepEqual(moved, [], `${path} at ${width}`)
      }
    }
  })

  test('filters are part of the address: they survive going back, and further filters', async () => {
    await using service = await sampleService()
    await using browser = await openPage()
    const { page } = browser
    await signIn(page, service.url)
    await page.goto(`${service.url}/training`)
    await page.getByRole('link', { name: '6 months' }).click()
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

  test('before a chart comes into view, a browser loads less than 60 KB of script; on pages without charts, never more', async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width: 1280, height: 200 } })
    const { page, requests } = browser
    // By address: a script is loaded once, as its address has its version.
    const scripts = new Map<string, number>()
    page.on('response', response => {
      const { pathname } = new URL(response.url())
      if (pathname.endsWith('.js')) scripts.set(response.url(), Number(response.headers()['content-length']))
    })
    await signIn(page, service.url)
    await page.goto(`${service.url}/training/100`, { waitUntil: 'networkidle' })
    await page.goto(`${service.url}/programs`, { waitUntil: 'networkidle' })
    const own = [...scripts].filter(([url]) => !url.includes('/plot.js'))
    const bytes = own.reduce((sum, [, length]) => sum + length, 0)
    assert.ok(bytes > 0 && bytes < 60_000, `${bytes} bytes of script`)
    assert.ok(
      own.every(([url]) => url.includes('?v=')),
      'every address has a version',
    )
    const before = requests.length
    await page.goto(`${service.url}/`, { waitUntil: 'networkidle' })
    assert.ok(!requests.slice(before).some(request => /plot|charts/.test(new URL(request).pathname)))
    assert.deepEqual(browser.problems, [])
  })
})
