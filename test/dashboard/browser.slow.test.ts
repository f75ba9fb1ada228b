// engine: any
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { focusedText, needsChromium, openPage, tabTo } from '../support/chromium.ts'
import { PASSWORD, sampleService, signIn } from '../support/dashboard.ts'
import { assertAccessible, assertClean, openSession } from '../support/pages.ts'

/** Pages that look different from each other. The slow tests look at all. */
const some = ['/', '/training?range=1y', '/locks/44', '/people']

describe('in a browser', needsChromium, () => {
  test('from signing in to a key that is created, tested, revoked and regenerated, by keyboard alone', async () => {
    await using service = await sampleService()
    await using browser = await openPage({ permissions: ['clipboard-read', 'clipboard-write'] })
    const { page } = browser
    const { keyboard } = page

    await page.goto(`${service.url}/keys`)
    // A page sets its focus a moment after it is loaded.
    await page.locator('input[name=username]:focus').waitFor()
    await keyboard.type('alex')
    await keyboard.press('Tab')
    await keyboard.type(PASSWORD)
    await keyboard.press('Enter')
    await page.waitForURL(`${service.url}/keys`)

    await tabTo(page, 'Create key')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Create key' }).waitFor()
    await keyboard.type('Kitchen display')
    await assertAccessible(page, 'the form')
    await page.getByLabel('Expires').press('ArrowDown')
    await tabTo(page, 'Create key')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your new key' }).waitFor()
    await assertAccessible(page, 'the key')

    assert.equal(await focusedText(page), 'Copy', 'the first thing to do has the focus')
    await keyboard.press('Enter')
    await page.getByRole('status').getByText('Copied').waitFor()
    const key = await page.evaluate(() => navigator.clipboard.readText())
    assert.match(key, /^lks_[0-9A-Za-z]{36}$/)

    await tabTo(page, 'Test it now')
    await keyboard.press('Enter')
    await page.getByText('200 OK. The key works.').waitFor()
    await tabTo(page, 'Done')
    await keyboard.press('Enter')
    await page.getByText('3 of 5 keys').waitFor()
    const row = page.getByRole('row', { name: /Kitchen display/ })
    assert.ok((await row.textContent())?.includes(`lks_…${key.slice(-4)}`))
    assert.doesNotMatch(await page.content(), new RegExp(key))

    await page.getByRole('heading', { name: 'API keys' }).waitFor()
    await tabTo(page, 'Revoke')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Revoke key' }).waitFor()
    await page.getByText('Kitchen display').waitFor()
    await page.getByText('refused at once').waitFor()
    assert.equal(await focusedText(page), 'Keep', 'Enter alone removes nothing')
    await assertAccessible(page, 'the question')
    await tabTo(page, 'Revoke key')
    await keyboard.press('Enter')
    await page.getByText('The key was revoked').and(page.locator(':focus')).waitFor()
    assert.equal(await page.getByText('Kitchen display').count(), 0)
    assert.equal((await service.fetch('/api/v1/me', key)).body.code, 'token_revoked')

    await tabTo(page, 'Regenerate')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Regenerate key' }).waitFor()
    assert.equal(await focusedText(page), 'Regenerate key')
    await keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Your new key' }).waitFor()
    assert.equal(await focusedText(page), 'Copy')
    await tabTo(page, 'Done')
    await keyboard.press('Enter')
    await page.getByText('Replaced').waitFor()

    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, location.href]))
    assert.ok(!kept.includes('lks_'))
    assert.ok(
      browser.requests.every(request => !request.includes(key)),
      'the key was never part of an address',
    )
    assertClean(browser, service)
  })

  test('signing out leaves no records in other tabs, also if the service does not answer', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service)
    const { page } = browser
    const other = await page.context().newPage()
    await other.goto(`${service.url}/training`)
    await page.goto(`${service.url}/keys`)
    await page.waitForLoadState('networkidle')
    assert.match(await other.content(), /Notebook|Session|Training/)
    await page.context().setOffline(true)
    await page.evaluate(() =>
      document.querySelector('form[action="/signout"] button')?.dispatchEvent(new MouseEvent('click')),
    )
    await other.getByText('You signed out in another tab.').waitFor()
    const left = (await other.locator('body').textContent()) ?? ''
    assert.equal(left.replaceAll(/\s+/g, ' ').trim(), 'You signed out in another tab.Sign in')
    assert.equal(await other.title(), 'Lockstep')
    await page.context().setOffline(false)
    await other.getByRole('link', { name: 'Sign in' }).click()
    await other.waitForURL(/\/signin|\/$/)
  })

  test('everything works without scripts', async () => {
    await using service = await sampleService()
    await using browser = await openPage({ javaScriptEnabled: false })
    const { page } = browser
    await signIn(page, service.url)
    await page.goto(`${service.url}/keys`)
    await page.getByRole('link', { name: 'Create key' }).click()
    await page.getByLabel('Name').fill('Without script')
    await page.getByLabel('Expires').selectOption('never')
    await page.getByRole('button', { name: 'Create key' }).click()
    await page.getByText(/^lks_[0-9A-Za-z]{36}$/).waitFor()
    await page.getByRole('link', { name: 'Done' }).click()
    await page.getByRole('link', { name: 'Revoke Without script' }).click()
    await page.getByRole('button', { name: 'Revoke key' }).click()
    await page.getByText('The key was revoked').waitFor()
    await page.locator('.account > summary').click()
    await page.getByRole('button', { name: 'Hide names' }).click()
    await page.getByText('You', { exact: true }).first().waitFor()
    await page.goto(`${service.url}/`)
    await page.locator('.account > summary').click()
    await page.getByLabel('Records of').selectOption({ label: 'Partner' })
    await page.getByRole('button', { name: 'Show' }).first().click()
    for (const path of some) {
      const response = await page.goto(service.url + path)
      assert.equal(response?.status(), 200, path)
    }
    assertClean(browser, service)
  })

  test('on a phone no value in a row wraps, and no unit is separated from its number', async () => {
    await using service = await sampleService()
    await using browser = await openSession(service, { username: 'alex', viewport: { width: 360, height: 780 } })
    const { page } = browser
    await page.goto(`${service.url}/training`)
    const rows = page.locator('#session-table tbody tr')
    await rows.first().waitFor()
    const heights = await rows.evaluateAll(found =>
      found.map(row =>
        [...row.querySelectorAll('.first-line > a, .first-line ~ .first-line')].map(cell =>
          Math.round(cell.getBoundingClientRect().bottom),
        ),
      ),
    )
    for (const bottoms of heights) assert.equal(new Set(bottoms).size, 1, bottoms.join())
    const distances = [...(await page.content()).matchAll(/<td[^>]*>([\d,.]+(?:&nbsp;|.)k?m)</g)].map(found => found[1])
    assert.ok(distances.length > 0 && distances.every(distance => /(?:&nbsp;|\u00a0)k?m$/.test(distance ?? '')))
    assert.deepEqual(browser.problems, [])
  })
})
