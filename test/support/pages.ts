import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { openPage, type Watched } from './chromium.ts'
import { sampleService, signIn } from './dashboard.ts'
import type { TestService } from './service.ts'

/** What is promised of every page of the sample, in a browser. */

/** Every kind of page. */
export const paths = [
  '/',
  '/training?range=1y',
  '/training/100',
  '/training/100?view=json',
  '/programs',
  '/programs/13',
  '/locks',
  '/locks/43',
  '/locks/37?view=curl',
  '/lock-templates',
  '/lock-templates/44',
  '/keys',
  '/keys/new',
  '/people',
  '/people/give',
  '/settings',
  '/settings/delete',
]

/** Nothing was asked of another host, and nothing went wrong on the page. */
export function assertClean({ requests, problems }: Watched, { url }: TestService) {
  assert.deepEqual(
    requests.filter(request => !request.startsWith(`${url}/`) && !request.startsWith('data:')),
    [],
  )
  assert.deepEqual(problems, [])
}

export async function assertAccessible(page: Page, what: string) {
  // The other mode looks into frames of other origins, of which there are none, and takes twice as long. So does describing
  // the elements that pass.
  const { violations } = await new AxeBuilder({ page })
    .setLegacyMode(true)
    .options({ resultTypes: ['violations'] })
    .analyze()
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical')
  assert.deepEqual(
    serious.map(
      ({ id, nodes }) =>
        `${id}: ${nodes
          .map(({ html }) => html)
          .slice(0, 3)
          .join(' ')}`,
    ),
    [],
    what,
  )
}

/** Charts are drawn when they come into view. */
async function drawCharts(page: Page) {
  for (const plot of await page.locator('[data-chart] .plot').all()) {
    await plot.scrollIntoViewIfNeeded()
    await plot.locator('svg').first().waitFor()
  }
}

/** Registers the test that axe finds nothing serious on these pages. */
export function testAccessible(theme: 'light' | 'dark', discreet: '0' | '1', paths: readonly string[]) {
  const what = `${theme}${discreet === '1' ? ', discreet' : ''}`
  test(`axe finds nothing serious on ${paths.length} pages: ${what}`, async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width: 1440, height: 900 } })
    const { page } = browser
    await page.context().addCookies([
      { name: 'theme', value: theme, url: service.url },
      { name: 'discreet', value: discreet, url: service.url },
    ])
    await page.goto(`${service.url}/signin`)
    await assertAccessible(page, '/signin')
    await page.goto(`${service.url}/invitation/${await createInvitation(service.store, 3, Date.now())}`)
    await assertAccessible(page, 'an invitation')
    await signIn(page, service.url)
    for (const path of paths) {
      await page.goto(service.url + path)
      await drawCharts(page)
      await assertAccessible(page, path)
      const scheme = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
      assert.equal(scheme, theme === 'dark' ? 'rgb(20, 24, 26)' : 'rgb(247, 247, 245)', path)
    }
    assertClean(browser, service)
  })
}

/** Registers the test that no page scrolls sideways. */
export function testWidth(width: number, paths: readonly string[]) {
  test(`no page scrolls sideways: ${paths.length} pages, ${width} pixels wide`, async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width, height: 800 } })
    const { page } = browser
    await signIn(page, service.url)
    for (const path of [...paths, '/signin', '/locks/999']) {
      const response = await page.goto(service.url + path)
      await drawCharts(page)
      const [content, view] = await page.evaluate(() => [
        document.documentElement.scrollWidth,
        document.documentElement.clientWidth,
      ])
      assert.equal(content, view, `${path} (${response?.status()})`)
    }
    assert.deepEqual(
      browser.problems.filter(problem => !problem.includes('404')),
      [],
    )
  })
}
