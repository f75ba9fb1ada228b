// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { PASSWORD, sampleService, signIn, ageSignIns } from '../support/dashboard.ts'
import { assertAccessible } from '../support/pages.ts'
import { openWithPasskeys } from '../support/virtual-authenticator.ts'

async function addPasskey(page: Page, origin: string, name: string) {
  await page.goto(`${origin}/settings`)
  await page.getByRole('link', { name: 'Add a passkey' }).click()
  const form = page.locator('main')
  await form.getByLabel('Name').fill(name)
  await form.getByRole('button', { name: 'Add passkey' }).click()
  await page.waitForURL(/saved=passkeys/)
}

test(
  'in a browser a passkey is added, signs in, and is removed; then it does not sign in any more',
  needsChromium,
  async () => {
    await using opened = await openWithPasskeys()
    const { origin, page, device } = opened
    await signIn(page, origin)
    await addPasskey(page, origin, 'Laptop')
    assert.ok(await page.getByRole('region', { name: 'Passkeys' }).getByText('Laptop').isVisible())

    await page.getByRole('link', { name: 'Add a passkey' }).click()
    const form = page.locator('main')
    await form.getByRole('button', { name: 'Add passkey' }).click()
    await form.getByText('already has a passkey for this account').waitFor()
    assert.equal(await device.credentials(), 1)

    await page.context().clearCookies()
    await page.goto(`${origin}/signin`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.waitForURL(`${origin}/`)

    await page.goto(`${origin}/settings`)
    await page.getByRole('link', { name: 'Remove Laptop' }).click()
    await page.locator('main').getByRole('button', { name: 'Remove passkey' }).click()
    await page.waitForURL(/saved=passkeys/)
    await page.context().clearCookies()
    await page.goto(`${origin}/signin`)
    await page.getByRole('button', { name: 'Use a passkey' }).click()
    await page.getByText('The passkey was not accepted').waitFor()
    await signIn(page, origin)
  },
)

test(
  'a passkey that is refused is not left on the device, and one whose form did not arrive is replaced',
  needsChromium,
  async () => {
    await using opened = await openWithPasskeys()
    const { service, origin, page, device } = opened
    const invitation = `${origin}/invitation/${await createInvitation(service.store, { accountId: 3 }, Date.now())}`
    const add = () => page.getByRole('button', { name: 'Add passkey and sign in' }).click()
    await page.goto(invitation)
    await page.getByLabel('Name').fill('   ')
    await add()
    await page.getByText('a passkey has a name of 1 to 64 characters').waitFor()
    assert.equal(await device.credentials(), 0)

    // The form does not arrive, and the page stays.
    await page.route('**/invitation/*/passkey', route => route.fulfill({ status: 204 }), { times: 1 })
    await page.getByLabel('Name').fill('Phone')
    const lost = page.waitForResponse(response => response.status() === 204)
    await add()
    await lost
    assert.equal(await device.credentials(), 1)
    await page.goto(invitation)
    await add()
    await page.waitForURL(`${origin}/`)
    assert.equal(await device.credentials(), 1)
  },
)

test(
  'without scripts the other sign-in methods work, and nothing that needs scripts is shown',
  needsChromium,
  async () => {
    await using service = await sampleService()
    const origin = service.url.replace('127.0.0.1', 'localhost')
    await using browser = await openPage({ javaScriptEnabled: false })
    const { page } = browser
    await page.goto(`${origin}/invitation/${await createInvitation(service.store, { accountId: 3 }, Date.now())}`)
    assert.equal(await page.getByRole('button', { name: /passkey/i }).count(), 0)
    await page.getByLabel('Password', { exact: false }).first().fill(PASSWORD)
    await page.getByLabel('Password again').fill(PASSWORD)
    await page.getByRole('button', { name: 'Set password and sign in' }).click()
    await page.waitForURL(`${origin}/`)
    await page.context().clearCookies()
    await page.goto(`${origin}/signin`)
    assert.equal(await page.getByRole('button', { name: /passkey/i }).count(), 0)
    await signIn(page, origin)
    await page.goto(`${origin}/settings`)
    assert.ok(await page.getByText('Passkeys need JavaScript').isVisible())
  },
)

for (const [theme, discreet] of [
  ['light', '0'],
  ['dark', '1'],
] as const) {
  test(
    `axe finds nothing, and nothing is too wide, where passkeys are used: ${theme}, discreet ${discreet}`,
    needsChromium,
    async () => {
      await using opened = await openWithPasskeys({ viewport: { width: 320, height: 800 } })
      const { service, origin, page } = opened
      await page.context().addCookies([
        { name: 'theme', value: theme, url: origin },
        { name: 'discreet', value: discreet, url: origin },
      ])
      const check = async (what: string) => {
        await assertAccessible(page, what)
        const [content, view] = await page.evaluate(() => [
          document.documentElement.scrollWidth,
          document.documentElement.clientWidth,
        ])
        assert.equal(content, view, what)
      }
      await page.goto(`${origin}/invitation/${await createInvitation(service.store, { accountId: 3 }, Date.now())}`)
      await check('invitation')
      await page.goto(`${origin}/signin`)
      await check('sign-in')
      await signIn(page, origin)
      for (const name of ['Laptop with a long name that says where it is kept', 'Phone']) {
        await addPasskeyWithout(page, origin, name)
      }
      await page.goto(`${origin}/settings`)
      await check('settings')
      for (const path of ['/settings/passkeys/new', '/settings/passkeys/1/remove', '/settings/password/remove']) {
        await page.goto(origin + path)
        await check(path)
      }
      await ageSignIns(service, 11)
      await page.goto(`${origin}/settings/passkeys/new`)
      await page.getByRole('button', { name: 'Use a passkey' }).waitFor()
      await check('confirmation')
    },
  )
}

/** Without the browser: it makes one passkey for an account only. */
async function addPasskeyWithout(page: Page, origin: string, name: string) {
  const { authenticator } = await import('../support/authenticator.ts')
  const { request } = page.context()
  const headers = { 'Sec-Fetch-Site': 'same-origin', Accept: 'text/html' }
  const response = await request.post(`${origin}/passkeys/options`, { form: { purpose: 'register', name }, headers })
  const answer = authenticator(origin).create(await response.json())
  const added = await request.post(`${origin}/settings/passkeys/new`, { form: { answer }, headers })
  assert.equal(added.status(), 200)
}
