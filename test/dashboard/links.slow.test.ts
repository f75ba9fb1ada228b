// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { openSession } from '../support/pages.ts'
import { needsChromium } from '../support/chromium.ts'
import { sampleService } from '../support/dashboard.ts'
import type { TestService } from '../support/service.ts'

describe('where links lead, and what they keep', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await sampleService()
  })
  after(() => service[Symbol.asyncDispose]())

  test('on the overview the name of a program opens the program, and another link the session', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    await page.goto(service.url)
    const tile = page.locator('.tile', { has: page.getByRole('heading', { name: 'Last session' }) })
    const name = await tile.locator('a[href^="/programs/"]').innerText()
    await tile.getByRole('link', { name: 'Last session' }).click()
    await page.waitForURL(/\/training\/\d+$/)
    assert.ok((await page.locator('main').innerText()).includes(name))
  })

  test('sorting a table and stepping through periods by arrow keys keep the focus', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    await page.goto(`${service.url}/training`)
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim().split(' ')[0])
    await page.locator('#session-table').getByRole('link', { name: 'Repetitions' }).focus()
    await page.keyboard.press('Enter')
    await page.waitForURL(/sort=reps/)
    assert.equal(await focused(), 'Repetitions')
    await page.keyboard.press('Enter')
    await page.waitForURL(/order=ascending/)
    assert.equal(await focused(), 'Repetitions')
    await page.getByRole('link', { name: '12 weeks', exact: true }).focus()
    await page.keyboard.press('ArrowLeft')
    await page.waitForURL(/from=/)
    assert.equal(await focused(), '12\u00a0w')
  })

  test('an address names only filters that are set', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    await page.goto(`${service.url}/training`)
    await page.locator('select[name=result]').selectOption('passed')
    await page.waitForURL(/result=/)
    assert.equal(new URL(page.url()).search, '?result=passed')
    await page.goto(`${service.url}/locks`)
    await page.locator('select[name=state]').selectOption({ index: 1 })
    await page.waitForURL(/state=/)
    await page.locator('select[name=state]').selectOption('')
    await page.waitForURL(url => !url.searchParams.has('state'))
    assert.equal(new URL(page.url()).search, '')
  })

  test('the order of a table is announced in the terms of its column', async () => {
    await using browser = await openSession(service)
    const { page } = browser
    const announced = async (query: string) => {
      await page.goto(`${service.url}/training${query}`)
      return page.locator('th[aria-sort] .hidden').textContent()
    }
    assert.equal(await announced(''), ', newest first')
    assert.equal(await announced('?order=ascending'), ', oldest first')
    assert.equal(await announced('?sort=program&order=ascending'), ', A to Z')
    assert.equal(await announced('?sort=result'), ', passed first')
    assert.equal(await announced('?sort=reps'), ', largest first')
    assert.equal(await announced('?sort=reps&order=ascending'), ', smallest first')
  })
})
