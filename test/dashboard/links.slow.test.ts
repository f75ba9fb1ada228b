// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { openSession } from '../support/pages.ts'
import { needsChromium } from '../support/chromium.ts'
import { allowSignIn, sampleService } from '../support/dashboard.ts'
import * as records from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

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

test('a day with training and time under lock opens both', needsChromium, async () => {
  const start = Math.floor(Date.now() / DAY_MS) * DAY_MS - 3 * DAY_MS
  await using service = await startService([
    records.account(1, 'ann'),
    records.trainingSession(1, 1, { created_at: formatTimestamp(start + 36_000_000) }),
    records.lockSession(1, 1, {
      startDate: formatTimestamp(start + 28_800_000),
      endDate: formatTimestamp(start + 64_800_000),
      isActive: false,
      LockSegment: [
        records.lockSegment(1, 'start', formatTimestamp(start + 28_800_000), true),
        records.lockSegment(2, 'unlocked', formatTimestamp(start + 64_800_000), false),
      ],
    }),
  ])
  await allowSignIn(service, 'ann')
  await using browser = await openSession(service, { username: 'ann' })
  const { page } = browser
  await page.goto(`${service.url}/year/${new Date(start).getUTCFullYear()}`)
  await page.locator('.calendar a.under').click()
  await page.waitForURL(/day=/)
  const rows = page.getByRole('region', { name: 'Activity of the day' })
  assert.equal(await rows.locator('a[href="/training/1"]').count(), 1)
  assert.equal(await rows.locator('a[href="/locks/1"]').count(), 1)
  assert.match(await rows.innerText(), /10.h under lock/)
})
