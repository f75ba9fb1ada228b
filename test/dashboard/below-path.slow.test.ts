// engine: sqlite
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Page } from 'playwright-core'
import { api } from '../../src/contract/index.ts'
import { openapi } from '../../src/openapi/document.ts'
import { slugOf } from '../../src/dashboard/reference/pages.ts'
import { needsChromium, openPage, type Watched } from '../support/chromium.ts'
import { PASSWORD, sampleService } from '../support/dashboard.ts'
import { fileAddresses, samplePages } from '../support/page-addresses.ts'
import { drawCharts } from '../support/pages.ts'
import { freePort } from '../support/postgres.ts'
import { sweep } from '../support/sweeps.ts'
import { readSample, settingsOf, startCaddy, startNginx, whyNoProxy } from '../support/tls-proxies.ts'
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

const reference = ['/docs', ...openapi().tags.map(({ name }) => `/docs/${slugOf(name)}`), '/docs/console']
const paths = ['/', ...samplePages, ...reference]

describe('below a path of a host', needsChromium, () => {
  for (const [index, { name, keeps, sample, start }] of proxies.entries()) {
    const skip = whyNoProxy(name)
    const what = `${name}, which ${keeps ? 'keeps' : 'removes'} the path`
    test(`behind ${what}, pages, files, forms and links lead nowhere else, and none is missing`, { skip }, async () => {
      const port = await freePort()
      const url = `https://home.example:${port}/lockstep`
      await using service = await sampleService({ ...settingsOf(sample), LOCKSTEP_PUBLIC_URL: url })
      await using proxy = await start(sample, service.service.port, port)
      await using browser = await openPage({ ignoreHTTPSErrors: true })
      const failed = watchFailures(browser)
      await signIn(browser.page, url)
      const links = new Set(fileAddresses.map(path => url + path))
      const forms = new Set<string>()
      // Together the four visit every page.
      const share = paths.filter((_, place) => place % sweep(proxies.length, 1) === index % sweep(proxies.length, 1))
      for (const path of share) {
        await browser.page.goto(url + path)
        await browser.page.waitForLoadState('networkidle')
        await drawCharts(browser.page)
        await collectAddresses(browser.page, links, forms)
      }
      await assertAnswered(browser.page, proxy, url, { links, forms })
      await createKey(browser.page, url)
      await readApi(browser.page, proxy, url)
      await signOut(browser.page, url)
      assert.deepEqual(failed, [])
      assert.deepEqual(browser.problems, [])
      const foreign = browser.requests.filter(
        address => !address.startsWith(`${url}/`) && !/^(data|blob):/.test(address),
      )
      assert.deepEqual(foreign, [])
    })
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
    links: [...document.querySelectorAll<HTMLAnchorElement>('a[href]:not(svg a)')].map(({ href }) => href),
    forms: [...document.querySelectorAll('form')].filter(({ method }) => method === 'post').map(({ action }) => action),
  }))
  // One query of each path: others sort and filter the same page.
  for (const link of found.links) {
    const { origin, pathname } = new URL(link)
    // The console links to whoever made it.
    if (origin === new URL(page.url()).origin) links.add(origin + pathname)
  }
  for (const form of found.forms) forms.add(form)
}

type Proxy = Awaited<ReturnType<typeof startNginx>>

/** Every link is answered, and every form is one of the service, which refuses those of other sites. */
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
  for (const form of forms) assert.equal((await proxy.post(pathOf(form), { Cookie })).status, 403, form)
}

/** Creates a key in the dialog, which calls the API with it. */
async function createKey(page: Page, url: string) {
  await page.goto(`${url}/keys`)
  await page.getByRole('link', { name: 'Create key' }).first().click()
  const dialog = page.getByRole('dialog')
  await dialog.getByLabel('Name').fill('Below a path')
  await dialog.getByLabel('Expires').press('ArrowDown')
  await dialog.getByRole('button', { name: 'Create key' }).click()
  await dialog.getByRole('button', { name: 'Test it now' }).click()
  await dialog.getByText(/^200/).waitFor()
}

/** Follows the pages of a list by their Link header, as a program does. */
async function readApi(page: Page, proxy: Proxy, url: string) {
  const headers = { Authorization: `Bearer ${await page.locator('dialog .secret code').textContent()}` }
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
