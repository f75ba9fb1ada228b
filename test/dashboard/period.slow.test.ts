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
    await page.locator('.dates > summary').click()
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

  test('a weekly goal is in the picture of repetitions', async () => {
    await page.goto(`${service.url}/settings`)
    await page.getByLabel('Weekly goal').fill('many')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Enter the weekly goal as a whole number').waitFor()
    await page.getByLabel('Weekly goal').fill('400')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('Saved.').waitFor()
    await open('/training')
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
