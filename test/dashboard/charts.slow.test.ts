// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { testDrawn, testMarks, testStill } from '../support/charts.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleService, signIn } from '../support/dashboard.ts'

describe('every chart in a browser', needsChromium, () => {
  testDrawn('every chart')
  testMarks({ colorScheme: 'dark', width: 320 })
  for (const width of [768, 1440]) testStill(width)

  test('no script asks for sizes before the first paint, which would lay out the page twice', async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width: 390, height: 844 } })
    const { page } = browser
    await signIn(page, service.url)
    await page.addInitScript(noteSizes)
    for (const path of ['/', '/training?range=1y', '/training/100', '/programs/13', '/locks', '/locks/43']) {
      await page.goto(service.url + path)
      assert.deepEqual(
        await page.evaluate(() => Object.entries(globalThis).find(([name]) => name === 'asked')?.[1]),
        [],
      )
    }
  })
})

/** Runs in the page, before its own scripts: notes what is asked for while the page is parsed. */
function noteSizes() {
  const asked: string[] = []
  Object.assign(globalThis, { asked })
  for (const name of ['clientWidth', 'clientHeight'] as const) {
    const { get } = Object.getOwnPropertyDescriptor(Element.prototype, name) ?? {}
    Object.defineProperty(Element.prototype, name, {
      get() {
        if (document.readyState !== 'complete') asked.push(`${name} of ${String(this.className)}`)
        return get?.call(this)
      },
    })
  }
  const { getBoundingClientRect } = Element.prototype
  Element.prototype.getBoundingClientRect = function () {
    if (document.readyState !== 'complete') asked.push(`box of ${this.className}`)
    return getBoundingClientRect.call(this)
  }
}
