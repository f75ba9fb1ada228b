// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { needsChromium } from '../support/chromium.ts'
import { fullerYear, sampleService } from '../support/dashboard.ts'
import { openSession } from '../support/pages.ts'
import type { TestService } from '../support/service.ts'

/** Marks that differ by less look alike. */
const VISIBLE = 8

describe('marks on screens and on paper', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await sampleService()
  })
  after(() => service[Symbol.asyncDispose]())

  const looks = {
    'on paper': { media: 'print', forcedColors: 'none' },
    'in forced colours': { media: 'screen', forcedColors: 'active' },
  } as const
  for (const [look, media] of Object.entries(looks)) {
    test(`days, results and dots can be told apart ${look}`, async () => {
      await using browser = await openSession(service, { viewport: { width: 1280, height: 3000 } })
      const { page } = browser
      await page.emulateMedia(media)
      await page.goto(service.url + fullerYear())
      const days = ['none', 'one', 'more'].map(name =>
        page.locator(`.calendar .day.${name}:not(.under):visible`).first(),
      )
      const [none = 0, one = 0, more = 0] = await inkOf(page, days)
      assert.ok(one > none + VISIBLE && more > one + VISIBLE, `${none}, ${one}, ${more}`)
      const passedSession = async (page: Page) => {
        await page.goto(`${service.url}/training?range=1y&result=passed`)
        return (await page.locator('#session-table tbody a').first().getAttribute('href')) ?? ''
      }
      const resultOn = async (path: string, result: string) => {
        await page.goto(service.url + path)
        return inkOf(page, [page.locator(result).first()])
      }
      const ofResults = [
        ...(await resultOn(await passedSession(page), '.result.passed')),
        ...(await resultOn('/training?range=1y&result=not-passed', '.result:not(.passed)')),
      ]
      await page.goto(`${service.url}/training?range=4w`)
      const ofDots = [await inkOfDot(page, 'filled'), await inkOfDot(page, 'hollow')]
      for (const [dark = 0, light = 0] of [ofDots, ofResults]) {
        assert.ok(light > VISIBLE && dark > light + VISIBLE, `${dark}, ${light}`)
      }
    })
  }

  test('all shades of days, and time under lock in each, can be told apart in forced colours on a phone', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 2600 } })
    const { page } = browser
    await page.emulateMedia({ forcedColors: 'active' })
    await page.goto(service.url + fullerYear())
    const shades = ['none', 'one', 'two', 'three', 'more']
    const days = shades.map(name => page.locator(`.calendar .day.${name}:not(.under):visible`).first())
    const inks = await inkOf(page, days)
    for (const [index, ink] of inks.entries()) {
      assert.ok(index === 0 || ink > (inks[index - 1] ?? 0) + VISIBLE, inks.join(', '))
    }
    const line = await page.evaluate(() => {
      document.body.style.background = 'CanvasText'
      return getComputedStyle(document.body).backgroundColor
    })
    for (const name of shades) {
      const day = page.locator(`.calendar .day.${name}.under:visible`).first()
      const bar = await day.evaluate(cell => getComputedStyle(cell, '::after').backgroundColor)
      assert.equal(bar, line, name)
    }
  })
})

/** How much each differs from the card behind it. */
async function inkOf(page: Page, marks: readonly Locator[]): Promise<number[]> {
  const background = await backgroundOf(page)
  const inks: number[] = []
  for (const mark of marks) {
    const box = await mark.boundingBox()
    assert.ok(box)
    // The mark of a result is in front of its word.
    const width = Math.min(box.width, 24)
    inks.push(await distanceFrom(page, { ...box, width, height: Math.max(2, box.height) }, background))
  }
  return inks
}

/** The same of the first dot in the picture of grades. */
async function inkOfDot(page: Page, look: 'filled' | 'hollow'): Promise<number> {
  const path = page.locator(`#grades path.dots.${look}`).first()
  await path.scrollIntoViewIfNeeded()
  const [x, y] = await path.evaluate((dots: SVGPathElement): [number, number] => {
    const point = dots.getPointAtLength(0).matrixTransform(dots.getScreenCTM() ?? undefined)
    return [point.x, point.y]
  })
  return distanceFrom(page, { x: x - 3, y: y - 3, width: 6, height: 6 }, await backgroundOf(page))
}

function backgroundOf(page: Page): Promise<string> {
  return page
    .locator('.card')
    .first()
    .evaluate(card => getComputedStyle(card).backgroundColor)
}

/** What is seen of a mark, whatever it is drawn with. */

interface Area {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/**
 * How much an area of a page differs from a colour: the mean distance of its pixels, from 0 to 441. Colours are as computed
 * styles have them.
 */
async function distanceFrom(page: Page, area: Area, colour: string): Promise<number> {
  const image = (await page.screenshot({ clip: area, animations: 'disabled' })).toString('base64')
  // On a page of its own, as the policy of the service forbids images.
  const blank = await page.context().newPage()
  try {
    return await blank.evaluate(meanDistance, { image, colour })
  } finally {
    await blank.close()
  }
}

/** Runs in a browser. */
async function meanDistance({ image, colour }: { image: string; colour: string }): Promise<number> {
  const picture = new Image()
  picture.src = `data:image/png;base64,${image}`
  await picture.decode()
  const canvas = new OffscreenCanvas(picture.width, picture.height)
  const context = canvas.getContext('2d')
  if (context === null) throw new Error('there is no canvas')
  context.fillStyle = colour
  context.fillRect(0, 0, 1, 1)
  const [red = 0, green = 0, blue = 0] = context.getImageData(0, 0, 1, 1).data
  context.drawImage(picture, 0, 0)
  const { data } = context.getImageData(0, 0, picture.width, picture.height)
  let sum = 0
  for (let index = 0; index < data.length; index += 4) {
    sum += Math.hypot((data[index] ?? 0) - red, (data[index + 1] ?? 0) - green, (data[index + 2] ?? 0) - blue)
  }
  return (sum / data.length) * 4
}
