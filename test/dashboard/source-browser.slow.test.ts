// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { needsChromium, openPage, tabTo } from '../support/chromium.ts'
import { makeFolder, run } from '../support/command.ts'
import { sampleService } from '../support/dashboard.ts'
import { assertAccessible } from '../support/pages.ts'
import { account, lockSession, lockTemplate, trainingSession, trainingTemplate } from '../support/records.ts'
import { until } from '../support/waiting.ts'
import { startService, unlimited } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { startHttpServer } from '../support/http-server.ts'
import { request } from 'node:http'

const PASSWORD = 'a long enough password'
const COMPLETE = /^([\d,]+) of \1 records\s+complete as of (?:\d+\s\w+(?:\s\d{4})?,\s)?\d\d:\d\d/

interface Source {
  readonly url: string
  /** An API key of alex. */
  readonly key: string
}

/** A server behind a limit of requests, and an empty service with an invitation. */
async function setUp(
  source: Source,
  limit: { perMinute: number; minuteMs?: number },
  settings: Record<string, string>,
) {
  await using stack = new AsyncDisposableStack()
  const folder = stack.use(await makeFolder())
  const limiter = stack.use(await startLimiter(source.url, limit))
  const database = `sqlite:${folder.file('mine.db')}`
  assert.equal((await run(['account', 'add', '--username', 'ann', '--id', '77', '--database', database])).code, 0)
  const start = () => serve(database, { settings: { ...settings, LOCKSTEP_SOURCE_ORIGINS: limiter.url } })
  const service = stack.use(await start())
  const invited = await run(['account', 'invite', '--account', 'ann', '--database', database])
  const [, path = ''] = /(\/invitation\/\S+)/.exec(invited.stdout) ?? []
  const kept = stack.move()
  return {
    key: source.key,
    limiter,
    service,
    invitation: service.url + path,
    /** Kills the service at once, and starts it again. Returns its new address. */
    async restart() {
      service.process.kill('SIGKILL')
      await service.ended
      const again = await start()
      kept.use(again)
      return again.url
    },
    [Symbol.asyncDispose]: () => kept[Symbol.asyncDispose](),
  }
}

/** The sample behind a limit that it reaches soon. */
async function setUpSample() {
  const sample = await sampleService()
  const key = await sample.token('alex', { name: 'Copy' })
  const it = await setUp({ url: sample.url, key }, { perMinute: 15, minuteMs: 3000 }, { LOCKSTEP_PULL_RATE: '0' })
  const close = it[Symbol.asyncDispose]
  return Object.assign(it, {
    anotherKey: () => sample.token('alex', { name: 'Another copy' }),
    async revoke() {
      const now = Date.now() - 1
      await sample.store.db.updateTable('token').set({ revoked_at: now }).where('name', '=', 'Copy').execute()
    },
    [Symbol.asyncDispose]: async () => {
      await close()
      await sample[Symbol.asyncDispose]()
    },
  })
}

type Setup = Awaited<ReturnType<typeof setUp>>

/** From the invitation to the first Overview with records. Returns how often something was clicked. */
async function bringIn(page: Page, it: Setup, check: (what: string) => Promise<void>): Promise<number> {
  let clicks = 0
  const click = async (locator: Locator) => {
    clicks += 1
    await locator.click()
  }
  await page.goto(it.invitation)
  for (const field of await page.locator('input[type=password]').all()) await field.fill(PASSWORD)
  await click(page.getByRole('button', { name: 'Set password and sign in' }))
  await click(page.getByRole('link', { name: 'Connect a server' }))
  await page.getByLabel('Address of the server').fill(it.limiter.url)
  await page.getByLabel('API key of that server').fill(it.key)
  await check('the form')
  await click(page.getByRole('button', { name: 'Check connection' }))
  await page.getByText('The key belongs to alex there. Is that you?').waitFor()
  await check('the question')
  await click(page.getByRole('button', { name: 'Yes, copy my records' }))
  await page.getByRole('button', { name: 'Stop copying' }).waitFor()
  await check('while it copies')
  await page.getByText(COMPLETE).waitFor()
  await check('when it is connected')
  await click(page.getByRole('link', { name: 'Overview' }))
  await page.locator('.tiles').waitFor()
  return clicks
}

/** 1,204 records. */
function* longHistory() {
  const me = 4711
  for (let id = 1; id <= 20; id += 1) yield trainingTemplate(id, me)
  for (let id = 1; id <= 14; id += 1) yield lockTemplate(id, me)
  for (let id = 1; id <= 70; id += 1) yield lockSession(id, me)
  for (let id = 1; id <= 1100; id += 1) yield trainingSession(id, me)
}

describe('in a browser', needsChromium, () => {
  for (const javaScriptEnabled of [true, false]) {
    test(`an invitation, an address and a key lead to one's own Overview in six clicks, ${javaScriptEnabled ? 'with' : 'without'} scripts`, async () => {
      await using it = await setUpSample()
      await using browser = await openPage({ javaScriptEnabled, viewport: { width: 390, height: 844 } })
      const { page } = browser
      const clicks = await bringIn(page, it, async what => {
        if (javaScriptEnabled) await assertAccessible(page, what)
        assert.doesNotMatch(await page.content(), new RegExp(it.key), what)
      })
      assert.ok(clicks <= 6, `${clicks} clicks`)
      assert.ok(it.limiter.counts.refused > 0, 'the limit was reached')
      assert.deepEqual(browser.problems, [])
    })
  }

  test('all of it works with the keyboard', async () => {
    await using it = await setUpSample()
    await using browser = await openPage()
    const { page } = browser
    const press = async (text: string) => {
      await tabTo(page, text)
      await page.keyboard.press('Enter')
    }
    await page.goto(it.invitation)
    for (const field of await page.locator('input[type=password]').all()) await field.fill(PASSWORD)
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Connect a server' }).waitFor()
    await press('Connect a server')
    await page.getByLabel('Address of the server').focus()
    await page.keyboard.type(it.limiter.url)
    await page.keyboard.press('Tab')
    await page.keyboard.type(it.key)
    await page.keyboard.press('Enter')
    await page.getByText('Is that you?').waitFor()
    await press('Yes, copy my records')
    await page.getByRole('button', { name: 'Stop copying' }).waitFor()
    await press('Stop copying')
    await page.getByText('Stopped: what was copied is kept.').waitFor()
    await press('Continue')
    await page.getByText(COMPLETE).waitFor()
    await press('More')
    await press('Stop and forget the key')
    await page.getByText('All records that were copied stay').waitFor()
    await page.getByRole('button', { name: 'Forget this source' }).focus()
    await page.keyboard.press('Enter')
    await page.getByRole('link', { name: 'Connect a server' }).waitFor()
    await page.getByText(COMPLETE).waitFor()
    assert.deepEqual(browser.problems, [])
  })

  test('a key that was revoked at the source is reported with what to do; all pages of a source are accessible and fit on a phone', async () => {
    await using it = await setUpSample()
    await using browser = await openPage({ viewport: { width: 320, height: 700 } })
    const { page } = browser
    const check = async (what: string) => {
      await assertAccessible(page, what)
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), `${what} is too wide`)
    }
    await bringIn(page, it, check)
    for (const path of ['/source/key', '/source/locks', '/source/forget']) {
      await page.goto(it.service.url + path)
      await check(path)
    }
    await it.revoke()
    await page.goto(`${it.service.url}/source`)
    await page.getByRole('button', { name: 'Copy now' }).click()
    await page.getByText('has refused the key since').waitFor()
    await page.getByText('More', { exact: true }).click()
    await check('after the key was refused')
    await page.getByRole('link', { name: 'Change key' }).click()
    await page.getByLabel('API key of that server').fill(await it.anotherKey())
    await page.getByRole('button', { name: 'Check and use it' }).click()
    await page.getByText(COMPLETE).waitFor()
    await page.getByText('has refused the key').waitFor({ state: 'detached' })
    const lists = page.locator('main, [data-live=source-rounds]')
    for (const [width, gap] of Object.entries({ 320: '16px', 1440: '24px' })) {
      await page.setViewportSize({ width: Number(width), height: 900 })
      const gaps = await lists.evaluateAll(all => all.map(list => getComputedStyle(list).rowGap))
      assert.deepEqual(gaps, [gap, gap], 'its cards are as far apart as on other pages')
    }
    assert.deepEqual(browser.problems, [])
  })

  test('copying goes on after the service was killed', async () => {
    await using it = await setUpSample()
    await using browser = await openPage()
    const { page } = browser
    let address = ''
    await bringIn(page, it, async what => {
      if (what !== 'while it copies') return
      // Copying takes 52 requests. A page may show it too late on a busy machine.
      await until(async () => it.limiter.counts.passed > 10)
      address = await it.restart()
      await page.goto(`${address}/source`)
    })
    assert.equal(new URL(page.url()).origin, address)
  })

  test('1,204 records come within three minutes where 60 requests a minute are allowed', async () => {
    await using source = await startService([account(4711, 'alex'), ...longHistory()], unlimited)
    const key = await source.token('alex')
    await using it = await setUp({ url: source.url, key }, { perMinute: 60 }, {})
    await using browser = await openPage({ viewport: { width: 390, height: 844 } })
    const began = performance.now()
    const clicks = await bringIn(browser.page, it, async () => {})
    const seconds = Math.round((performance.now() - began) / 1000)
    const { passed, refused } = it.limiter.counts
    console.log(`${clicks} clicks, ${seconds} s, ${passed} requests, ${refused} refused`)
    assert.ok(clicks <= 6, `${clicks} clicks`)
    assert.ok(seconds <= 180, `${seconds} s`)
    await browser.page.goto(`${it.service.url}/source`)
    await browser.page.getByText('1,204 of 1,204 records').waitFor()
  })
})

/** A proxy before a server of the API that allows so many requests in a minute, as hosted services do. */
interface Limiter extends AsyncDisposable {
  readonly url: string
  /** How many requests it passed on, and how many it refused. */
  readonly counts: { passed: number; refused: number }
}

/** `minuteMs` makes the minute shorter, for tests that cannot wait. */
async function startLimiter(
  target: string,
  { perMinute, minuteMs = 60_000 }: { readonly perMinute: number; readonly minuteMs?: number },
): Promise<Limiter> {
  const counts = { passed: 0, refused: 0 }
  const sent: number[] = []
  const server = await startHttpServer((incoming, response) => {
    const now = performance.now()
    while (sent.length > 0 && now - (sent[0] ?? 0) >= minuteMs) sent.shift()
    if (sent.length >= perMinute) {
      counts.refused += 1
      const seconds = Math.ceil(((sent[0] ?? 0) + minuteMs - now) / 1000)
      response.writeHead(429, { 'Content-Type': 'application/json', 'Retry-After': String(Math.max(1, seconds)) })
      return void response.end('{"ok":false,"error":"Too many requests"}')
    }
    sent.push(now)
    counts.passed += 1
    const { host: _, ...headers } = incoming.headers
    const outgoing = request(target + (incoming.url ?? ''), { headers }, answer => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    outgoing.end()
  })
  return { ...server, counts }
}
