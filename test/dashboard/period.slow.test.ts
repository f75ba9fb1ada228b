// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needsChromium, openPage, type Watched } from '../support/chromium.ts'
import { sampleService, startSession } from '../support/dashboard.ts'
import type { TestService } from '../support/service.ts'

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

  test('arrow keys and links step through periods of one length, and the address says which is shown', async () => {
    await open('/training?range=4w&result=passed')
    await page.keyboard.press('ArrowLeft')
    await page.waitForURL(/from=/)
    const [from = 0, to = 0] = daysIn(page.url())
    assert.equal(to - from + 1, 28)
    assert.equal(new URL(page.url()).searchParams.get('result'), 'passed')
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
      .getByText(/5\sJan(\s2026)?\s–\s1\sFeb/)
      .first()
      .waitFor()
    assert.deepEqual(browser.problems, [])
  })
})
