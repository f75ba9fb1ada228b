// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { needsChromium } from '../support/chromium.ts'
import { drawnValues, sampleService } from '../support/dashboard.ts'
import { drawCharts, openSession } from '../support/pages.ts'

describe('tooltips of charts', needsChromium, () => {
  for (const look of [{ colorScheme: 'dark' }, { colorScheme: 'dark', forcedColors: 'active' }] as const) {
    test(`tooltips can be read: ${Object.values(look).join(', ')}`, async () => {
      await using service = await sampleService()
      await using browser = await openSession(service, { ...look, viewport: { width: 1280, height: 3000 } })
      const { page } = browser
      await page.goto(`${service.url}/training?range=4w`)
      await drawCharts(page)
      await page.locator('#repetitions g[data-mark=rect] rect').first().hover({ force: true })
      const tip = page.locator('#repetitions g[aria-label=tip]')
      await tip.locator('path').waitFor()
      const fillOf = (part: string) =>
        tip
          .locator(part)
          .first()
          .evaluate(element => getComputedStyle(element).fill)
      const card = await page.locator('#repetitions').evaluate(element => getComputedStyle(element).backgroundColor)
      assert.equal(await fillOf('path'), card)
      assert.notEqual(await fillOf('text'), card)
    })
  }

  test('tooltips show wherever the pointer is on a wide bar or block', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service, { viewport: { width: 1280, height: 3000 } })
    const { page } = browser
    for (const [path, chart] of [
      ['/training?range=4w', '#repetitions'],
      ['/programs/13', '.plot-segments'],
      ['/locks/37', '.plot-timeline'],
    ] as const) {
      await page.goto(service.url + path)
      await drawCharts(page)
      const texts: string[] = []
      for (const bar of await widestAndNarrowest(page, chart)) {
        const [left, middle, right] = [
          await tipAt(page, chart, bar, 0.06),
          await tipAt(page, chart, bar, 0.5),
          await tipAt(page, chart, bar, 0.94),
        ]
        assert.ok(left !== '' && left === middle && middle === right, `${path}: ${left}, ${middle}, ${right}`)
        texts.push(left)
      }
      assert.equal(new Set(texts).size, 2, path)
    }
  })

  test('the tooltip of a week names its days, its sum, and how far that is from the average', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service, { viewport: { width: 1280, height: 3000 } })
    const { page } = browser
    await page.goto(`${service.url}/training?range=12w`)
    await drawCharts(page)
    const average = Number(await page.locator('#repetitions').getAttribute('data-average'))
    const sums = drawnValues(await page.content(), 'repetitions', 'reps')
    const bars = page.locator('#repetitions g[data-mark=rect] rect')
    for (const index of [3, 4, 5]) {
      const box = await bars.nth(index).boundingBox()
      assert.ok(box !== null)
      const text = await tipAt(page, '#repetitions', box, 0.5)
      assert.match(text, /^\W?\d+(?:–| [A-Z][a-z]+\s–\s)\d+ [A-Z][a-z]+ · /)
      const [, sum = 0, difference = 0] = (
        / · ([\d,]+) ([\d,]+) (?:under|over) average Open week/.exec(text.replaceAll('\u200b', ' ')) ?? []
      ).map(part => Number(part.replaceAll(',', '')))
      assert.ok(sums.includes(sum), text)
      assert.equal(difference, Math.abs(sum - average), text)
      assert.ok(text.includes(sum < average ? 'under' : 'over'), text)
    }
  })

  test('letters of charts are as large as those of the page, and stay inside', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service, { viewport: { width: 768, height: 3000 } })
    const { page } = browser
    await page.addInitScript(() =>
      addEventListener('DOMContentLoaded', () => document.documentElement.style.setProperty('font-size', '200%')),
    )
    for (const path of ['/training?range=12w', '/locks', '/locks/37']) {
      await page.goto(service.url + path)
      await drawCharts(page)
      const found = await page.locator('.plot svg text').evaluateAll(texts =>
        texts.map(text => {
          const [own, card] = [text, text.closest('.card')].map(element => element?.getBoundingClientRect())
          const isInside = own !== undefined && card !== undefined && own.left >= card.left && own.right <= card.right
          return `${getComputedStyle(text).fontSize}${isInside ? '' : `, outside: ${text.textContent}`}`
        }),
      )
      assert.deepEqual([...new Set(found)], ['24px'], path)
    }
  })
})

interface Box {
  readonly x: number
  readonly y: number
  readonly width: number
  readonly height: number
}

/** Two bars or blocks of a chart. */
async function widestAndNarrowest(page: Page, chart: string): Promise<Box[]> {
  const boxes = await page
    .locator(`${chart} g[data-mark=rect] rect, ${chart} g[data-mark=bar] rect`)
    .evaluateAll(rects =>
      rects.map(rect => {
        const { x, y, width, height } = rect.getBoundingClientRect()
        return { x, y, width, height }
      }),
    )
  const sorted = boxes.filter(({ width, height }) => width > 12 && height > 8).toSorted((a, b) => b.width - a.width)
  return [...sorted.slice(0, 1), ...sorted.slice(1).slice(-1)]
}

/** The text of the tooltip where somebody points at this part of a bar's width. */
async function tipAt(page: Page, chart: string, { x, y, width, height }: Box, part: number): Promise<string> {
  await page.mouse.move(x + part * width, y + height - 4)
  await page.mouse.move(x + part * width, y + height - 3)
  return page.evaluate(
    selector =>
      new Promise<string>(resolve =>
        requestAnimationFrame(() =>
          resolve(document.querySelector(`${selector} g[aria-label=tip]`)?.textContent ?? ''),
        ),
      ),
    chart,
  )
}
