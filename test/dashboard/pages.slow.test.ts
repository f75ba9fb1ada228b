// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { makeFolder } from '../support/command.ts'
import { sampleService } from '../support/dashboard.ts'
import { samplePages } from '../support/page-addresses.ts'
import { everySecond, isWhole } from '../support/sweeps.ts'
import { assertClean, testAccessible, testLongNames, testWidths, openSession } from '../support/pages.ts'

/** Every page, and other views of some. */
const paths = [...samplePages, '/training?range=1y', '/training/100?view=data', '/locks/37?view=data']

describe('every page in a browser', needsChromium, () => {
  testAccessible('light', '0', everySecond(paths, 1))
  testAccessible('dark', '1', everySecond(paths))
  // Long names and large text move the same lines: a sample is the narrowest.
  testWidths(isWhole ? [1440, 768, 320] : [320], isWhole ? [1440, 768] : [768], paths)
  testLongNames(isWhole ? [1440, 320] : [320], paths)

  test('every page is there without scripts', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service, { javaScriptEnabled: false })
    const { page } = browser
    for (const path of paths) {
      const response = await page.goto(service.url + path)
      assert.equal(response?.status(), 200, path)
    }
    assertClean(browser, service)
  })

  test("the picker shows a partner's records", async () => {
    await using service = await sampleService()
    await using browser = await openSession(service)
    const { page } = browser
    await page.goto(`${service.url}/lock-templates`)
    await page.locator('.account > summary').click()
    await page.getByLabel('Records of').selectOption('robin')
    await page.getByText('Two day lock').waitFor()
    assertClean(browser, service)
  })

  test('the demo signs in with one click', async () => {
    await using folder = await makeFolder()
    await using demo = folder.start(['demo', '--port', '0'])
    const [, url = ''] = await demo.says(/sample data: (\S+)/)
    await using browser = await openPage()
    const { page } = browser
    await page.goto(url)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('.tiles').waitFor()
    assert.deepEqual(browser.problems, [])
  })
})
