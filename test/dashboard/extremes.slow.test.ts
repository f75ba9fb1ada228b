// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { needsChromium } from '../support/chromium.ts'
import { allowSignIn } from '../support/dashboard.ts'
import { extremeRecords } from '../support/extremes.ts'
import { pageAddresses } from '../support/page-addresses.ts'
import { assertAccessible, openSession } from '../support/pages.ts'
import { startService, type TestService } from '../support/service.ts'
import { everySecond, isWhole } from '../support/sweeps.ts'

const examples = {
  '/year/:id': new Date().getUTCFullYear(),
  '/training/:id': 1,
  '/programs/:id': 1,
  '/locks/:id': 51,
  '/lock-templates/:id': 41,
}
const paths = [...pageAddresses(examples, { hasRecords: !isWhole }), '/training?range=all']

describe('records that are seldom seen, in a browser', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await startService(extremeRecords(Date.now()))
    await allowSignIn(service, 'ann')
  })
  after(() => service[Symbol.asyncDispose]())

  for (const width of isWhole ? [360, 768, 1440] : [360, 1440]) {
    test(`pictures stay in their cards, and no name makes a page wider: ${width} pixels`, async () => {
      await using browser = await openSession(service, { username: 'ann', viewport: { width, height: 900 } })
      const { page } = browser
      for (const path of paths) {
        await page.goto(service.url + path)
        const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
        assert.equal(content, view, path)
        const outside = await page.locator('.plane :is(path, rect, line, text)').evaluateAll(marks =>
          marks.flatMap(mark => {
            const card = mark.closest('.card')?.getBoundingClientRect()
            const { left, right, width } = mark.getBoundingClientRect()
            if (card === undefined || width === 0 || (left >= card.left - 1 && right <= card.right + 1)) return []
            return [`${mark.tagName} ${mark.textContent} ${left} ${right}`]
          }),
        )
        assert.deepEqual(outside, [], path)
      }
      assert.deepEqual(browser.problems, [])
    })
  }

  test('axe finds nothing', async () => {
    await using browser = await openSession(service, { username: 'ann', viewport: { width: 1440, height: 900 } })
    const { page } = browser
    for (const path of [...everySecond(paths), '/locks/52', '/programs/3']) {
      await page.goto(service.url + path)
      await assertAccessible(page, path)
    }
  })

  for (const width of [320, 1440]) {
    test(`the timeline of a lock of ten years fits on a few screens, ${width} pixels wide`, async () => {
      await using browser = await openSession(service, { username: 'ann', viewport: { width, height: 900 } })
      const { page } = browser
      await page.goto(`${service.url}/locks/51`)
      const timeline = page.locator('#timeline .plot > .plane')
      const height = (await timeline.boundingBox())?.height ?? 0
      assert.ok(height > 0 && height < 1500, `${height}`)
      const labels = timeline.locator('text')
      const lines = (await labels.allTextContents()).filter(text => /^\d+\s\w+\s\d{2}$/.test(text))
      assert.ok(lines.length > 30, `each line says its first day: ${lines.join()}`)
      const overlapping = await labels.evaluateAll(texts => {
        const boxes = texts.map(text => ({ text: text.textContent, box: text.getBoundingClientRect() }))
        return boxes.flatMap(({ text, box }, index) =>
          boxes
            .slice(index + 1)
            .filter(({ box: other }) => other.left < box.right && other.right > box.left)
            .filter(({ box: other }) => other.top < box.bottom - 4 && other.bottom > box.top + 4)
            .map(other => `${text} | ${other.text}`),
        )
      })
      assert.deepEqual(overlapping, [])
    })
  }
})
