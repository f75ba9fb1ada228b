// engine: sqlite
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { api } from '../../src/contract/index.ts'
import { openapi } from '../../src/openapi/document.ts'
import { slugOf } from '../../src/dashboard/reference/reference-pages.ts'
import { needsChromium, openPage, type Watched } from '../support/chromium.ts'
import { PASSWORD, sampleService } from '../support/dashboard.ts'
import { fileAddresses, samplePages } from '../support/page-addresses.ts'
import { freePort } from '../support/postgres.ts'
import { needs } from '../support/programs.ts'
import { isWhole } from '../support/sweeps.ts'
import { readSample, settingsOf, startCaddy, startNginx } from '../support/tls-proxies.ts'
import { until } from '../support/waiting.ts'

const [nginx, caddy] = [readSample('nginx-path.conf'), readSample('Caddyfile-path')]

const proxies = [
  { name: 'nginx', keeps: true, sample: nginx, start: startNginx },
  {
    name: 'nginx',
    keeps: false,
    sample: nginx.replace('proxy_pass http://lockstep;', 'proxy_pass http://lockstep/;'),
    start: startNginx,
  },
  { name: 'caddy', keeps: true, sample: caddy, start: startCaddy },
  { name: 'caddy', keeps: false, sample: caddy.replace('handle /lock', 'handle_path /lock'), start: startCaddy },
] as const

const reference = ['/docs', ...openapi().tags.map(({ name }) => `/docs/${slugOf(name)}`)]
const paths = ['/', ...samplePages, ...reference]

/** A sample has each proxy once, and each way once. */
const tried = proxies.filter(({ name, keeps }) => isWhole || keeps === (name === 'nginx'))

describe('below a path of a host', needsChromium, () => {
  for (const [index, { name, keeps, sample, start }] of tried.entries()) {
    const what = `${name}, which ${keeps ? 'keeps' : 'removes'} the path`
    test(
      `behind ${what}, pages, files, forms and links lead nowhere else, and none is missing`,
      needs(name, 'openssl'),
      async () => {
        const port = await freePort()
        const url = `https://home.example:${port}/lockstep`
        await using service = await sampleService({ ...settingsOf(sample), LOCKSTEP_PUBLIC_URL: url })
        await using proxy = await start(sample, service.service.port, port)
        await using browser = await openPage({ ignoreHTTPSErrors: true })
        const failed = watchFailures(browser)
        await signIn(browser.page, url)
        const links = new Set(fileAddresses.map(path => url + path))
        const forms = new Set<string>()
        // Together they visit every page.
        for (const path of paths.filter((_, place) => isWhole || place % tried.length === index)) {
          await browser.page.goto(url + path)
          await collectAddresses(browser.page, links, forms)
        }
        await assertAnswered(browser.page, proxy, url, { links, forms })
        await assertRedirected(browser.page, url)
        await download(browser.page, url)
        const key = await createKey(browser.page, url)
        await readApi(proxy, url, key)
        await signOut(browser.page, url)
        assert.deepEqual(failed, [])
        assert.deepEqual(browser.problems, [])
        const foreign = browser.requests.filter(
          address => address !== url && !address.startsWith(`${url}/`) && !/^(data|blob):/.test(address),
        )
        assert.deepEqual(foreign, [])
      },
    )
  }
})

/** The responses that the browser got with a status of an error. */
function watchFailures({ page }: Watched): string[] {
  const failed: string[] = []
  page.context().on('response', response => {
    if (response.status() >= 400) failed.push(`${response.status()} ${response.url()}`)
  })
  return failed
}

async function signIn(page: Page, url: string) {
  await page.goto(`${url}/training`)
  assert.equal(page.url(), `${url}/signin?next=%2Ftraining`)
  await page.getByLabel('Username').fill('alex')
  await page.getByLabel('Password').fill(PASSWORD)
  await page.getByRole('button', { name: 'Sign in' }).click()
  await page.waitForURL(`${url}/training`)
}

/** Adds where links and forms of a page lead. */
async function collectAddresses(page: Page, links: Set<string>, forms: Set<string>) {
  const found = await page.evaluate(() => ({
    links: [...document.querySelectorAll('a[href]')].map(
      link => new URL(link.getAttribute('href') ?? '', document.URL).href,
    ),
    forms: [...document.querySelectorAll('form')].filter(({ method }) => method === 'post').map(({ action }) => action),
  }))
  // One query of each path: others sort and filter the same page.
  for (const link of found.links) {
    const { origin, pathname } = new URL(link)
    if (origin === new URL(page.url()).origin) links.add(origin + pathname)
  }
  for (const form of found.forms) forms.add(form)
}

type Proxy = Awaited<ReturnType<typeof startNginx>>

/** Every link is answered, and every form is one of the service: it refuses those of other sites, and redirects below the path. */
async function assertAnswered(
  page: Page,
  proxy: Proxy,
  url: string,
  { links, forms }: Record<'links' | 'forms', ReadonlySet<string>>,
) {
  const Cookie = (await page.context().cookies()).map(({ name, value }) => `${name}=${value}`).join('; ')
  const pathOf = (address: string) => {
    assert.ok(address.startsWith(`${url}/`), address)
    return new URL(address).pathname
  }
  for (const link of links) {
    const get = () => proxy.get(pathOf(link), { Cookie, Accept: 'text/html, */*' })
    let answer = await get()
    // The proxy may have sent an export before the service has noticed its end, and there is one at a time.
    await until(async () => answer.status !== 429 || (answer = await get()).status !== 429)
    const { status, headers } = answer
    assert.ok(
      status === 200 || (status === 303 && String(headers['location']).startsWith('/lockstep/')),
      `${link}: ${status}`,
    )
  }
  for (const form of forms) {
    const post = (headers: Record<string, string>) => proxy.post(pathOf(form), { Cookie, ...headers })
    assert.equal((await post({})).status, 403, form)
    if (form.endsWith('/signout')) continue
    const { status, headers } = await post({ Origin: new URL(url).origin })
    const isRight = status === 303 ? String(headers['location']).startsWith('/lockstep/') : status < 500
    assert.ok(isRight, `${form}: ${status}`)
  }
}

async function assertRedirected(page: Page, url: string) {
  await page.goto(url)
  assert.equal(page.url(), `${url}/`)
}

/** Gets a file as people do, who click on a link. */
async function download(page: Page, url: string) {
  await page.goto(`${url}/settings`)
  const [file] = await Promise.all([page.waitForEvent('download'), page.locator('a[href$="/settings/export"]').click()])
  assert.equal(await file.failure(), null)
}

/** Creates a key in the form, which calls the API with it. */
async function createKey(page: Page, url: string): Promise<string> {
  await page.goto(`${url}/keys`)
  await page.getByRole('link', { name: 'Create key' }).first().click()
  const form = page.locator('main')
  await form.getByLabel('Name').fill('Below a path')
  await form.getByLabel('Expires').press('ArrowDown')
  await form.getByRole('button', { name: 'Create key' }).click()
  await form.getByRole('button', { name: 'Test it now' }).click()
  await form.getByText(/^200/).waitFor()
  return (await form.locator('.secret code').textContent()) ?? ''
}

/** Follows the pages of a list by their Link header, as a program does. */
async function readApi(proxy: Proxy, url: string, key: string) {
  const headers = { Authorization: `Bearer ${key}` }
  const first = await proxy.get(`/lockstep${api.listTrainingSessions.path}?limit=1`, headers)
  const [, next = ''] = /<([^>]+)>; rel="next"/.exec(String(first.headers['link'])) ?? []
  assert.ok(next.startsWith(`${url}${api.listTrainingSessions.path}?`), next)
  assert.equal((await proxy.get(next.slice(new URL(url).origin.length), headers)).status, 200)
}

async function signOut(page: Page, url: string) {
  await page.goto(`${url}/`)
  await page.locator('.account > summary').click()
  await page.getByRole('button', { name: 'Sign out' }).first().click()
  await page.waitForURL(`${url}/signin`)
}
