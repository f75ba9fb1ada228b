// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { needsChromium } from '../support/chromium.ts'
import { fullerYear, sampleService, signInAs } from '../support/dashboard.ts'
import { heavyYear } from '../support/heavy-year.ts'
import { openSession } from '../support/pages.ts'
import * as records from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

test('a calendar of daily training tells days of few repetitions from days of many', async () => {
  await using service = await startService([records.account(1, 'ann'), ...heavyYear(1, Date.now())])
  const ann = await signInAs(service, 'ann')
  const { text } = await ann.get(fullerYear())
  for (const look of ['one', 'two', 'three', 'more']) {
    const days = text.split(`<a class="day ${look} `).length - 1
    assert.ok(days > 30, `${look}: ${days}`)
  }
})

describe('narrow screens and paper', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await sampleService()
  })
  after(() => service[Symbol.asyncDispose]())

  for (const width of [360, 768]) {
    test(`no column of events or segments is out of view on ${width} pixels`, async () => {
      await using browser = await openSession(service, { viewport: { width, height: 900 } })
      const { page } = browser
      const { data: failed } = (await service.fetch('/api/v1/dtt/sessions?ownerId=me&passed=false&limit=1', 'alex'))
        .body
      for (const path of ['/training/100', `/training/${failed.data[0].id}`, '/locks/43']) {
        await page.goto(service.url + path)
        const [content, view] = await page
          .locator(':is(#rows, #stretches) > .scroll')
          .evaluate(table => [table.scrollWidth, table.clientWidth])
        assert.equal(content, view, path)
        const last = page.locator(':is(#rows, #stretches) > .scroll tbody tr:nth-child(2) td').last()
        assert.ok(await last.isVisible(), `${path}: the last column is shown`)
      }
    })
  }

  for (const width of [561, 641, 768, 900]) {
    test(`no list of sessions scrolls sideways on ${width} pixels`, async () => {
      await using browser = await openSession(service, { viewport: { width, height: 900 } })
      for (const path of ['/training', '/locks']) {
        await browser.page.goto(service.url + path)
        const [content, view] = await browser.page
          .locator('#sessions > .scroll')
          .evaluate(table => [table.scrollWidth, table.clientWidth])
        assert.ok(content <= view + 1, `${path}: ${content} of ${view}`)
      }
    })
  }

  test('on a phone a long name of a figure has lines of its own beside the figure', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 780 } })
    await browser.page.goto(`${service.url}/training/100`)
    await browser.page.locator('.more > summary').click()
    const spaces = await browser.page
      .locator('.more td[data-title]')
      .evaluateAll(cells => cells.map(cell => getComputedStyle(cell, '::before').whiteSpace))
    assert.deepEqual(new Set(spaces), new Set(['normal']))
  })

  test('all days of a calendar have one height, also in large text', async () => {
    for (const width of [360, 1440]) {
      await using browser = await openSession(service, { viewport: { width, height: 900 } })
      const { page } = browser
      await page.goto(service.url + fullerYear())
      for (const size of ['100%', '200%']) {
        await page.evaluate(value => document.documentElement.style.setProperty('font-size', value), size)
        const heights = await page
          .locator('.calendar .day:visible')
          .evaluateAll(days => days.map(day => Math.round(day.getBoundingClientRect().height)))
        assert.ok(heights.length > 50)
        assert.equal(new Set(heights).size, 1, `${width} pixels, ${size}: ${[...new Set(heights)].join()}`)
      }
    }
  })

  test('with large text on a phone the totals of a year are in view', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 900 } })
    const { page } = browser
    await page.goto(`${service.url}/year`)
    await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'))
    const boxesOf = (selector: string) =>
      page.locator(selector).evaluateAll(all =>
        all
          .map(one => {
            const range = document.createRange()
            range.selectNodeContents(one)
            const { left, right } = range.getBoundingClientRect()
            return { text: one.textContent, left, right }
          })
          .filter(({ left, right }) => right > left),
      )
    const totals = await boxesOf('[id^=totals] td.number')
    assert.ok(totals.length >= 10)
    for (const { text, left, right } of totals) assert.ok(left >= 0 && right <= 344, text)
  })

  test('with large text on a phone the hours and days of a lock can be read, beside bars', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 900 } })
    const { page } = browser
    await page.addInitScript(() => {
      document.addEventListener('DOMContentLoaded', () => (document.documentElement.style.fontSize = '200%'))
    })
    await page.goto(`${service.url}/locks/43`)
    const card = await page.locator('#timeline').boundingBox()
    const boxesOf = (part: string) =>
      page
        .locator(`#timeline ${part}`)
        .evaluateAll(all => all.map(one => one.getBoundingClientRect()).map(({ left, right }) => ({ left, right })))
    const hours = (await boxesOf('.times text')).filter(({ left, right }) => right > left)
    assert.ok(hours.length >= 2)
    for (const [index, { right }] of hours.slice(0, -1).entries()) assert.ok(right < (hours[index + 1]?.left ?? 0))
    for (const { left } of await boxesOf('.values text')) assert.ok(left >= (card?.x ?? 0), `${left}`)
    const [bars] = await boxesOf('.plane')
    assert.ok(bars !== undefined && bars.right - bars.left > (card?.width ?? 0) * 0.3, JSON.stringify(bars))
  })

  test('on paper the days of a page have a year', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 900 } })
    const { page } = browser
    await page.emulateMedia({ media: 'print' })
    // No day of this year is over on the first.
    const year = new Date(Date.now() - 86_400_000).getUTCFullYear()
    for (const [path, printed] of [
      [`/training?from=${year}-01-01&to=${year}-01-02`, year === new Date().getUTCFullYear() ? `" ${year}"` : 'none'],
      [`/locks?from=${year - 1}-12-01&to=${year - 1}-12-31`, 'none'],
    ] as const) {
      await page.goto(service.url + path)
      const [text, added] = await page
        .locator('.stepper summary')
        .evaluate(span => [span.textContent, getComputedStyle(span, '::after').content])
      assert.match(text ?? '', printed === 'none' ? / \d{4}$/ : /Jan$/)
      assert.equal(added?.replaceAll('" "', ' '), printed, 'a year is printed once')
    }
  })

  test('the last weeks are three small charts on one line, and the last days begin with a date', async () => {
    for (const width of [768, 1440]) {
      await using browser = await openSession(service, { viewport: { width, height: 900 } })
      const { page } = browser
      await page.goto(service.url)
      const feet = await page
        .locator('.multiples .plane')
        .evaluateAll(all => all.map(one => Math.round(one.getBoundingClientRect().bottom)))
      assert.equal(feet.length, 3)
      assert.equal(new Set(feet).size, 1, `${width}: ${feet.join(' ')}`)
      const first = new Date(Date.now() - 27 * 86_400_000)
      const date = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', timeZone: 'UTC' }).format(first)
      assert.deepEqual(await page.locator('.days-strip .nowrap').allTextContents(), [date, 'now'])
    }
  })

  test('on a phone the names of the totals of a year break between words only', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 780 } })
    await browser.page.goto(`${service.url}/year`)
    const broken = await browser.page.locator('.year .compact td:first-child').evaluateAll(cells =>
      cells.flatMap(cell => {
        const range = document.createRange()
        const [text] = cell.childNodes
        if (!(text instanceof Text)) return []
        return [...text.data.matchAll(/\S+/g)].flatMap(({ 0: word, index }) => {
          range.setStart(text, index)
          range.setEnd(text, index + word.length)
          return range.getClientRects().length > 1 ? [word] : []
        })
      }),
    )
    assert.deepEqual(broken, [])
  })

  test('on a phone the parts of a record are apart', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 780 } })
    const { page } = browser
    for (const [path, line] of [
      ['/training', 'first'],
      ['/training', 'second'],
    ]) {
      await page.goto(service.url + path)
      const before = await page
        .locator(`.records tbody tr:first-child td.${line}-line`)
        .last()
        .evaluate(cell => getComputedStyle(cell, '::before').content)
      assert.match(before, /·/, `${path}: ${line} line`)
    }
  })

  test('the menu of a phone has no marks beside its entries', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 780 } })
    const { page } = browser
    await page.goto(service.url)
    await page.locator('.account > summary').click()
    const style = await page
      .locator('.account .sheet li')
      .first()
      .evaluate(entry => getComputedStyle(entry).listStyleType)
    assert.equal(style, 'none')
  })

  test('a printed page says whose records it has', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    await page.goto(`${service.url}/training`)
    assert.equal(await page.getByText('Records of alex').isVisible(), false)
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.getByText('Records of alex').isVisible(), true)
  })
})
