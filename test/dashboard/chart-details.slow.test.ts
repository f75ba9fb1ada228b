// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { needsChromium, openPage, type Watched } from '../support/chromium.ts'
import { allowSignIn, startSession } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const now = Math.floor(Date.now() / 1000) * 1000

/** Three sessions in two days, for two years: more than are drawn one by one. The warm-up always has the same grade. */
function* history() {
  yield records.account(1, 'ann')
  const sessions = 1095
  for (let id = 1; id <= sessions; id += 1) {
    yield records.trainingSession(
      id,
      1,
      {
        created_at: formatTimestamp(now - (sessions - id) * (DAY_MS / 1.5) - 60_000),
        TrainerSegment: [
          records.trainerSegment(2 * id, { type: 'warmup', percentGrade: 100 }),
          records.trainerSegment(2 * id + 1, {
            type: 'training',
            percentGrade: (id < 540 ? 10 : 30) + (id % 40),
            distanceTravelled: 20,
          }),
        ],
      },
      { legacyUpload: id % 2 === 0 },
    )
  }
}

describe('charts of a dense history', needsChromium, () => {
  let service: TestService
  let browser: Watched
  let page: Page
  before(async () => {
    service = await startService([...history()], unlimited)
    await allowSignIn(service, 'ann')
    browser = await openPage({ viewport: { width: 1280, height: 4000 } })
    page = browser.page
    await startSession(page, service.url, 'ann')
  })
  after(async () => {
    await browser[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  const open = async (path: string) => {
    await page.goto(service.url + path)
    await page.waitForFunction(() =>
      [...document.querySelectorAll('[data-chart] .plot')].every(plot => plot.querySelector('svg') !== null),
    )
  }

  test('a year is compared with the one before by medians of weeks, not by thousands of points', async () => {
    await open('/training?range=1y&compare=year')
    assert.match((await page.locator('#grades .legend').textContent()) ?? '', /Year before, median of a week/)
    const line = page.locator('#grades .plot [stroke-dasharray="6 4"] path, #grades .plot path[stroke-dasharray="6 4"]')
    const path = (await line.first().getAttribute('d')) ?? ''
    const points = path.split(/[ML]/).length - 1
    assert.ok(points > 45 && points < 60, `${points} points`)
    assert.equal(await page.locator('#grades [data-mark=area] path').count(), 1)
    // The grades of the year before are lower, and the axis has room for them.
    const lowest = Math.max(...[...path.matchAll(/[ML,][\d.]+,([\d.]+)/g)].map(([, y]) => Number(y)))
    const box = await page.locator('#grades .plot svg').boundingBox()
    assert.ok(lowest > 0 && lowest < (box?.height ?? 0) - 28, `${lowest} of ${box?.height}`)
    assert.deepEqual(browser.problems, [])
  })

  test('a kind whose grades hardly differ has a sentence and no chart', async () => {
    for (const range of ['4w', '1y']) {
      await open(`/training?range=${range}`)
      const summary = await page.locator('#grades-by-kind .summary').textContent()
      assert.match(summary ?? '', /Hardly any difference, so not drawn: Warm\u2011up\./, range)
      assert.deepEqual(await page.locator('#grades-by-kind h3').allTextContents(), ['Training'], range)
    }
  })

  test('the axis of weeks has its ticks on Mondays', async () => {
    await open('/training?range=12w')
    const texts = await page.locator('#grades [data-mark="x-axis tick label"] text').allTextContents()
    assert.ok(texts.length > 4, texts.join())
    for (const text of texts) {
      const year = new Date(now).getUTCFullYear()
      const day = [year, year - 1].map(year => Date.parse(`${text} ${year} UTC`)).find(at => at <= now)
      assert.equal(new Date(day ?? NaN).getUTCDay(), 1, text)
    }
  })

  test('hatches differ in angle, weight and shade, and the average has its label at the end of its line', async () => {
    await open('/training?range=12w')
    const looks = await page
      .locator('#distance pattern')
      .evaluateAll(patterns => patterns.map(pattern => pattern.getAttribute('patternTransform') + pattern.innerHTML))
    assert.equal(new Set(looks).size, 4)
    const fills = await page
      .locator('#distance .plot g[data-mark=rect]')
      .evaluate(group => [...new Set([...group.querySelectorAll('rect')].map(rect => rect.getAttribute('fill')))])
    assert.ok(fills.length > 2, `measured, approximate and so far: ${fills.join()}`)
    const label = await page.locator('#repetitions .plot').getByText('average').first().boundingBox()
    const line = await page.locator('#repetitions .plot [stroke-dasharray="2 3"]').first().boundingBox()
    assert.ok(label !== null && line !== null)
    assert.ok(label.x >= line.x + line.width - 2, 'it is at the right of the line')
    assert.ok(Math.abs(label.y + label.height / 2 - line.y) < 20, 'and at its height')
  })

  test('a page that is printed before Plot is loaded has tables instead of empty boxes', async () => {
    await using other = await openPage({ viewport: { width: 800, height: 600 } })
    await startSession(other.page, service.url, 'ann')
    await other.page.route('**/assets/plot.js*', () => {})
    await other.page.goto(`${service.url}/training?range=4w`)
    await other.page.emulateMedia({ media: 'print' })
    await other.page.evaluate(() => void dispatchEvent(new Event('beforeprint')))
    for (const title of ['Grade over time', 'Repetitions per week', 'Distance per week (m)']) {
      await other.page.getByRole('region', { name: `${title}, as a table` }).waitFor()
    }
    assert.equal(await other.page.locator('.plot:visible').count(), 0)
    await other.page.evaluate(() => void dispatchEvent(new Event('afterprint')))
    assert.ok((await other.page.locator('.plot:visible').count()) > 3)
    assert.equal(await other.page.getByRole('region', { name: /as a table/ }).count(), 0)
    assert.deepEqual(other.problems, [])
  })
})
