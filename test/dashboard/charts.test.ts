// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatTimestamp } from '../../src/contract/time.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { allowSignIn, sampleService, startSession } from '../support/dashboard.ts'
import { testDrawn, testMarks } from '../support/charts.ts'
import * as records from '../support/records.ts'
import { startService } from '../support/service.ts'

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
    await startSession(page, service.url, 'ann')
    for (const [index, name] of Object.keys(lengths).entries()) {
      await page.goto(`${service.url}/locks/${index + 1}`)
      await page.locator('.plot-timeline').scrollIntoViewIfNeeded()
      await page.locator('.plot-timeline svg [data-mark=rect] rect').first().waitFor()
      assert.deepEqual(browser.problems, [], name)
    }
  })

  testDrawn('each type of chart')

  testMarks({ colorScheme: 'light', width: 1440 })

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
