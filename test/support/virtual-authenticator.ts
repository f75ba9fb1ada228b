import type { BrowserContextOptions, Page } from 'playwright-core'
import { openPage } from './chromium.ts'
import { sampleService } from './dashboard.ts'

/** A device with passkeys in the browser, which confirms whatever it is asked. */
export interface VirtualAuthenticator {
  /** Whether somebody unlocks it when asked. */
  setUnlocked(unlocked: boolean): Promise<void>
  credentials(): Promise<number>
}

/** A page of a browser with such a device, and the sample service at an address with a host name, which passkeys need. */
export async function openWithPasskeys(options?: BrowserContextOptions) {
  await using opened = new AsyncDisposableStack()
  const service = opened.use(await sampleService())
  const browser = opened.use(await openPage(options))
  const device = await addAuthenticator(browser.page)
  const stack = opened.move()
  return {
    service,
    origin: service.url.replace('127.0.0.1', 'localhost'),
    browser,
    page: browser.page,
    device,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
  const session = await page.context().newCDPSession(page)
  await session.send('WebAuthn.enable')
  const { authenticatorId } = await session.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    async setUnlocked(unlocked) {
      await session.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified: unlocked })
    },
    async credentials() {
      return (await session.send('WebAuthn.getCredentials', { authenticatorId })).credentials.length
    },
  }
}
