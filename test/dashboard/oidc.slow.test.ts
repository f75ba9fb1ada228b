// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Page } from 'playwright-core'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleService, signIn, ageSignIns } from '../support/dashboard.ts'
import { startIssuer } from '../support/issuer.ts'
import { assertAccessible } from '../support/pages.ts'

/** Signs in on the pages of the issuer. */
async function signInThere(page: Page, name: string) {
  await page.locator('input[name=login]').fill(name)
  await page.locator('input[name=password]').fill('x')
  await page.getByRole('button', { name: 'Sign-in' }).click()
}

for (const theme of ['dark'] as const) {
  test(
    `in a browser an account is linked, signs in, confirms a form and is unlinked, with scripts of this service only: ${theme}`,
    needsChromium,
    async () => {
      await using issuer = await startIssuer()
      await using service = await sampleService(issuer.settings)
      await using browser = await openPage({ viewport: { width: 320, height: 800 } })
      const { page } = browser
      const { url } = service
      await page.context().addCookies([{ name: 'theme', value: theme, url }])
      const check = async (what: string) => {
        await assertAccessible(page, what)
        assert.equal(
          await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth),
          0,
          what,
        )
      }
      await page.goto(`${url}/invitation/${await createInvitation(service.store, { accountId: 3 }, Date.now())}`)
      await check('invitation')
      await signIn(page, url)
      await page.goto(`${url}/settings`)
      await page.getByRole('link', { name: 'Link', exact: true }).click()
      await check('linking')
      await page.getByRole('button', { name: 'Continue with Example ID' }).click()
      await signInThere(page, 'alex at home')
      // The first time, the issuer asks for consent.
      await page.getByRole('button', { name: 'Continue' }).click()
      await page.waitForURL(`${url}/settings?saved=oidc`)
      await check('settings')

      await page.context().clearCookies({ name: 'session' })
      await page.goto(`${url}/signin`)
      await check('sign-in')
      await page.getByRole('link', { name: 'Continue with Example ID' }).click()
      await page.waitForURL(`${url}/`)

      await ageSignIns(service, 11)
      await page.goto(`${url}/people`)
      await page.getByRole('link', { name: 'Give access' }).click()
      const form = page.locator('main')
      await form.getByRole('link', { name: 'Continue with Example ID' }).waitFor()
      await check('confirmation')
      await form.getByRole('link', { name: 'Continue with Example ID' }).click()
      // The issuer knows who it is, and asks nevertheless.
      await signInThere(page, 'alex at home')
      await page.waitForURL(`${url}/people/give`)
      await form.getByLabel('Username').fill('robin')
      await form.getByRole('button', { name: 'Give access' }).click()
      await page.waitForURL(`${url}/people?done=given`)

      await page.goto(`${url}/settings`)
      await page.getByRole('link', { name: 'Remove link' }).click()
      await page.locator('main').getByRole('button', { name: 'Remove link' }).click()
      await page.waitForURL(`${url}/settings?saved=oidc`)
      // Pages of the issuer load files that do not exist.
      assert.deepEqual(
        browser.problems.filter(problem => !problem.startsWith('console: Failed to load')),
        [],
      )
    },
  )
}
