import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { atEnd } from './at-end.ts'

/** The one that has no windows takes half the time. */
const PATHS = ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'] as const
const path = PATHS.find(one => existsSync(one))

/**
 * Options of a test that needs a browser: skipped, by its name, if there is none. On CI it fails instead, because a run
 * without a browser has tested no page.
 */
export const needsChromium =
  path !== undefined || process.env['CI'] === 'true' ? {} : { skip: `there is no Chromium at ${PATHS.join(' or ')}` }

const ARGUMENTS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-background-networking',
  // Fewer processes and threads take a sixth less time on the few cores that tests have.
  '--in-process-gpu',
  '--disable-software-rasterizer',
  '--no-zygote',
  '--num-raster-threads=1',
  '--renderer-process-limit=1',
  '--enable-features=NetworkServiceInProcess',
  '--host-resolver-rules=MAP *.example 127.0.0.1',
]

/** Long, so that no test fails on a slow machine. */
const TIMEOUT_MS = 180_000

/** A page with a browser context of its own, and a log of what happened on it. */
export interface Watched extends AsyncDisposable {
  readonly page: Page
  /** Every address that was requested, even if the browser blocked the request. */
  readonly requests: readonly string[]
  /** Errors on the console, uncaught exceptions, and violations of the content security policy. */
  readonly problems: readonly string[]
}

export async function openPage(options: BrowserContextOptions = {}): Promise<Watched> {
  browser ??= chromium.launch({
    executablePath: path ?? PATHS[0],
    args: ARGUMENTS,
    timeout: TIMEOUT_MS,
  })
  const context = await (await browser).newContext({ locale: 'en-GB', ...options })
  context.setDefaultTimeout(TIMEOUT_MS)
  const requests: string[] = []
  const problems: string[] = []
  context.on('request', request => requests.push(request.url()))
  context.on('console', message => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`)
  })
  context.on('weberror', thrown => void problems.push(`uncaught: ${String(thrown.error())}`))
  await context.exposeFunction('reportViolation', (text: string) => problems.push(`policy: ${text}`))
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      // The function was added above, under a name that no page uses.
      const { reportViolation } = globalThis as unknown as { reportViolation: (text: string) => void }
      reportViolation(`${violatedDirective} ${blockedURI}`)
    })
  })
  return {
    page: await context.newPage(),
    requests,
    problems,
    [Symbol.asyncDispose]: () => context.close(),
  }
}

/** Started once for the tests of a process. */
let browser: Promise<Browser> | undefined
atEnd(closeBrowser)

/** Closes the browser of a program that is not a test; tests need not call it. */
export async function closeBrowser() {
  await (await browser)?.close()
}

/** The text of what has the focus. */
export function focusedText(page: Page): Promise<string> {
  return page.evaluate(() => document.activeElement?.textContent?.trim() ?? '')
}

/** Moves on until something with this text has the focus. */
export async function tabTo(page: Page, text: string) {
  for (let presses = 0; presses < 60; presses += 1) {
    if ((await focusedText(page)).startsWith(text)) return
    await page.keyboard.press('Tab')
  }
  throw new Error(`the keyboard does not reach ${text}`)
}
