// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { allowSignIn, startSession } from '../support/dashboard.ts'
import { assertAccessible } from '../support/pages.ts'
import { lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const records = [1, 2, 3].map(id => `${JSON.stringify(lockTemplate(id, 1))}\n`).join('')
const file = { name: 'records.ndjson', mimeType: 'application/x-ndjson', buffer: Buffer.from(`${records}no record\n`) }

describe('in a browser', needsChromium, () => {
  for (const javaScriptEnabled of [true, false]) {
    test(`a file is chosen, shown and stored, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
      await using service = await startService(world, { LOCKSTEP_UPLOAD_MAX: '1' })
      await allowSignIn(service, 'ann')
      await using browser = await openPage({ javaScriptEnabled })
      const { page } = browser
      await startSession(page, service.url, 'ann')
      const check = async (what: string) => {
        if (javaScriptEnabled) await assertAccessible(page, what)
      }

      await page.goto(`${service.url}/source`)
      await check('the card')
      await page.getByRole('link', { name: 'Choose a file' }).click()
      const send = async (sent: typeof file) => {
        await page.getByLabel('Files').setInputFiles(sent)
        await page.getByRole('button', { name: 'Upload and check' }).click()
      }
      await page.getByLabel('Files').waitFor()
      await check('the form')

      await send({ ...file, buffer: Buffer.alloc(20 * 1024 * 1024, 'a') })
      await page.getByText('The upload is larger than allowed').waitFor()
      await page.goto(`${service.url}/source/upload`)
      await send(file)
      await page.getByRole('heading', { name: 'What is in it' }).waitFor()
      await page.getByText('1 line would be rejected').waitFor()
      await check('what is in the file')
      await page.reload()
      await page.getByRole('row', { name: /Lock templates/ }).waitFor()

      const [download] = await Promise.all([
        page.waitForEvent('download'),
        page.getByRole('link', { name: 'CSV' }).click(),
      ])
      assert.equal(download.suggestedFilename(), 'rejected.csv')

      await page.getByRole('button', { name: 'Store' }).click()
      await page.getByText('Lock templates: 3 new').waitFor()
      await check('what was stored')
      await page.getByRole('link', { name: 'Go to the overview' }).click()
      await page.waitForURL(`${service.url}/`)
      const problems = browser.problems.filter(problem => !problem.includes('413'))
      assert.deepEqual(problems, [])
    })
  }
})
