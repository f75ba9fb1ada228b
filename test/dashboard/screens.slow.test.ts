// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleService, startSession } from '../support/dashboard.ts'
import type { TestService } from '../support/service.ts'
import { openSession } from '../support/pages.ts'
import { addKnownSource } from '../support/sources/pulls.ts'

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
    await using browser = await openSession(service, { viewport: { width: 360, height: 780 } })
    const { page } = browser
    for (const path of ['/training', '/locks', '/lock-templates', '/programs', '/lock-templates/44']) {
      await page.goto(service.url + path)
      const row = page
        .locator('table.records tbody tr')
        .filter({ has: page.locator('a') })
        .first()
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
    assert.deepEqual(await bar.getByRole('link').allTextContents(), ['Overview', 'Training', 'Locks', 'Year'])
    await bar.getByRole('link', { name: 'Training' }).click()
    await page.getByRole('navigation', { name: 'Training' }).getByRole('link', { name: 'Programs' }).click()
    await page.waitForURL(`${service.url}/programs`)
    await page.locator('.account > summary').click()
    await page.getByRole('navigation', { name: 'Account' }).getByRole('link', { name: 'API keys' }).click()
    await page.waitForURL(`${service.url}/keys`)
    assert.deepEqual(browser.problems, [])
  })

  test('a rejected row that is opened widens neither its table nor the page', async () => {
    await addKnownSource(service.store)
    const raw = JSON.stringify({ name: 'W'.repeat(900), lines: Array.from({ length: 40 }, (_, line) => line) })
    const row = { source: 'https://history.example', row_key: 'a', kind: 'lock-template', record_id: 5, owner_id: 1 }
    const seen = {
      account_id: 1,
      reason: 'duration is missing',
      encoding: 'utf-8',
      first_seen_at: 1,
      last_seen_at: 1,
    } as const
    await service.store.db
      .insertInto('set_aside')
      .values({ ...row, ...seen, raw })
      .execute()
    for (const width of [1440, 360]) {
      await using browser = await openSession(service, { viewport: { width, height: 900 } })
      const { page } = browser
      await page.goto(`${service.url}/source`)
      const table = page.locator('table').filter({ hasText: 'duration is missing' })
      const before = await table.evaluate(shown => shown.clientWidth)
      await table.locator('summary').click()
      assert.equal(await table.evaluate(shown => shown.clientWidth), before)
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth))
    }
  })

  test('on a wide screen no table scrolls sideways, and the sections of the reference are on one line', async () => {
    await using browser = await openSession(service, { viewport: { width: 1440, height: 900 } })
    const { page } = browser
    // Which types of segments and results a session of the sample has depends on the day of the week.
    const trainings = [100, 120, 140, 160, 180, 200, 220, 240, 260, 280].map(id => `/training/${id}`)
    for (const path of [...trainings, '/locks', '/keys', '/docs']) {
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

  test('printed pages have every picture and light colours, and no filters', async () => {
    await using browser = await openSession(service, { viewport: { width: 800, height: 600 }, colorScheme: 'dark' })
    const { page } = browser
    await page.goto(`${service.url}/training?range=1y`)
    await page.locator('#grades svg').first().waitFor()
    await page.emulateMedia({ media: 'print' })
    assert.equal(await page.locator('.plot > svg:visible').count(), await page.locator('.plot').count())
    assert.equal(await page.locator('.filters :is(.choice, button, select, a):visible').count(), 0)
    const [background, marks] = await page.evaluate(() => [
      getComputedStyle(document.body).backgroundColor,
      getComputedStyle(document.body).getPropertyValue('print-color-adjust'),
    ])
    assert.equal(background, 'rgb(255, 255, 255)')
    assert.equal(marks, 'exact')
    assert.deepEqual(browser.problems, [])
  })

  test('printed pages say which period they show and as of when the records are, and have no links to what they lack', async () => {
    await using browser = await openSession(service, { viewport: { width: 360, height: 780 } })
    const { page } = browser
    await page.goto(`${service.url}/training?range=1y&type=endurance`)
    await page.emulateMedia({ media: 'print' })
    await page.setViewportSize({ width: 718, height: 1000 })
    assert.match(await page.locator('.stepper').innerText(), /\d+\s\w+\s\d{4}\s–\s\d+\s\w+/)
    const foot = await page.locator('footer').innerText()
    assert.match(foot, /^Lockstep: records of alex\s+Times in \S+; no year means \d{4}\s+Records as of [\w\s,:]+$/)
    assert.equal(await page.getByText('Figures by week').first().isVisible(), false)
    // Nobody can unfold them there.
    await page.goto(`${service.url}/programs/13`)
    assert.match(await page.locator('main').innerText(), /settings and dates[^]*Warm.up\s3\smin[^]*Tolerance/)
  })

  test('on the narrowest phone no value of a tile wraps, and no record that is as usual takes a third line', async () => {
    await using browser = await openSession(service, { viewport: { width: 320, height: 700 } })
    const { page } = browser
    for (const path of ['/training/100', '/locks/44', '/locks/37', '/training']) {
      await page.goto(service.url + path)
      const broken = await page.locator('.stat dd').evaluateAll(values =>
        values.flatMap(value => {
          const text = value.firstChild
          if (text === null || text.nodeType !== Node.TEXT_NODE) return []
          const range = document.createRange()
          range.selectNodeContents(text)
          return range.getClientRects().length > 1 ? [text.textContent] : []
        }),
      )
      assert.deepEqual(broken, [], path)
    }
    await page.goto(`${service.url}/locks`)
    const heights = await page
      .locator('table.records tbody tr:not(:has(.state, small))')
      .evaluateAll(rows => rows.map(row => row.getBoundingClientRect().height))
    assert.ok(Math.max(...heights) < 72, `${Math.max(...heights)}`)
    await page.goto(`${service.url}/training?range=1y`)
    const [content, view] = await page
      .locator('.stepper summary')
      .evaluate(days => [days.scrollWidth, days.clientWidth])
    assert.ok((content ?? 0) <= (view ?? 0) + 1, 'the days are whole')
  })

  test('with text twice as large on a phone, words stay whole, and each choice and section can be reached', async () => {
    await using browser = await openPage({ viewport: { width: 360, height: 780 } })
    const { page } = browser
    await page.addInitScript(() =>
      addEventListener('DOMContentLoaded', () => document.documentElement.style.setProperty('font-size', '200%')),
    )
    await startSession(page, service.url)
    for (const path of ['/', '/year', '/training/100', '/locks/44', '/keys', '/training']) {
      await page.goto(service.url + path)
      const outside = await page.locator('.comparison td, .scroll td time').evaluateAll(
        cells =>
          cells.filter(cell => {
            const own = cell.closest('td')
            // The parts of a cell without a box stand in its row.
            const box = own?.getClientRects().length === 0 ? own.closest('tr') : own
            return cell.getBoundingClientRect().right > (box?.getBoundingClientRect().right ?? 0) + 1
          }).length,
      )
      assert.equal(outside, 0, path)
      const [content, view] = await page
        .locator('.card')
        .evaluateAll(cards => [
          cards.reduce((sum, card) => sum + card.scrollWidth, 0),
          cards.reduce((sum, card) => sum + card.clientWidth, 0),
        ])
      assert.equal(content, view, `${path}: what is in a card stays in it`)
      const narrow = await page
        .locator('.facts dd, .stacks td:visible')
        .evaluateAll(values => values.filter(value => value.getBoundingClientRect().width < 200).length)
      assert.equal(narrow, 0, path)
      const cut = await page
        .locator('.strip > ul > li > *, .choice > a, .lead time')
        .evaluateAll(parts =>
          parts
            .filter(part => part.scrollWidth > part.clientWidth + 1 || part.getBoundingClientRect().right > innerWidth)
            .map(part => part.textContent?.trim()),
        )
      assert.deepEqual(cut, [], path)
    }
    await page.locator('.account > summary').click()
    await page.getByRole('link', { name: 'API keys' }).click()
    await page.waitForURL(`${service.url}/keys`)
    await page.getByRole('link', { name: 'Revoke' }).first().click()
    const text = await page.locator('main form p').first().boundingBox()
    assert.ok((text?.width ?? 0) > 200, 'of a form, too')
  })
})
