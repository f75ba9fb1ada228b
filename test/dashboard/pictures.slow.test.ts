// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needsChromium } from '../support/chromium.ts'
import { sampleOfThisWeek } from '../support/dashboard.ts'
import { openSession } from '../support/pages.ts'
import type { TestService } from '../support/service.ts'

/** A picture of each sort, by its page. */
const PICTURES = [
  ['/training?range=4w', '#grades'],
  ['/training?range=1y', '#grades'],
  ['/training?range=12w', '#repetitions'],
  ['/locks?range=1y', '#shares'],
  ['/locks/37', '#timeline'],
] as const

describe('pictures in a browser', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await sampleOfThisWeek()
  })
  after(() => service[Symbol.asyncDispose]())

  const plotOf = (page: Page, card: string) => page.locator(`${card} .plot`).first()
  /** Points at a part of the width of a picture. */
  const pointAt = async (page: Page, card: string, part: number) => {
    const plane = page.locator(`${card} .plane`).first()
    await plane.scrollIntoViewIfNeeded()
    const { x, y, width, height } = (await plane.boundingBox()) ?? { x: NaN, y: NaN, width: 0, height: 0 }
    const place = [x + part * width, y + height / 2] as const
    await page.mouse.move(place[0] - 1, place[1])
    await page.mouse.move(...place)
    return place
  }

  test('every picture is there without a script, and its table opens', async () => {
    await using browser = await openSession(service, { javaScriptEnabled: false })
    const { page } = browser
    for (const [path, card] of PICTURES) {
      await page.goto(service.url + path)
      assert.ok(await plotOf(page, card).locator('.plane :is(path, rect)').first().isVisible(), path)
      const closed = page.locator('.figures:not([open]):has(tr[data-x]) > summary')
      if ((await closed.count()) > 0) await closed.first().click()
      assert.ok(await page.locator('tr[data-x]').first().isVisible(), path)
    }
    assert.deepEqual(browser.problems, [])
  })

  test('a picture is one tab stop, arrow keys reach each of its marks, and Enter opens it', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    for (const [path, card] of PICTURES) {
      await page.goto(service.url + path)
      const plot = plotOf(page, card)
      await plot.focus()
      await page.keyboard.press('Home')
      const count = Number(await plot.getAttribute('aria-valuemax'))
      const texts = new Set<string>()
      for (let mark = 0; mark < count; mark += 1) {
        texts.add((await plot.getAttribute('aria-valuetext')) ?? '')
        await page.keyboard.press('ArrowRight')
      }
      assert.ok(count > 1 && texts.size > count * 0.9, `${path}: ${texts.size} texts of ${count} marks`)
      if (path.startsWith('/locks/') || path.startsWith('/programs')) continue
      await page.keyboard.press('ArrowLeft')
      await page.keyboard.press('Enter')
      await page.waitForURL(url => url.pathname + url.search !== path)
    }
    assert.deepEqual(browser.problems, [])
  })

  test('the pointer takes the nearest mark over the whole height, one tooltip tells of it, and a click opens it', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    for (const [path, card] of PICTURES) {
      await page.goto(service.url + path)
      await pointAt(page, card, 0.2)
      const first = await page.locator('.tip').innerText()
      await pointAt(page, card, 0.95)
      assert.notEqual(await page.locator('.tip').innerText(), first, path)
      assert.equal(await page.locator('.tip').count(), 1, path)
    }
    await page.goto(`${service.url}/training?range=12w`)
    const place = await pointAt(page, '#repetitions', 0.5)
    assert.match(
      await page.locator('.tip').innerText(),
      /^\d+.*\nRepetitions: [\d,]+(\nUsual: (within|[\d,]+ (over|under)) \(.*\))?$/,
    )
    await page.mouse.click(...place)
    await page.waitForURL(/from=/)
    const { searchParams } = new URL(page.url())
    const [from = NaN, to = NaN] = ['from', 'to'].map(name => Date.parse(searchParams.get(name) ?? ''))
    assert.equal((to - from) / 86_400_000, 6)
  })

  test('a drag, or Shift and arrow keys, selects days and goes to them', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    const days = () => new URL(page.url()).searchParams
    for (const byKeyboard of [false, true]) {
      await page.goto(`${service.url}/training?range=12w`)
      if (byKeyboard) {
        await plotOf(page, '#repetitions').focus()
        for (const key of ['Home', 'ArrowRight', 'Shift+ArrowRight', 'Shift+ArrowRight', 'Enter']) {
          await page.keyboard.press(key)
        }
      } else {
        await pointAt(page, '#repetitions', 0.3)
        await page.mouse.down()
        await pointAt(page, '#repetitions', 0.6)
        await page.mouse.up()
      }
      await page.waitForURL(/from=/)
      const length = (Date.parse(days().get('to') ?? '') - Date.parse(days().get('from') ?? '')) / 86_400_000
      assert.ok(length > 13 && length < 42, `${length} days`)
    }
  })

  test('on touch the first tap shows the text, and the second one opens', async () => {
    await using phone = await openSession(service, { viewport: { width: 390, height: 3000 }, hasTouch: true })
    const { page } = phone
    await page.goto(`${service.url}/training?range=4w`)
    const { x = 0, y = 0, width = 0 } = (await page.locator('#grades .plane').first().boundingBox()) ?? {}
    await page.touchscreen.tap(x + width / 2, y + 40)
    await page.locator('.tip').waitFor()
    assert.match(page.url(), /\/training\?/)
    await page.touchscreen.tap(x + width / 2, y + 40)
    await page.waitForURL(/\/training\/\d+$/)
  })

  for (const look of [{ colorScheme: 'dark' }, { colorScheme: 'dark', forcedColors: 'active' }] as const) {
    test(`marks and tooltips can be read: ${Object.values(look).join(', ')}`, async () => {
      await using browser = await openSession(service, look)
      const { page } = browser
      await page.goto(`${service.url}/training?range=12w`)
      await pointAt(page, '#repetitions', 0.5)
      const colours = await page.evaluate(() =>
        ['.tip', '#repetitions .plane .solid', '#grades .dots.filled', '.card'].map(selector => {
          const style = getComputedStyle(document.querySelector(selector) ?? document.body)
          return [style.color, style.backgroundColor, style.fill, style.stroke]
        }),
      )
      const [tip, bar, dot, card] = colours
      assert.notEqual(tip?.[0], tip?.[1])
      assert.notEqual(bar?.[2], card?.[1])
      assert.notEqual(dot?.[3], card?.[1])
    })
  }
})
