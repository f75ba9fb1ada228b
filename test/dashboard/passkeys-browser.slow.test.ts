// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { needsChromium, tabTo } from '../support/chromium.ts'
import { openWithPasskeys } from '../support/virtual-authenticator.ts'

test(
  'an account without a password, from its invitation to its first API key, by keyboard alone',
  needsChromium,
  async () => {
    await using opened = await openWithPasskeys()
    const { service, origin, browser, page, device } = opened
    await page.goto(`${origin}/invitation/${await createInvitation(service.store, { accountId: 3 }, Date.now())}`)

    await device.setUnlocked(false)
    await tabTo(page, 'Add passkey and sign in')
    await page.keyboard.press('Enter')
    await page.getByRole('alert').getByText('No passkey was used').waitFor()
    assert.equal(await device.credentials(), 0)

    await device.setUnlocked(true)
    await tabTo(page, 'Add passkey and sign in')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${origin}/`)
    assert.equal(await device.credentials(), 1)
    const account = await service.store.db
      .selectFrom('account')
      .select('password_hash')
      .where('id', '=', 3)
      .executeTakeFirst()
    assert.equal(account?.password_hash, null)

    await page.context().clearCookies()
    await page.goto(`${origin}/keys`)
    await tabTo(page, 'Use a passkey')
    await page.keyboard.press('Enter')
    await page.waitForURL(`${origin}/keys`)

    // The sign-in is made old, so that a key needs the passkey once more, before the form.
    const old = { created_at: Date.now() - 11 * 60_000, confirmed_at: null }
    await service.store.db.updateTable('browser_session').set(old).where('account_id', '=', 3).execute()
    await tabTo(page, 'Create key')
    await page.keyboard.press('Enter')
    const form = page.locator('main')
    await form.getByText('Confirm that it is you').waitFor()
    assert.equal(await page.evaluate(() => document.activeElement?.textContent), 'Use a passkey')
    await page.keyboard.press('Enter')
    await form.getByLabel('Name').waitFor()
    await page.keyboard.type('Kitchen')
    await form.getByLabel('Expires').press('ArrowDown')
    await tabTo(page, 'Create key')
    await page.keyboard.press('Enter')
    await form
      .getByText(/lks_[0-9A-Za-z]{36}/)
      .first()
      .waitFor()
    assert.ok(await form.getByText('Kitchen').isVisible())
    assert.deepEqual(browser.problems, [])
  },
)
