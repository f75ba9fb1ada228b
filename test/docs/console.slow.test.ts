// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { sampleService } from '../support/dashboard.ts'
import { assertAccessible, openSession } from '../support/pages.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

test('the console sends its address to this service only, and stores no key', needsChromium, async () => {
  await using service = await startService([...world, trainingSession(5, 1, { name: 'Morning' })])
  await using watched = await openPage({ viewport: { width: 360, height: 800 } })
  const { page, requests, problems } = watched
  const token = await service.token('ann')
  const status = page.getByRole('status')
  const body = page.getByRole('region', { name: 'Body' })
  const field = page.getByLabel('Address', { exact: true })

  await page.goto(`${service.url}/docs/training-sessions`)
  await page.getByRole('link', { name: 'Try it in the console: Get one training session' }).click()
  // The script of the console reads the address.
  await page.locator('option[value=getTrainingSession]:checked').waitFor({ state: 'attached' })
  await page.getByRole('textbox', { name: 'API key' }).fill(token)
  assert.equal(await field.inputValue(), '/api/v1/dtt/sessions/{id}')
  await field.fill('/api/v1/dtt/sessions/5?include=owner')
  await page.getByRole('button', { name: 'Send' }).click()
  await status.getByText('200 OK').waitFor()
  await body.getByText('"name": "Morning"').waitFor()

  await page.getByLabel('Operation').selectOption('List training sessions')
  assert.equal(await field.inputValue(), '/api/v1/dtt/sessions')
  const curl = page.getByRole('region', { name: 'curl command' })
  const address = '/api/v1/dtt/sessions?limit=1&cursor=&include=owner'
  await field.fill(address)
  assert.equal(await curl.textContent(), `curl -H "Authorization: Bearer $LOCKSTEP_TOKEN" "${service.url}${address}"`)
  await field.press('Enter')
  await body.getByText('"nextCursor":').waitFor()
  await page.getByText('Headers', { exact: true }).click()
  await page.getByRole('region', { name: 'Headers' }).getByText('etag: ').waitFor()
  // Nothing that is entered leads to another host.
  await field.fill('//evil.example/api')
  await page.getByRole('button', { name: 'Send' }).click()
  await status.getByText(/^404/).waitFor()
  assert.ok(requests.includes(service.url + address))
  assert.ok(requests.every(request => request.startsWith('data:') || request.startsWith(`${service.url}/`)))
  assert.deepEqual(problems, [
    'console: Failed to load resource: the server responded with a status of 404 (Not Found)',
  ])

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
