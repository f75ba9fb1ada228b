// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needsChromium, openPage, type Watched } from '../support/chromium.ts'
import { allowSignIn, sampleService, startSession } from '../support/dashboard.ts'
import { openSession } from '../support/pages.ts'
import * as records from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

const DAY_MS = 86_400_000

describe('periods, comparisons and records, in a browser', needsChromium, () => {
  let service: TestService
  let browser: Watched
  let page: Page

  before(async () => {
    service = await sampleService()
    browser = await openPage({ viewport: { width: 1280, height: 4000 } })
    page = browser.page
    await startSession(page, service.url)
  })

  after(async () => {
    await browser[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  const open = async (path: string) => {
    await page.goto(service.url + path)
    await page.locator('.plot svg').first().waitFor()
  }
  const allDrawn = () =>
    page.waitForFunction(() =>
      [...document.querySelectorAll('[data-chart]')].every(chart => chart.querySelector('.plot svg') !== null),
    )
  /** The middle of a mark, which its tooltip may cover. */
  const middleOf = async (on: Page, mark: string) => {
    const box = await on.locator(mark).first().boundingBox()
    assert.ok(box)
    return [box.x + box.width / 2, box.y + box.height / 2] as const
  }
  const daysIn = (url: string) => {
    const { searchParams } = new URL(url)
    return ['from', 'to'].map(name => Date.parse(searchParams.get(name) ?? '') / DAY_MS)
  }

  test('arrow keys step through the years that have records', async () => {
    const year = new Date().getUTCFullYear()
    const at = (year: number) => ({ created_at: `${year}-01-01T12:00:00Z` })
    await using years = await startService([
      records.account(1, 'ann'),
      records.trainingSession(1, 1, at(year - 1)),
      records.trainingSession(2, 1, at(year)),
    ])
    await allowSignIn(years, 'ann')
    await using ann = await openSession(years, { username: 'ann' })
    await ann.page.goto(`${years.url}/year`)
    await ann.page.keyboard.press('ArrowLeft')
    await ann.page.waitForURL(`**/year/${year - 1}`)
    assert.equal(await ann.page.locator('.stepper a').count(), 1, 'no arrow leads to a year without records')
    await ann.page.keyboard.press('ArrowRight')
    await ann.page.waitForURL(`**/year/${year}`)
  })

  test('arrow keys and links step through periods of one length, and the address says which is shown', async () => {
    await open('/training?range=4w&compare=before')
    await page.keyboard.press('ArrowLeft')
    await page.waitForURL(/from=/)
    const [from = 0, to = 0] = daysIn(page.url())
    assert.equal(to - from + 1, 28)
    assert.equal(new URL(page.url()).searchParams.get('compare'), 'before')
    await page.getByRole('link', { name: 'Period before' }).click()
    await page.waitForURL(url => daysIn(url.href)[1] === from - 1)
    await page.keyboard.press('ArrowRight')
    await page.waitForURL(url => daysIn(url.href)[1] === to)
    // Keys move within fields.
    await page.getByText('Dates', { exact: true }).click()
    await page.getByLabel('From').focus()
    await page.keyboard.press('ArrowLeft')
    await page.getByLabel('From').fill('2026-01-05')
    await page.getByLabel('To', { exact: true }).fill('2026-02-01')
    await page.getByRole('button', { name: 'Show' }).first().click()
    await page.waitForURL(url => url.search.includes('from=2026-01-05') && url.search.includes('to=2026-02-01'))
    // With its year, from the next one on.
    await page
      .getByText(/5 Jan( 2026)?\s– 1 Feb/)
      .first()
      .waitFor()
    assert.deepEqual(browser.problems, [])
  })

  test('a comparison is a dashed line in charts, and differences in the tiles', async () => {
    const weekAgo = new Date(Date.now() - 7 * DAY_MS).toISOString().slice(0, 10)
    for (const [compare, title, difference] of [
      ['before', 'Period before', /Period before: \d+ \([+−]\d+\)/],
      ['year', 'Year before', /Year before: –/],
    ] as const) {
      await open(`/training?range=12w&to=${weekAgo}&compare=${compare}`)
      await allDrawn()
      const lines = await page.locator('.plot [stroke-dasharray="6 4"]:not([stroke="var(--card)"])').all()
      // The sample has no session more than a year ago, so there is nothing to draw, and nothing to explain.
      assert.equal(lines.length, compare === 'before' ? 3 : 0)
      for (const chart of ['grades', 'repetitions', 'distance']) {
        // A chart of one kind of bars has no legend.
        const legend = (await page.locator(`#${chart} .legend`).allTextContents()).join(' ')
        assert.equal(legend.includes(title), compare === 'before', legend)
      }
      assert.match((await page.locator('.stats').textContent()) ?? '', difference)
    }
    assert.deepEqual(browser.problems, [])
  })

  test('a bar opens its week, and a dot its session', async () => {
    await open('/training?range=12w')
    await page.locator('#repetitions .plot svg').waitFor()
    await page.mouse.click(...(await middleOf(page, '#repetitions .plot g[data-mark=rect] rect')))
    await page.waitForURL(/from=/)
    const [from = 0, to = 0] = daysIn(page.url())
    assert.ok(to - from < 7)
    await page.goBack()
    await page.locator('#grades .plot circle').first().waitFor()
    await page.mouse.click(...(await middleOf(page, '#grades .plot circle')))
    await page.waitForURL(/\/training\/\d+$/)
  })

  test('on touch the first tap shows the tooltip, and the second one opens the session', async () => {
    await using phone = await openPage({ viewport: { width: 390, height: 3000 }, hasTouch: true })
    await startSession(phone.page, service.url)
    await phone.page.goto(`${service.url}/training?range=12w`)
    await phone.page.locator('#grades .plot circle').first().waitFor()
    const dot = await middleOf(phone.page, '#grades .plot circle')
    await phone.page.touchscreen.tap(...dot)
    await phone.page.getByText('Open session').first().waitFor()
    assert.match(phone.page.url(), /\/training\?/)
    await phone.page.touchscreen.tap(...dot)
    await phone.page.waitForURL(/\/training\/\d+$/)
  })

  test('the axis of grades covers their range, or 0 to 100', async () => {
    await open('/training?range=12w')
    await page
      .getByText(/Grade, \d+ to 100 %/)
      .first()
      .waitFor()
    await page.getByRole('link', { name: '0 to 100' }).click()
    await page.waitForURL(/scale=full/)
    await page.locator('#grades .plot svg').waitFor()
    assert.equal(await page.getByText(/Grade, \d+ to/).count(), 0)
    assert.equal(await page.locator('#grades .plot svg').getAttribute('height'), '260')
  })

  test('a weekly goal is a line in the chart of repetitions', async () => {
    await page.goto(`${service.url}/settings`)
    await page.getByLabel('Weekly goal').fill('many')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Enter the weekly goal as a whole number').waitFor()
    await page.getByLabel('Weekly goal').fill('400')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await open('/training')
    await page.locator('#repetitions .plot').getByText('goal', { exact: true }).waitFor()
    await page.locator('#repetitions .legend').getByText('Weekly goal: 400').waitFor()
  })

  test('each record links to where it comes from', async () => {
    await page.goto(`${service.url}/year`)
    for (const name of ['Most repetitions in a week', 'Longest streak', 'Longest locked stretch']) {
      await page.locator('.facts div', { hasText: name }).getByRole('link').waitFor()
    }
    const { streak } = (await service.fetch('/api/v1/dtt/stats', 'alex')).body.data
    const shown = page.locator('.facts div', { hasText: 'Longest streak' }).getByRole('link')
    assert.equal(await shown.textContent(), `${streak.longestDays} days`)
    await shown.click()
    await page.waitForURL(url => url.search === `?from=${streak.longestFrom}&to=${streak.longestTo}`)
    assert.deepEqual(
      browser.problems.filter(problem => !problem.includes('422')),
      [],
    )
  })
})
