// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { setPreferences } from '../../src/accounts/preferences.ts'
import { DAY_MS, formatTimestamp } from '../../src/contract/time.ts'
import { needsChromium } from '../support/chromium.ts'
import { allowSignIn } from '../support/dashboard.ts'
import { drawCharts, openSession } from '../support/pages.ts'
import * as records from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'

const now = Math.floor(Date.now() / 1000) * 1000

/** Ten sessions on as many days, nothing for five weeks, and ten days with two sessions each. Locks for two months. */
function* history() {
  yield records.account(1, 'ann')
  const days = [
    ...Array.from({ length: 10 }, (_, day) => 55 - day),
    ...Array.from({ length: 20 }, (_, i) => 10 - i / 2),
  ]
  for (const [index, day] of days.entries()) {
    const segment = records.trainerSegment(index + 1, { type: 'training', percentGrade: 50 + index, repsMeasured: 40 })
    yield records.trainingSession(index + 1, 1, {
      created_at: formatTimestamp(now - day * DAY_MS - 60_000),
      repsMeasured: 40 + index,
      TrainerSegment: [segment],
    })
  }
  for (const [index, day] of [70, 50, 40].entries()) {
    const [start, end] = [now - day * DAY_MS, now - (day - 4) * DAY_MS].map(formatTimestamp)
    yield records.lockSession(index + 1, 1, {
      startDate: start,
      endDate: end,
      isActive: false,
      LockSegment: [
        records.lockSegment(2 * index + 1, 'start', start ?? '', true),
        records.lockSegment(2 * index + 2, 'unlocked', end ?? '', false),
      ],
    })
  }
}

describe('lines of charts', needsChromium, () => {
  let service: TestService
  before(async () => {
    service = await startService([...history()])
    await allowSignIn(service, 'ann')
  })
  after(() => service[Symbol.asyncDispose]())

  const open = async (page: Page, path: string) => {
    await page.goto(service.url + path)
    await drawCharts(page)
  }

  test('a line starts where its average has seven sessions, and starts again after weeks without any', async () => {
    await using browser = await openSession(service, { username: 'ann' })
    const { page } = browser
    for (const chart of ['grades', 'grades-by-kind']) {
      await open(page, '/training?range=12w')
      const path = await page.locator(`#${chart} svg g[data-mark=line] path`).first().getAttribute('d')
      const parts = (path ?? '').split('M').filter(part => part !== '')
      assert.equal(parts.length, 2, `${chart}: ${path}`)
      const places = (part = '') => part.split(/[LZ]/).map(point => Number(point.split(',')[0]))
      assert.equal(places(parts[0]).length, 4, 'the seventh to the tenth of the first ten sessions')
      assert.equal(places(parts[1]).length, 14, 'the seventh to the twentieth after the break')
      const gap = await page
        .locator(`#${chart} [fill="url(#hatch-break)"], #${chart} [fill="url(#hatch-break)"] rect`)
        .first()
        .boundingBox()
      const drawing = await page.locator(`#${chart} svg`).first().boundingBox()
      assert.ok(gap !== null && drawing !== null)
      const left = gap.x - drawing.x
      assert.ok(Math.abs(left - (places(parts[0]).at(-1) ?? 0)) < 2, `${left} after ${parts[0]}`)
      assert.ok(left + gap.width < (places(parts[1])[0] ?? 0))
      assert.match(await page.locator(`#${chart} .legend`).innerText(), /No session here for two weeks or more/)
    }
    assert.deepEqual(browser.problems, [])
  })

  test('fewer than eight sessions have no line of averages, and none in the legend', async () => {
    await using browser = await openSession(service, { username: 'ann' })
    const { page } = browser
    const day = (before: number) => new Date(now - before * DAY_MS).toISOString().slice(0, 10)
    for (const last of [51, 49]) {
      await open(page, `/training?from=${day(58)}&to=${day(last)}`)
      assert.equal(await page.locator('#grades svg g[data-mark=line] path').count(), 0)
      assert.doesNotMatch(await page.locator('#grades .legend').innerText(), /Average/)
    }
  })

  test('the average of months under lock is drawn from the first month that it is of', async () => {
    await using browser = await openSession(service, { username: 'ann' })
    const { page } = browser
    await open(page, '/locks')
    const line = await page.locator('#shares svg [stroke-dasharray="2 3"] line').first().boundingBox()
    const bar = await page.locator('#shares svg g[data-mark=rect] rect').first().boundingBox()
    assert.ok(line !== null && bar !== null)
    assert.ok(Math.abs(line.x - bar.x) < 3, `${line.x} of ${bar.x}`)
  })

  test('lines that cross bars do not cut them', async () => {
    await using browser = await openSession(service, { username: 'ann' })
    const { page } = browser
    await open(page, '/training?range=12w&compare=before')
    const light = await page.locator('#repetitions svg g').evaluateAll(groups => {
      const card = getComputedStyle(document.querySelector('.card') ?? document.body).backgroundColor
      return groups
        .map(group => getComputedStyle(group))
        .filter(({ stroke }) => stroke === card)
        .map(({ strokeWidth }) => Number.parseFloat(strokeWidth))
    })
    assert.ok(light.length > 0, 'they can be seen on bars')
    assert.ok(Math.max(...light) < 2, `${light.join()} pixels`)
  })

  test('the names of the average and of the goal never cover each other', async () => {
    await using browser = await openSession(service, { username: 'ann' })
    const { page } = browser
    for (const goal of [150, 200, 250, 300, 350, 400, 450, 600]) {
      await setPreferences(service.store, 1, { displayName: '', timeZone: '', units: 'metric', weeklyGoal: goal })
      await open(page, '/training?range=12w')
      const boxOf = async (name: string) => {
        const box = await page.locator('#repetitions svg text', { hasText: name }).boundingBox()
        return box?.y ?? NaN
      }
      const [average, level] = [await boxOf('average'), await boxOf('goal')]
      assert.ok(Math.abs(average - level) >= 14, `goal ${goal}: ${average}, ${level}`)
    }
  })
})
