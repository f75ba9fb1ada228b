// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleService } from '../support/dashboard.ts'
import { assertAccessible, openSession } from '../support/pages.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

test('the console sends its fields to this service only, and stores no key', needsChromium, async () => {
  await using service = await startService([...world, trainingSession(5, 1, { name: 'Morning' })])
  await using watched = await openPage({ viewport: { width: 360, height: 800 } })
  const { page, requests, problems } = watched
  const token = await service.token('ann')
  const status = page.getByRole('status')
  const body = page.getByRole('region', { name: 'Body' })
  const include = page.locator('[name=include]:enabled')

  await page.goto(`${service.url}/docs/training-sessions`)
  await page.getByRole('link', { name: 'Try it in the console: Get one training session' }).click()
  // The script of the console reads the address.
  await page.locator('option[value=getTrainingSession]:checked').waitFor({ state: 'attached' })
  await page.getByRole('textbox', { name: 'API key' }).fill(token)
  await page.getByRole('button', { name: 'Send' }).click()
  assert.equal(await status.isVisible(), false, 'the id is required')
  await page.getByLabel('id', { exact: true }).fill('5')
  await include.selectOption('owner')
  await page.getByRole('button', { name: 'Send' }).click()
  await status.getByText('200 OK').waitFor()
  await body.getByText('"name": "Morning"').waitFor()

  await page.getByLabel('Operation').selectOption('List training sessions')
  assert.equal(await include.inputValue(), 'owner', 'parameters that are alike keep their values')
  assert.equal(await page.getByLabel('id', { exact: true }).isVisible(), false)
  await page.getByLabel('cursor').fill('""')
  await page.getByLabel('limit').fill('1')
  const curl = page.getByRole('region', { name: 'curl command' })
  const address = '/api/v1/dtt/sessions?limit=1&cursor=&include=owner'
  assert.equal(await curl.textContent(), `curl -H "Authorization: Bearer $LOCKSTEP_TOKEN" "${service.url}${address}"`)
  await page.getByLabel('limit').press('Enter')
  await body.getByText('"nextCursor":').waitFor()
  await page.getByText('Headers', { exact: true }).click()
  const headers = page.getByRole('region', { name: 'Headers' })
  const [, etag = ''] = /^etag: (.*)$/m.exec((await headers.textContent()) ?? '') ?? []
  await page.getByLabel('If-None-Match').fill(etag)
  await page.getByRole('button', { name: 'Send' }).click()
  await status.getByText('304 Not Modified').waitFor()
  assert.ok(requests.includes(service.url + address))
  assert.ok(requests.every(request => request.startsWith('data:') || request.startsWith(`${service.url}/`)))
  assert.deepEqual(problems, [])

  await assertAccessible(page, 'with a response')
  const [content, view] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth])
  assert.equal(content, view)
  const kept = await page.evaluate(async () =>
    JSON.stringify([location.href, localStorage, sessionStorage, document.cookie, await indexedDB.databases()]),
  )
  assert.ok(!kept.includes(token))
})

test('the console cannot use the session of somebody who is signed in', needsChromium, async () => {
  await using service = await sampleService()
  await using watched = await openSession(service)
  const { page } = watched
  const [shown] = await Promise.all([
    page.waitForRequest(`${service.url}/docs/console`),
    page.goto(`${service.url}/docs/console#getMe`),
  ])
  assert.match((await shown.allHeaders())['cookie'] ?? '', /session=/)
  const sent = page.waitForRequest(`${service.url}/api/v1/me`)
  await page.getByRole('button', { name: 'Send' }).click()
  assert.equal((await (await sent).allHeaders())['cookie'], undefined)
  await page.getByRole('region', { name: 'Body' }).getByText('"missing_token"').waitFor()
})

test('without scripts the console has no form, and says where commands are', needsChromium, async () => {
  await using service = await startService(world)
  await using watched = await openPage({ javaScriptEnabled: false })
  const { page } = watched
  await page.goto(`${service.url}/docs/console`)
  assert.equal(await page.getByRole('textbox', { name: 'API key' }).isVisible(), false)
  await page.getByText('The console needs JavaScript.').waitFor()
})
