import type { CDPSession } from 'playwright-core'
import { openPage } from '../test/support/chromium.ts'
import { signIn } from '../test/support/dashboard.ts'

/** A phone with a processor of a quarter of this one's speed, and a slow mobile network. */
const CPU_SLOWDOWN = 4
const NETWORK = {
  offline: false,
  latency: 150,
  downloadThroughput: (1.6 * 1024 * 1024) / 8,
  uploadThroughput: (750 * 1024) / 8,
}

/** Milliseconds until the largest paint, and of all tasks of more than 50 ms together, while a page loads and is read to its end. */
export interface Paint {
  readonly largestPaint: number
  readonly longTasks: number
}

export interface Phone extends AsyncDisposable {
  /** Opens a page with an empty cache, and scrolls through it. */
  open(path: string): Promise<Paint>
}

export async function openPhone(url: string, username: string): Promise<Phone> {
  const browser = await openPage({ viewport: { width: 390, height: 844 }, deviceScaleFactor: 2, hasTouch: true })
  const { page } = browser
  await signIn(page, url, username)
  await page.addInitScript(observe)
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  return {
    async open(path) {
      await slow(session)
      await page.goto(url + path, { waitUntil: 'load' })
      const paint = await page.evaluate(readPaint)
      // The next page must not wait for what this one has not done yet.
      await session.send('Emulation.setCPUThrottlingRate', { rate: 1 })
      await page.goto('about:blank')
      return paint
    },
    [Symbol.asyncDispose]: () => browser[Symbol.asyncDispose](),
  }
}

async function slow(session: CDPSession) {
  await session.send('Network.clearBrowserCache')
  await session.send('Network.emulateNetworkConditions', NETWORK)
  await session.send('Emulation.setCPUThrottlingRate', { rate: CPU_SLOWDOWN })
}

/** Runs in the page, before its own scripts. */
function observe() {
  const paint = { largestPaint: 0, longTasks: 0 }
  Object.assign(globalThis, { paint })
  new PerformanceObserver(list => {
    for (const { startTime } of list.getEntries()) paint.largestPaint = Math.max(paint.largestPaint, startTime)
  }).observe({ type: 'largest-contentful-paint', buffered: true })
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) paint.longTasks += duration
  }).observe({ type: 'longtask', buffered: true })
}

/** Runs in the page. Entries are reported a frame or two after they happened. */
async function readPaint(): Promise<Paint> {
  for (let frame = 0; frame < 3; frame += 1) await new Promise(resolve => requestAnimationFrame(resolve))
  await new Promise(resolve => setTimeout(resolve, 100))
  return (globalThis as unknown as { paint: Paint }).paint
}
