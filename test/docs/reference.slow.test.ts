// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { world } from '../support/records.ts'
import { referencePaths, testReference } from '../support/reference.ts'
import { startService, type TestService } from '../support/service.ts'
import { everySecond } from '../support/sweeps.ts'

describe('every page of the reference', () => {
  let service: TestService
  before(async () => {
    service = await startService(world)
  })
  after(() => service[Symbol.asyncDispose]())

  testReference('light', 1280, everySecond(referencePaths, 1), () => service)
  testReference('dark', 320, everySecond(referencePaths), () => service)

  test('its links work without scripts', needsChromium, async () => {
    await using browser = await openPage({ javaScriptEnabled: false })
    const { page } = browser
    await page.goto(`${service.url}/docs`)
    await page.getByRole('link', { name: 'Get one training session' }).click()
    const operation = page.locator('#getTrainingSession')
    await operation.getByText('GET /api/v1/dtt/sessions/{id}').waitFor()
    await operation.getByRole('link', { name: 'TrainingSession', exact: true }).click()
    await page.locator('#TrainingSession:target').waitFor()
    await operation.getByRole('link', { name: 'not_found' }).click()
    await page.waitForURL(`${service.url}/docs#error-not_found`)
    await page.getByRole('link', { name: 'Dashboard' }).click()
    await page.waitForURL(`${service.url}/signin`)
    assert.deepEqual(browser.problems, [])
  })
})
