import type { Page } from 'playwright-core'

/** A device with passkeys in the browser, which confirms whatever it is asked. */
export interface VirtualAuthenticator {
  /** Whether somebody unlocks it when asked. */
  setUnlocked(unlocked: boolean): Promise<void>
  credentials(): Promise<number>
}

export async function addAuthenticator(page: Page): Promise<VirtualAuthenticator> {
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
