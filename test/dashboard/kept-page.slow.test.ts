// engine: any
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { needsChromium, openPage } from '../support/chromium.ts'
import { makeFolder } from '../support/command.ts'
import { signInAs } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService } from '../support/service.ts'

test(
  'the page to keep shows 50 rows of a table and prints all; without scripts all are there',
  needsChromium,
  async () => {
    const sessions = Array.from({ length: 60 }, (_, index) =>
      records.trainingSession(index + 1, 1, { repsMeasured: 100 + index }),
    )
    const odd = records.lockTemplate(41, 1, { name: 'A <tr><td> & "B"' })
    await using service = await startService([records.account(1, 'ann'), ...sessions, odd])
    const ann = await signInAs(service, 'ann')
    await using folder = await makeFolder()
    const file = join(folder.path, 'kept.html')
    writeFileSync(file, (await ann.get('/settings/page')).text)
    for (const javaScriptEnabled of [true, false]) {
      await using browser = await openPage({ javaScriptEnabled })
      const { page } = browser
      await page.goto(pathToFileURL(file).href)
      const rows = page.locator('#tables tbody tr')
      const templates = page.locator('.kept-table', { hasText: 'Lock templates' }).locator('tbody td')
      assert.equal(await templates.first().innerText(), 'A <tr><td> & "B"')
      assert.equal(await rows.count(), javaScriptEnabled ? 50 : 60)
      if (javaScriptEnabled) {
        await page.evaluate(() => dispatchEvent(new Event('beforeprint')))
        assert.equal(await rows.count(), 60)
        await page.evaluate(() => dispatchEvent(new Event('afterprint')))
        assert.equal(await rows.count(), 50)
        await page.getByLabel('Search in Training sessions').fill('159')
        assert.equal(await rows.count(), 1)
        await page.getByText('1 of 60 rows').waitFor()
        const heads = page.locator('#tables th')
        assert.equal(await heads.first().textContent(), 'When\u00a0↓')
        await page.getByRole('button', { name: 'Repetitions' }).first().click()
        assert.equal(await heads.first().textContent(), 'When')
        assert.equal(await page.locator('#tables th[aria-sort=descending]').textContent(), 'Repetitions\u00a0↓')
      }
      assert.deepEqual(browser.problems, [])
    }
  },
)
