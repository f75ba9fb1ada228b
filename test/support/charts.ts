import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openPage } from './chromium.ts'
import { drawnValues, sampleOfThisWeek, sampleService, startSession, visitorAs } from './dashboard.ts'
import { DRAWN, openSession } from './pages.ts'
import type { TestService } from './service.ts'

/** The tests of the charts of the sample in a browser. */

const WHOLE_YEAR = '/training?range=1y'

/** An element that moved, as browsers report it; TypeScript does not have this type yet. */
interface LayoutShiftAttribution {
  readonly node: Node | null
  readonly previousRect: DOMRectReadOnly
  readonly currentRect: DOMRectReadOnly
}

/** Registers the test that the charts of every page are drawn. */
export function testDrawn() {
  test('every chart of the sample is drawn', async () => {
    await using service = await sampleService()
    // Tall enough for every chart to be in view.
    await using browser = await openSession(service, { viewport: { width: 1280, height: 4000 } })
    const { page } = browser
    for (const path of await pagesWithCharts(service)) {
      await page.goto(service.url + path)
      await page.waitForFunction(() =>
        [...document.querySelectorAll('[data-chart]')].every(
          chart => chart.querySelector('.plot:not(:has(.space)) svg') !== null || chart.classList.contains('failed'),
        ),
      )
      assert.equal(await page.locator('.chart.failed').count(), 0, path)
      assert.deepEqual(browser.problems, [], path)
    }
  })
}

/** Registers the test that the charts of a year and their tables show the same. */
export function testMarks({ colorScheme, width }: { colorScheme: 'light' | 'dark'; width: number }) {
  test(`each chart has as many marks as rows in its table: ${colorScheme}, ${width} pixels wide`, async () => {
    await using service = await sampleOfThisWeek()
    await using browser = await openSession(service, { colorScheme, viewport: { width, height: 900 } })
    const { page } = browser
    await page.goto(service.url + WHOLE_YEAR)
    const chart = (title: string) =>
      page.locator('[data-chart]', { has: page.getByRole('heading', { name: title, exact: true }) })
    const drawn = async (title: string, marks: string) => {
      await chart(title).locator('.plot').scrollIntoViewIfNeeded()
      await chart(title).locator(DRAWN).first().waitFor()
      return chart(title).locator(marks).count()
    }
    await chart('Grade over time').getByRole('button', { name: 'Show the figures' }).click()
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
    assert.match(summary, /Hardly any difference, so not drawn: [\w\u2011]+, [\w\u2011]+\./)
    const parts = await drawn('Repetitions per week', '[data-mark=rect] [fill="url(#hatch-so-far)"]')
    assert.ok(parts === 1 || parts === 2, 'the running week, and the first one where it is cut')
    await drawn('Distance per week (m)', 'svg')
    const estimated = chart('Distance per week (m)').locator('[fill="url(#hatch-approximate)"]')
    assert.ok((await estimated.count()) > 0, 'estimates look different')

    // The table closes and opens again.
    const head = chart('Grade over time').getByRole('columnheader', { name: 'Average over seven' })
    await chart('Grade over time').getByRole('button', { name: 'Show the figures' }).click()
    assert.ok(!(await head.isVisible()))
    await chart('Grade over time').getByRole('button', { name: 'Show the figures' }).click()
    assert.ok(await head.isVisible())
    assert.deepEqual(browser.problems, [])
  })
}

/** Registers the test that drawing a chart moves nothing on its page. */
export function testStill(width: number) {
  test(`nothing moves while charts are drawn: their space is reserved from the first paint on, ${width} pixels wide`, async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width, height: 900 } })
    const { page } = browser
    await page.addInitScript(() => {
      const moved: string[] = []
      Object.assign(globalThis, { moved })
      const describe = ({ node, previousRect, currentRect }: LayoutShiftAttribution) =>
        `${(node as Element | null)?.outerHTML.slice(0, 200)} from ${[previousRect.x, previousRect.y].join()} to ${[currentRect.x, currentRect.y].join()}`
      const note = (entries: PerformanceEntryList) => {
        for (const entry of entries) {
          moved.push((entry as PerformanceEntry & { sources: LayoutShiftAttribution[] }).sources.map(describe).join())
        }
      }
      const observer = new PerformanceObserver(list => note(list.getEntries()))
      observer.observe({ type: 'layout-shift', buffered: true })
      Object.assign(globalThis, { noteLast: () => note(observer.takeRecords()) })
    })
    await startSession(page, service.url)
    for (const path of ['/', WHOLE_YEAR, '/programs/1', '/locks', '/locks/5']) {
      await page.goto(service.url + path)
      const height = () => page.evaluate(() => document.documentElement.scrollHeight)
      const before = await height()
      for (const chart of await page.locator('[data-chart]').all()) {
        await chart.scrollIntoViewIfNeeded()
        await chart.locator(DRAWN).first().waitFor()
      }
      assert.equal(await height(), before, path)
      const moved = await page.evaluate(async () => {
        const frame = () => new Promise(resolve => requestAnimationFrame(resolve))
        await frame().then(frame)
        const noted = globalThis as unknown as { moved: string[]; noteLast: () => void }
        noted.noteLast()
        return noted.moved
      })
      assert.deepEqual(moved, [], path)
    }
  })
}

/** The pages of the sample that have charts. */
async function pagesWithCharts(service: TestService): Promise<ReadonlySet<string>> {
  const reader = await visitorAs(service.url, 'alex')
  const ranges = ['4w', '6m', '1y', 'all'].map(range => `/training?range=${range}`)
  const paths = new Set([...ranges, '/locks'])
  for (const list of ['/', '/programs', '/locks?range=all', '/locks?range=all&page=2']) {
    const { text } = await reader.get(list)
    for (const [, path = ''] of text.matchAll(/href="(\/(?:programs|locks)\/\d+)"/g)) paths.add(path)
  }
  const locks = await service.store.db.selectFrom('lock_session').select('id').where('owner_id', '=', 1).execute()
  for (const { id } of locks) assert.ok(paths.has(`/locks/${id}`), `lock session ${id} is listed`)
  for (const path of paths) assert.match((await reader.get(path)).text, / data-chart="/, path)
  return paths
}
