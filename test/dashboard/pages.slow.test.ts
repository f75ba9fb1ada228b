// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { makeFolder } from '../support/command.ts'
import { sampleService, signIn } from '../support/dashboard.ts'
import { paths, testAccessible, testLargeText, testLongNames, testPaper, testWidth } from '../support/pages.ts'

describe('every page in a browser', needsChromium, () => {
  testAccessible('light', '0', paths)
  testAccessible('dark', '1', paths)
  for (const width of [320, 768, 1440]) testWidth(width, paths)
  testPaper(paths)
  for (const width of [320, 1440]) testLongNames(width, paths)
  for (const width of [768, 1440]) testLargeText(width, paths)

  test('the demo signs in with one click', async () => {
    await using folder = await makeFolder()
    await using demo = folder.start(['demo', '--port', '0'])
    const [, url = ''] = await demo.says(/sample data: (\S+)/)
    await using browser = await openPage()
    const { page } = browser
    await page.goto(url)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.getByRole('heading', { name: 'Overview' }).waitFor()
    assert.deepEqual(browser.problems, [])
  })

  test('on a tablet tables of records show every column, all sections are on one line, and paper has no buttons', async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width: 768, height: 900 } })
    const { page } = browser
    await signIn(page, service.url)
    for (const path of ['/', '/training', '/locks']) {
      await page.goto(service.url + path)
      const table = page.locator('.scroll:has(> .records)').first()
      const [content, view] = await table.evaluate(({ scrollWidth, clientWidth }) => [scrollWidth, clientWidth])
      // What is only heard takes a pixel.
      assert.ok(content <= view + 1, `${path}: ${content} of ${view}`)
      const lines = await page
        .locator('.strip a')
        .evaluateAll(links => new Set(links.map(link => link.getBoundingClientRect().top)).size)
      assert.equal(lines, 1, path)
    }
    for (const path of ['/keys', '/people', '/settings', '/programs']) {
      await page.goto(service.url + path)
      const scrolled = await page
        .locator('.scroll')
        .evaluateAll(tables => tables.filter(table => table.scrollWidth > table.clientWidth + 1).length)
      assert.equal(scrolled, 0, `${path}: what is at the end of rows is out of view`)
    }
    await page.goto(`${service.url}/keys`)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.locator('main :is(button, .button):visible').count(), 0)
    assert.deepEqual(browser.problems, [])
  })
})
