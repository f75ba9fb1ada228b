/**
 * Writes a screenshot of every page of the dashboard, on sample data, in both themes, narrow and wide, and wide in discreet
 * mode: `npm run screenshots -- <folder> [page…]`. Without a folder it writes the screenshots of the README.
 */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { closeBrowser, openPage } from '../test/support/chromium.ts'
import { sampleService, signIn } from '../test/support/dashboard.ts'

const paths = {
  overview: '/',
  training: '/training?range=1y',
  'training-session': '/training/100',
  'training-session-json': '/training/100?view=json',
  programs: '/programs',
  program: '/programs/13',
  locks: '/locks',
  'lock-session': '/locks/43',
  'lock-session-ended': '/locks/37',
  'lock-session-curl': '/locks/43?view=curl',
  'lock-templates': '/lock-templates',
  'lock-template': '/lock-templates/44',
  keys: '/keys',
  'key-new': '/keys/new',
  people: '/people',
  settings: '/settings',
} satisfies Record<string, string>

const widths = { wide: 1440, narrow: 320 } as const

const [folder = join(import.meta.dirname, '../docs/screenshots'), ...only] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

await using service = await sampleService()
await service.store.db
  .updateTable('token')
  .set({ last_used_at: Date.now() - 7 * 60_000 })
  .where('name', '=', 'Home Assistant')
  .execute()

if (process.argv.length > 2) await writeAll()
else await writeShown()
await closeBrowser()

async function writeAll() {
  for (const [width, pixels] of Object.entries(widths)) {
    await using browser = await openPage({
      viewport: { width: pixels, height: 900 },
      deviceScaleFactor: 1,
      timezoneId: 'Europe/Berlin',
    })
    const { page } = browser
    for (const theme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme: theme })
      await page.context().clearCookies()
      await page.goto(`${service.url}/signin`)
      await write(page, `signin-${width}-${theme}`)
      await signIn(page, service.url)
      for (const discreet of width === 'wide' && theme === 'light' ? [false, true] : [false]) {
        await page.context().addCookies([{ name: 'discreet', value: discreet ? '1' : '0', url: service.url }])
        for (const [name, path] of Object.entries(paths)) {
          if (only.length > 0 && !only.includes(name)) continue
          await page.goto(service.url + path)
          await write(page, `${name}-${width}-${theme}${discreet ? '-discreet' : ''}`)
        }
      }
    }
    for (const problem of browser.problems) console.error(problem)
  }
}

async function writeShown() {
  for (const [name, path, theme, viewport] of [
    ['overview', paths.overview, 'light', { width: 1280, height: 880 }],
    ['training', paths.training, 'dark', { width: 1280, height: 880 }],
    ['phone', '/training#sessions', 'light', { width: 360, height: 720 }],
  ] as const) {
    await using browser = await openPage({
      viewport,
      timezoneId: 'Europe/Berlin',
      colorScheme: theme,
    })
    await signIn(browser.page, service.url)
    await browser.page.goto(service.url + path)
    if (name !== 'phone') await drawn(browser.page)
    await browser.page.screenshot({ path: join(folder, `${name}.png`) })
  }
}

async function write(page: Page, name: string) {
  await drawn(page)
  await page.screenshot({ path: join(folder, `${name}.png`), fullPage: true })
}

/** Scrolls through the page, because charts are drawn when they come into view. */
async function drawn(page: Page) {
  for (const chart of await page.locator('[data-chart] .plot').all()) {
    await chart.scrollIntoViewIfNeeded()
    await chart
      .locator('svg')
      .first()
      .waitFor({ timeout: 3000 })
      .catch(() => {})
  }
  await page.evaluate(() => globalThis.scrollTo(0, 0))
}
