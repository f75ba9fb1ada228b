// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleService, startSession } from '../support/dashboard.ts'
import type { TestService } from '../support/service.ts'

describe('on any screen and on paper', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await sampleService()
  })
  after(() => service[Symbol.asyncDispose]())

  test('on a phone a record is two lines, and a tap anywhere in them opens it; long names wrap', async () => {
    const { db } = service.store
    const name = 'W'.repeat(64)
    const rows = await db.selectFrom('training_template').select(['id', 'summary']).execute()
    for (const { id, summary } of rows) {
      const renamed = JSON.stringify({ ...(JSON.parse(summary) as object), name })
      await db.updateTable('training_template').set({ summary: renamed }).where('id', '=', id).execute()
    }
    await using browser = await openPage({ viewport: { width: 360, height: 780 } })
    const { page } = browser
    await startSession(page, service.url)
    for (const path of [
      '/',
      '/training',
      '/locks',
      '/lock-templates',
      '/programs',
      '/programs/13',
      '/lock-templates/44',
    ]) {
      await page.goto(service.url + path)
      const row = page.locator('table.records tbody tr').first()
      await row.scrollIntoViewIfNeeded()
      const lines = await row
        .locator('td:visible')
        .evaluateAll(cells => new Set(cells.map(cell => [...cell.classList].at(-1))).size)
      assert.equal(lines, 2, path)
      const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
      assert.equal(content, view, path)
      const address = await row.locator('a').first().getAttribute('href')
      const box = await row.boundingBox()
      assert.ok(box !== null)
      await row.click({ position: { x: box.width - 5, y: box.height - 5 } })
      await page.waitForURL(service.url + address)
    }
    const bar = page.getByRole('navigation', { name: 'Main sections' })
    await bar.getByText('More').click()
    await bar.getByRole('link', { name: 'API keys' }).click()
    await page.waitForURL(`${service.url}/keys`)
    assert.deepEqual(browser.problems, [])
  })

  test('on a phone a calendar shows its last weeks, and keeps the names of its days and months', async () => {
    await using browser = await openPage({ viewport: { width: 360, height: 780 } })
    const { page } = browser
    await startSession(page, service.url)
    for (const path of ['/', '/locks']) {
      await page.goto(service.url + path)
      const hidden = await page.locator('.scroll:has(> .calendar)').evaluate(calendar => {
        const { left, right } = calendar.getBoundingClientRect()
        const seen = [
          ...calendar.querySelectorAll('tbody th, tr:first-child td:last-child, .months td:last-child span'),
        ]
        return seen
          .filter(cell => cell.getBoundingClientRect().left < left || cell.getBoundingClientRect().right > right + 1)
          .map(({ textContent }) => textContent)
      })
      assert.deepEqual(hidden, [], path)
      const cut = await page.locator('.calendar .months').evaluate(row => {
        // A name may reach into the space of three pixels between two weeks.
        const start = row.firstElementChild?.getBoundingClientRect().right ?? 0
        return [...row.querySelectorAll('span')]
          .filter(
            name => name.getBoundingClientRect().left < start - 3 && name.getBoundingClientRect().right > start + 3,
          )
          .map(({ textContent }) => textContent)
      })
      assert.deepEqual(cut, [], path)
    }
  })

  test('on a wide screen no table scrolls sideways, and the sections of the reference are on one line', async () => {
    await using browser = await openPage({ viewport: { width: 1440, height: 900 } })
    const { page } = browser
    await startSession(page, service.url)
    for (const path of ['/training/100', '/locks', '/keys', '/docs']) {
      await page.goto(service.url + path)
      const scrolled = await page
        .locator('.scroll')
        .evaluateAll(tables => tables.filter(table => table.scrollWidth > table.clientWidth + 1).length)
      assert.equal(scrolled, 0, path)
    }
    const lines = await page
      .locator('.contents a')
      .evaluateAll(links => new Set(links.map(link => link.getBoundingClientRect().top)).size)
    assert.equal(lines, 1)
  })

  test('paper has every chart and light colours, and no filters', async () => {
    await using browser = await openPage({ viewport: { width: 800, height: 600 }, colorScheme: 'dark' })
    const { page } = browser
    await startSession(page, service.url)
    await page.goto(`${service.url}/training?range=1y`)
    await page.locator('#grades svg').first().waitFor()
    await page.emulateMedia({ media: 'print' })
    await page.evaluate(() => void dispatchEvent(new Event('beforeprint')))
    const empty = await page
      .locator('[data-chart]')
      .evaluateAll(charts => charts.filter(chart => chart.querySelector('.plot svg') === null).length)
    assert.equal(empty, 0)
    assert.equal(await page.locator('.filters').first().isVisible(), false)
    const [background, marks] = await page.evaluate(() => [
      getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.body).getPropertyValue('print-color-adjust'),
    ])
    assert.equal(background, 'rgb(247, 247, 245)')
    assert.equal(marks, 'exact')
    assert.deepEqual(browser.problems, [])
  })

  test('in forced colours the days of a calendar still differ', async () => {
    await using browser = await openPage({ forcedColors: 'active' })
    const { page } = browser
    await startSession(page, service.url)
    await page.goto(service.url)
    const looks = await page.evaluate(() =>
      ['one', 'more', 'none'].map(look => {
        const day = document.querySelector(`.calendar .day.${look}`)
        if (day === null) throw new Error(`no day looks like ${look}`)
        const { backgroundColor, borderColor, borderWidth } = getComputedStyle(day)
        return `${backgroundColor} ${borderColor} ${borderWidth}`
      }),
    )
    assert.equal(new Set(looks).size, 3, looks.join(', '))
  })

  test('text grows with the font size of the browser', async () => {
    await using browser = await openPage()
    const { page } = browser
    await startSession(page, service.url)
    await page.goto(service.url)
    const sizes = () =>
      page.evaluate(() =>
        ['h1', 'h2', 'td', '.muted'].map(selector => {
          const element = document.querySelector(selector)
          return element === null ? 0 : Number.parseFloat(getComputedStyle(element).fontSize)
        }),
      )
    const usual = await sizes()
    await page.evaluate(() => {
      document.documentElement.style.fontSize = '200%'
    })
    assert.deepEqual(
      await sizes(),
      usual.map(size => 2 * size),
    )
  })
})
