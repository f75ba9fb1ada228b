// engine: any
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { Locator, Page } from 'playwright-core'
import { focusedText, needsChromium, openPage, tabTo, type Watched } from '../support/chromium.ts'
import { fullerYear, sampleService, startSession } from '../support/dashboard.ts'
import { assertAccessible } from '../support/pages.ts'
import type { TestService } from '../support/service.ts'

describe('pages that follow what happens, in a browser', needsChromium, () => {
  let service: TestService
  let browser: Watched
  let page: Page

  before(async () => {
    service = await sampleService()
    browser = await openPage({ viewport: { width: 1280, height: 1200 } })
    page = browser.page
    await startSession(page, service.url)
  })

  after(async () => {
    await browser[Symbol.asyncDispose]()
    await service[Symbol.asyncDispose]()
  })

  test('the time of the running lock keeps counting, and the card is rendered again when something changed', async () => {
    const { db } = service.store
    await using other = await openPage()
    await other.page.clock.install()
    await startSession(other.page, service.url)
    await other.page.goto(service.url)
    const time = other.page.locator('[data-since]').first()
    const first = await time.textContent()
    await other.page.clock.runFor(61_000)
    assert.notEqual(await time.textContent(), first)
    // Nothing else moves.
    const changed = other.page.evaluate(noteChanges)
    await other.page.clock.runFor(12_000)
    assert.deepEqual(await changed, ['data-now data-since'])

    const showAs = (state: DocumentVisibilityState) =>
      other.page.evaluate(
        state => Object.defineProperty(document, 'visibilityState', { value: state, configurable: true }),
        state,
      )
    const answers: number[] = []
    other.page.on('response', response => {
      if (new URL(response.url()).pathname === '/live') answers.push(response.status())
    })
    await showAs('hidden')
    await other.page.clock.fastForward(61_000)
    assert.deepEqual(answers, [], 'a page that is not in view asks for nothing')
    await showAs('visible')
    const asked = other.page.waitForResponse(response => response.url().endsWith('/live'))
    await other.page.clock.fastForward(60_000)
    await asked
    assert.deepEqual(answers, [304])
    await db
      .updateTable('lock_session')
      .set({ is_active: 0, lock_state: 'completed', ended_at: Date.now() })
      .where('owner_id', '=', 1)
      .where('is_active', '=', 1)
      .execute()
    await other.page.clock.fastForward(61_000)
    await other.page.getByRole('heading', { name: /^No lock/ }).waitFor()
    assert.equal(answers.at(-1), 204)
    assert.deepEqual(other.problems, [])
  })

  test('discreet mode hides names before anything is sent, and also without a connection, from then on', async () => {
    await page.goto(`${service.url}/keys`)
    const name = page.getByText('Notebook').first()
    await name.waitFor()
    let atRequest: readonly [boolean, string] | undefined
    await page.route('**/display', async route => {
      atRequest = [await name.isVisible(), await page.title()]
      await route.abort('internetdisconnected')
    })
    await page.keyboard.press('d')
    await page.getByText('There is no connection').waitFor()
    assert.deepEqual(atRequest, [false, 'Lockstep'])
    await page.unroute('**/display')
    await page.keyboard.press('d')
    const press = async (shown: Locator) => {
      // The key works once the scripts of a page have run.
      await page.waitForLoadState()
      await page.keyboard.press('d')
      await shown.waitFor()
    }
    const neutral = page.getByText('Key 1').first()
    await neutral.waitFor()
    await press(name)
    await press(neutral)
    assert.equal(await page.title(), 'Lockstep')
    assert.doesNotMatch(await page.content(), /Notebook/)
    await page.goto(`${service.url}/locks`)
    assert.equal(await page.getByText('Locked', { exact: true }).count(), 0)
    await page.keyboard.press('d')
    await page.waitForFunction(() => !document.documentElement.hasAttribute('data-discreet'))
  })

  test('the key for discreet mode can be switched off', async () => {
    await page.goto(`${service.url}/settings`)
    const shortcut = page.getByRole('group', { name: 'Shortcut' })
    await shortcut.getByRole('button', { name: 'Off' }).click()
    const on = shortcut.getByRole('button', { name: 'On', pressed: false })
    await on.waitFor()
    await page.waitForLoadState()
    await page.locator('h1').click()
    await page.keyboard.press('d')
    // If the key worked, discreet mode would be on by now: it is set before anything is sent.
    assert.equal(await page.locator('.names-hidden').count(), 0)
    await on.click()
    await page.locator('[aria-keyshortcuts=D]').waitFor({ state: 'attached' })
  })

  test('a lost connection and an ended session are reported next to the form, which is kept', async () => {
    await page.goto(`${service.url}/settings`)
    await page.locator('input[name=weeklyGoal]').fill('2500')
    await page.context().setOffline(true)
    await page.locator('input[name=weeklyGoal]').press('Enter')
    await page.getByText('There is no connection. What you entered is kept').waitFor()
    await page.context().setOffline(false)
    await page.context().clearCookies({ name: 'session' })
    await page.locator('input[name=weeklyGoal]').press('Enter')
    const notice = page.getByText('You are signed out')
    await notice.waitFor()
    await assertAccessible(page, 'the notice')
    assert.equal(await page.getByRole('link', { name: 'Sign in' }).getAttribute('target'), '_blank')
    assert.equal(await page.locator('input[name=weeklyGoal]').inputValue(), '2500')
    const signedIn = await page.context().newPage()
    await startSession(signedIn, service.url)
    await signedIn.close()
    await page.locator('input[name=weeklyGoal]').press('Enter')
    await page.getByText('Saved', { exact: true }).waitFor()
    assert.equal(await page.locator('input[name=weeklyGoal]').inputValue(), '2500')
    await page.locator('input[name=weeklyGoal]').fill('2600')
    const sent = page.waitForRequest(request => request.method() === 'POST')
    await page.keyboard.press('Tab')
    assert.equal((await sent).postData(), 'weeklyGoal=2600')
  })

  test('records of somebody else have a banner, and the page says when access has ended', async () => {
    await page.goto(`${service.url}/training`)
    await page.locator('.account > summary').click()
    await page.getByLabel('Records of').selectOption({ label: 'robin' })
    await page.locator('.banner', { hasText: /^\s*Records of robin\s+locks and training\s+read only/ }).waitFor()
    assert.match(await page.title(), /robin/)
    await assertAccessible(page, 'the banner')
    for (const path of ['/keys', '/settings', '/people']) {
      await page.goto(service.url + path)
      assert.equal(await page.getByLabel('Records of', { exact: true }).count(), 0, path)
      assert.equal(await page.locator('.banner').count(), 0, path)
    }
    await page.goto(`${service.url}/locks`)
    await service.store.db.deleteFrom('partnership').where('partner_id', '=', 1).execute()
    await page.goto(`${service.url}/training`)
    await page.getByText('Your access to these records has ended').waitFor()
    await page.getByRole('button', { name: 'My records' }).click()
    await page.locator('.tiles').waitFor()
  })

  test('a calendar is one tab stop, with arrow keys inside', async () => {
    await page.goto(service.url + fullerYear())
    const stops = page.locator('.calendar a.day[tabindex="0"]')
    assert.equal(await stops.count(), 1)
    await stops.focus()
    const first = await focusedText(page)
    await page.keyboard.press('ArrowUp')
    assert.notEqual(await focusedText(page), first)
    assert.equal(await stops.count(), 1)
    await page.keyboard.press('ArrowDown')
    assert.equal(await focusedText(page), first)
  })

  test('a choice by keyboard applies on Enter or when the field is left, and the focus stays', async () => {
    await page.goto(`${service.url}/training`)
    await page.locator('select[name=result]').focus()
    await page.keyboard.press('ArrowDown')
    assert.equal(await page.locator('select[name=result]').inputValue(), 'passed')
    await page.keyboard.press('ArrowDown')
    assert.equal(new URL(page.url()).search, '')
    await page.keyboard.press('Enter')
    await page.waitForURL(/result=not-passed/)
    await page.locator('select[name=result]:focus').waitFor()
    await page.locator('select[name=program]').focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await page.waitForURL(/program=\d/)
    await page.locator('select[name=result]:focus').waitFor()
    await page.locator('select[name=type]').focus()
    await page.keyboard.press('ArrowDown')
    const link = await page.evaluate(() => document.querySelector('.choice a:last-child')?.textContent ?? '')
    await page.keyboard.press('Shift+Tab')
    await page.waitForURL(/type=[^&]/)
    await page.locator('.choice a:focus').waitFor()
    assert.equal(await focusedText(page), link)
  })

  test('the sort order is announced, paging stays at the table, and links back keep the filters', async () => {
    await page.goto(`${service.url}/training?range=1y&sort=reps`)
    assert.equal(await page.locator('th[aria-sort]').getAttribute('aria-sort'), 'descending')
    await page.getByRole('link', { name: 'Next' }).click()
    await page.waitForURL(/page=2#sessions$/)
    await page.locator('#session-table td a').first().click()
    await page.waitForURL(/\/training\/\d+$/)
    await page.locator('.back a').click()
    await page.waitForURL(url => url.search === '?range=1y&sort=reps&page=2')
  })

  test('periods, tables of charts, calendars, forms, menus and switches work by keyboard alone', async () => {
    const { keyboard } = page
    await page.goto(`${service.url}/training`)
    await tabTo(page, '‹')
    await keyboard.press('Enter')
    await page.waitForURL(/from=/)
    await page.goto(`${service.url}/training`)
    await tabTo(page, 'Figures by week')
    await keyboard.press('Enter')
    await page.getByRole('region', { name: 'Figures by week' }).waitFor()
    await keyboard.press('Enter')
    await page.getByRole('region', { name: 'Figures by week' }).waitFor({ state: 'hidden' })

    await page.goto(`${service.url}/people`)
    await tabTo(page, 'Give access')
    await keyboard.press('Enter')
    await page.locator('main').locator('input[name=username]:focus').waitFor()

    await page.goto(`${service.url}/settings`)
    const menu = page.locator('.top details.account')
    const name = (await menu.locator('summary').textContent())?.trim() ?? '?'
    await tabTo(page, name)
    await keyboard.press('Enter')
    await tabTo(page, 'Hide names')
    await keyboard.press('Enter')
    // The menu stays open, and so does the focus.
    const pressed = page.locator('.top button[aria-pressed=true]:focus')
    await pressed.waitFor()
    await keyboard.press('Enter')
    await page.locator('.top button[aria-pressed=false]:focus').waitFor()

    await page.reload()
    await tabTo(page, name)
    await keyboard.press('Enter')
    assert.equal(await menu.getAttribute('open'), '')
    await keyboard.press('Escape')
    assert.equal(await menu.getAttribute('open'), null)
    await keyboard.press('Enter')
    await keyboard.press('Shift+Tab')
    assert.equal(await menu.getAttribute('open'), null, 'a menu that is left closes')
    await keyboard.press('Tab')
    await keyboard.press('Enter')
    await tabTo(page, 'Sign out')
    await keyboard.press('Enter')
    await page.waitForURL(/signin/)
    await page.locator('input[name=username]:focus').waitFor()
  })
})

/** Runs in the page: the elements whose content changes within eleven seconds, by the attributes that say why. */
function noteChanges(): Promise<string[]> {
  const changed = new Set<string>()
  const observer = new MutationObserver(changes => {
    for (const { target } of changes) {
      const element = target instanceof Element ? target : target.parentElement
      changed.add(element?.getAttributeNames().toSorted().join(' ') ?? '')
    }
  })
  observer.observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true })
  return new Promise(resolve => {
    setTimeout(() => {
      observer.disconnect()
      resolve([...changed].toSorted())
    }, 11_000)
  })
}
