// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { allowSignIn, startSession } from '../support/dashboard.ts'
import { assertAccessible } from '../support/pages.ts'
import { account, lockTemplate, world } from '../support/records.ts'
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
      await page.getByRole('link', { name: 'Upload a file' }).click()
      const send = async (sent: typeof file | string) => {
        await page.getByLabel('Files').setInputFiles(sent)
        await page.getByRole('button', { name: 'Upload and check' }).click()
      }
      await page.getByLabel('Files').waitFor()
      await check('the form')

      // The program of Node.js itself.
      await send(process.execPath)
      await page.getByText('The upload is larger than allowed').waitFor()
      await page.goto(`${service.url}/source/upload`)
      await send(file)
      await page.getByRole('heading', { name: 'What is in it' }).waitFor()
      await page.getByRole('heading', { name: '1 line cannot be stored' }).waitFor()
      await check('what is in the file')
      await page.reload()
      await page.getByRole('row', { name: /Lock templates .*3 new/ }).waitFor()

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

describe('what came in is taken out again in a browser', needsChromium, () => {
  test('a table with a mistake is stored, corrected, undone, brought again, and a record of it deleted and allowed', async () => {
    await using service = await startService([account(1, 'ann')])
    await allowSignIn(service, 'ann')
    await using browser = await openPage()
    const { page } = browser
    await startSession(page, service.url, 'ann')
    const csv = (...grades: readonly number[]) => ({
      name: 'evenings.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(
        `Recorded,Passed,Segment kind,Grade,Mood\r\n${grades.map((grade, day) => `2026-02-1${day} 18:00,yes,endurance,${grade},good\r\n`).join('')}`,
      ),
    })
    const send = async (...grades: readonly number[]) => {
      await page.goto(`${service.url}/source/upload`)
      await page.getByLabel('Files').setInputFiles(csv(...grades))
      await page.getByRole('button', { name: 'Upload and check' }).click()
      await page.getByRole('heading', { name: 'What is in it' }).waitFor()
    }
    const bring = async (text: string, ...grades: readonly number[]) => {
      await send(...grades)
      await page.getByRole('button', { name: 'Store' }).click()
      await page.getByText(text).waitFor()
    }
    await send(80, 70, 9)
    await page.getByText('Mood').first().waitFor()
    await page.getByRole('button', { name: 'Store' }).click()
    await page.getByText('Training sessions: 3 new').waitFor()
    await bring('Training sessions: 1 new, 1 changed', 80, 70, 90, 60)

    await page.goto(`${service.url}/source`)
    await page.getByRole('link', { name: 'Undo' }).click()
    await assertAccessible(page, 'what undoing removes')
    await page.getByText('1 that it changed stays as it is').waitFor()
    await page.getByRole('button', { name: 'Undo' }).click()
    await page.waitForURL(`${service.url}/source`)
    await page.goto(`${service.url}/training?range=all`)
    await page.locator('#session-table tbody a[href^="/training/"]').first().click()
    await page.getByRole('link', { name: 'Data' }).click()
    await page.getByRole('link', { name: 'Delete' }).click()
    await assertAccessible(page, 'what deleting does')
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.waitForURL(`${service.url}/training`)

    await send(80, 70, 90)
    await page.getByText('1 record of the file was deleted here and stays away.').waitFor()
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByRole('button', { name: 'Store' }).click()
    await page.getByText('Training sessions: 1 new').waitFor()
    const stored = await service.store.db.selectFrom('training_session').select('grade').orderBy('at').execute()
    assert.deepEqual(
      stored.map(({ grade }) => grade),
      [80, 70, 90],
    )
    assert.deepEqual(browser.problems, [])
  })
})
