import { existsSync } from 'node:fs'
import { after } from 'node:test'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

const PATH = '/usr/bin/chromium'

/**
 * Options of a test that needs a browser: skipped, by its name, where there is none. On CI it is not: there it fails,
 * because a run that looks at no page must not pass for one that did.
 */
export const needsChromium =
  existsSync(PATH) || process.env['CI'] === 'true' ? {} : { skip: `there is no Chromium at ${PATH}` }

/** A page that shares nothing with other pages, and what happened on it. */
export interface Watched extends AsyncDisposable {
  readonly page: Page
  /** Every address that was asked for, also where it was refused before it left the browser. */
  readonly requests: readonly string[]
  /** Errors on the console, uncaught exceptions, and violations of the content security policy. */
  readonly problems: readonly string[]
}

export async function openPage(options: BrowserContextOptions = {}): Promise<Watched> {
  browser ??= chromium.launch({
    executablePath: PATH,
    args: ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  })
  const context = await (await browser).newContext(options)
  // Waiting for what does come fails no test on a slow machine.
  context.setDefaultTimeout(60_000)
  const requests: string[] = []
  const problems: string[] = []
  context.on('request', request => requests.push(request.url()))
  context.on('console', message => {
    if (message.type() === 'error') problems.push(`console: ${message.text()}`)
  })
  context.on('weberror', ({ error }) => void problems.push(`uncaught: ${String(error())}`))
  await context.exposeFunction('reportViolation', (text: string) => problems.push(`policy: ${text}`))
  await context.addInitScript(() => {
    document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI }) => {
      // The function is put there above, by a name that no page has.
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

/** Started once for the tests of a file. */
let browser: Promise<Browser> | undefined
after(closeBrowser)

/** Closes the browser of a program that is no test; tests need not. */
export async function closeBrowser() {
  await (await browser)?.close()
}
