import assert from 'node:assert/strict'
import { test } from 'node:test'
import { AxeBuilder } from '@axe-core/playwright'
import type { BrowserContextOptions, Page } from 'playwright-core'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { openPage, type Watched } from './chromium.ts'
import { sampleService, startSession } from './dashboard.ts'
import type { TestService } from './service.ts'

/** The tests of every page of the sample in a browser. */

/** A page of somebody who has signed in. */
export async function openSession(
  { url }: Pick<TestService, 'url'>,
  { username, ...options }: BrowserContextOptions & { readonly username?: string } = {},
): Promise<Watched> {
  const browser = await openPage(options)
  await startSession(browser.page, url, username)
  return browser
}

/** Checks that the page requested nothing from other hosts and had no error. */
export function assertClean({ requests, problems }: Watched, { url }: TestService) {
  const outside = requests.filter(request => !request.startsWith(`${url}/`) && !request.startsWith('data:'))
  assert.deepEqual(outside, [])
  assert.deepEqual(problems, [])
}

type AxeOptions = Parameters<AxeBuilder['options']>[0]

export async function assertAccessible(page: Page, what: string, more: AxeOptions = {}) {
  // The other mode looks into frames of other origins, of which there are none, and takes twice as long. So does describing
  // the elements that pass.
  const axe = new AxeBuilder({ page }).setLegacyMode(true).options({ resultTypes: ['violations'], ...more })
  const { violations } = await axe.analyze()
  assert.deepEqual(
    violations.map(
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

/** Registers the test that axe finds nothing on these pages: with every rule, best practices included. */
export function testAccessible(theme: 'light' | 'dark', discreet: '0' | '1', paths: readonly string[]) {
  const what = `${theme}${discreet === '1' ? ', names hidden' : ''}`
  test(`axe finds nothing on ${paths.length} pages: ${what}`, async () => {
    await using service = await sampleService()
    await using browser = await openPage({ viewport: { width: 1440, height: 900 } })
    const { page } = browser
    await page.context().addCookies([
      { name: 'theme', value: theme, url: service.url },
      { name: 'discreet', value: discreet, url: service.url },
    ])
    await page.goto(`${service.url}/signin`)
    await assertAccessible(page, '/signin')
    await page.goto(`${service.url}/invitation/${await createInvitation(service.store, { accountId: 3 }, Date.now())}`)
    await assertAccessible(page, 'an invitation')
    await startSession(page, service.url)
    for (const path of paths) {
      await page.goto(service.url + path)
      await assertAccessible(page, path)
      const scheme = await page.evaluate(() => getComputedStyle(document.body).backgroundColor)
      assert.equal(scheme, theme === 'dark' ? 'rgb(20, 24, 26)' : 'rgb(247, 247, 245)', path)
    }
    assertClean(browser, service)
  })
}

/** The width of A4 paper between its margins. */
const PAPER_WIDTH = 718

/**
 * Registers the test that no page scrolls sideways, also with text twice as large, where no text covers another one, and that nothing is
 * cut on paper, where nobody can scroll. Each page is loaded once, at the first of these widths.
 */
export function testWidths(widths: readonly number[], largeWidths: readonly number[], paths: readonly string[]) {
  test(`no page scrolls sideways or is cut on paper: ${paths.length} pages, ${widths.join(', ')} pixels wide, with large text ${largeWidths.join(', ')}`, async () => {
    await using service = await sampleService()
    await using browser = await openSession(service)
    const { page } = browser
    const cut = (elements: Element[]) =>
      elements
        .filter(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)
        .map(({ tagName, className, scrollWidth }) => `${tagName} ${className} ${scrollWidth}`)
    for (const path of [...paths, '/signin', '/locks/999']) {
      await assertWidths(page, service.url + path, widths)
      for (const width of [768, PAPER_WIDTH]) {
        await page.setViewportSize({ width, height: 1000 })
        assert.deepEqual(await page.locator('.scroll:has(> .records)').evaluateAll(cut), [], `${path} on a tablet`)
      }
      await page.emulateMedia({ media: 'print' })
      assert.deepEqual(await page.locator('html, .scroll, pre, .card, .plot').evaluateAll(cut), [], `${path} on paper`)
      assert.equal(await page.locator('.strip:visible').count(), 0, `${path} has a bar on paper`)
      await page.emulateMedia({ media: 'screen' })
      await page.evaluate(() => document.documentElement.style.setProperty('font-size', '200%'))
      for (const width of largeWidths) {
        await assertWidth(page, width, `${path} with large text`)
        assert.deepEqual(await page.evaluate(overlaps), [], path)
      }
    }
    const problems = browser.problems.filter(problem => !problem.includes('404'))
    assert.deepEqual(problems, [])
  })
}

async function assertWidths(page: Page, url: string, widths: readonly number[]) {
  await page.setViewportSize({ width: widths[0] ?? 0, height: 800 })
  await page.goto(url)
  for (const width of widths) await assertWidth(page, width, url)
}

async function assertWidth(page: Page, width: number, what: string) {
  await page.setViewportSize({ width, height: 800 })
  const isNarrow = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth
  await page.waitForFunction(isNarrow, undefined, { timeout: 5000 }).catch(async () => {
    const content = await page.evaluate(() => document.documentElement.scrollWidth)
    assert.fail(`${what}: ${content} of ${width} pixels`)
  })
}

/** Runs in a browser: pairs of texts that cover each other. Those that scroll within the page are left out. */
function overlaps(): string[] {
  const texts: { text: string; rect: DOMRect }[] = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const parent = node.parentElement
    const text = node.textContent?.trim() ?? ''
    if (text === '' || parent === null || !parent.checkVisibility({ visibilityProperty: true })) continue
    if (parent.closest('svg, script, .hidden, .skip, .word, .scroll, pre, .strip, select') !== null) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    for (const rect of range.getClientRects()) texts.push({ text, rect })
  }
  return texts.flatMap((one, index) =>
    texts.slice(index + 1).flatMap(other => {
      if (one.text === other.text) return []
      const width = Math.min(one.rect.right, other.rect.right) - Math.max(one.rect.left, other.rect.left)
      const height = Math.min(one.rect.bottom, other.rect.bottom) - Math.max(one.rect.top, other.rect.top)
      return width > 2 && height > 0.4 * Math.min(one.rect.height, other.rect.height)
        ? [`${one.text} | ${other.text}`]
        : []
    }),
  )
}

/** Registers the test that names of one long word make no page wider. */
export function testLongNames(widths: readonly number[], paths: readonly string[]) {
  test(`names of one long word make no page wider: ${widths.join(', ')} pixels`, async () => {
    await using service = await sampleService()
    await nameAll(service, 'W'.repeat(64))
    await using browser = await openSession(service)
    for (const path of paths) await assertWidths(browser.page, service.url + path, widths)
  })
}

async function nameAll({ store: { db } }: TestService, name: string) {
  const renamed = (text: string) => JSON.stringify({ ...(JSON.parse(text) as object), name })
  for (const table of ['training_template', 'lock_template', 'training_session', 'lock_session'] as const) {
    for (const { id, document } of await db.selectFrom(table).select(['id', 'document']).execute()) {
      const changed = table === 'training_template' ? { summary: renamed(document) } : {}
      await db
        .updateTable(table)
        .set({ document: renamed(document), ...changed })
        .where('id', '=', id)
        .execute()
    }
  }
  await db.updateTable('token').set({ name }).execute()
  const { id } = await db.selectFrom('account').select('id').where('username', '=', 'alex').executeTakeFirstOrThrow()
  await db
    .insertInto('preference')
    .values({ account_id: id, display_name: name, time_zone: '', units: 'metric' })
    .execute()
}
