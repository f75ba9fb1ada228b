// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleOfThisWeek } from '../support/dashboard.ts'
import { openSession } from '../support/pages.ts'
import type { TestService } from '../support/service.ts'

describe('marks on screens', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await sampleOfThisWeek()
  })
  after(() => service[Symbol.asyncDispose]())

  test('the chosen period and the current section can be read in forced colours', async () => {
    await using browser = await openSession(service, { forcedColors: 'active' })
    const { page } = browser
    await page.goto(`${service.url}/training`)
    const coloursOf = (selector: string) =>
      page.locator(selector).evaluate(element => {
        const { color, backgroundColor, borderBottomColor } = getComputedStyle(element)
        return { color, backgroundColor, borderBottomColor }
      })
    const scale = await coloursOf('.filters .choice [aria-current]')
    assert.notEqual(scale.color, scale.backgroundColor)
    const [current, other] = [await coloursOf('.strip [aria-current]'), await coloursOf('.strip a[href="/locks"]')]
    assert.notEqual(current.borderBottomColor, other.borderBottomColor)
    assert.equal(
      other.borderBottomColor,
      await page.locator('.top').evaluate(top => getComputedStyle(top).backgroundColor),
    )
  })

  test('the main button of a page can be read in forced colours', async () => {
    await using browser = await openPage({ forcedColors: 'active' })
    const { page } = browser
    await page.goto(`${service.url}/signin`)
    const looks = await page.locator('.primary').evaluate(button => {
      const { color, backgroundColor, forcedColorAdjust } = getComputedStyle(button)
      return { color, backgroundColor, forcedColorAdjust }
    })
    assert.notEqual(looks.color, looks.backgroundColor)
    // Otherwise the browser draws a backplate in the page colour behind its text.
    assert.equal(looks.forcedColorAdjust, 'none')
  })

  test('hatches for what is open, not over, approximate and not recorded differ', async () => {
    await using browser = await openSession(service, { viewport: { width: 1280, height: 4000 } })
    const { page } = browser
    await page.goto(`${service.url}/training?range=1y&measure=distance`)
    const patterns = await page
      .locator('.patterns pattern')
      .evaluateAll(found => found.map(({ id, outerHTML }) => outerHTML.replace(id, '')))
    assert.equal(new Set(patterns).size, 4)
    const looks = new Set(
      await page
        .locator('.mark.so-far, .mark.approximate')
        .evaluateAll(marks => marks.map(mark => getComputedStyle(mark).backgroundImage)),
    )
    await page.goto(`${service.url}/locks`)
    looks.add(
      await page
        .locator('.mark.open')
        .first()
        .evaluate(mark => getComputedStyle(mark).backgroundImage),
    )
    assert.equal(looks.size, 3)
  })
})
