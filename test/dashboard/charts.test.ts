// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleService, startSession } from '../support/dashboard.ts'
import { testDrawn } from '../support/charts.ts'

describe('charts', needsChromium, () => {
  testDrawn('each type of chart')

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
})
