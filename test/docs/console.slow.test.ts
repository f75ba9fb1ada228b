// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { api } from '../../src/contract/index.ts'
import { needsChromium, openPage } from '../support/chromium.ts'
import { trainingSession, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

test(
  'the console lists, finds, shows and tries operations, and connects to this service only',
  needsChromium,
  async () => {
    await using service = await startService([...world, trainingSession(5, 1, { name: 'Morning' })])
    await using watched = await openPage()
    const { page, requests, problems } = watched
    const token = await service.token('ann')

    await page.goto(`${service.url}/docs/console`)
    await page.getByRole('heading', { name: 'Lockstep', exact: true }).waitFor()
    assert.equal(await page.title(), 'Lockstep API')
    const sidebar = page.getByRole('complementary', { name: 'Sidebar for Lockstep' })
    for (const { summary } of Object.values(api)) {
      assert.equal(await sidebar.getByRole('link', { name: summary }).count(), 1, summary)
    }

    await page.getByRole('button', { name: 'Open Search' }).click()
    await page.getByRole('combobox', { name: 'Enter search query' }).fill('newest training')
    await page.getByRole('option', { name: 'Get the newest training session' }).click()
    await page.waitForURL(`**${api.getLatestTrainingSession.path}`)

    const operation = page.getByRole('region', { name: 'Get the newest training session' })
    const sample = await operation.getByRole('group', { name: 'Request Example' }).innerText()
    assert.match(sample, /curl/)
    assert.ok(sample.includes(service.url + api.getLatestTrainingSession.path), sample)

    await operation.getByRole('button', { name: 'Test Request' }).click()
    const client = page.getByRole('dialog', { name: 'API Client' })
    await client.getByRole('textbox', { name: 'Bearer Token' }).click()
    await page.keyboard.insertText(token)
    await client.getByRole('button', { name: 'Send get request' }).click()
    const answer = client.getByRole('region', { name: 'Response' })
    await answer.getByRole('link', { name: '200 OK' }).waitFor()
    await answer.getByText('"Morning"').waitFor()

    const hosts = new Set(
      requests.filter(address => !address.startsWith('data:')).map(address => new URL(address).origin),
    )
    assert.deepEqual([...hosts], [service.url])
    assert.ok(requests.some(address => new URL(address).pathname === api.getLatestTrainingSession.path))
    assert.deepEqual(problems, [])
    const kept = await page.evaluate(async () =>
      JSON.stringify([localStorage, sessionStorage, document.cookie, await indexedDB.databases()]),
    )
    assert.ok(!kept.includes(token), 'the token is gone with the page')
    await page.goto(`${service.url}/docs/console`)
    await page.getByRole('link', { name: 'API reference' }).click()
    await page.waitForURL(`${service.url}/docs`)
  },
)

test('the console shows that a token is refused', needsChromium, async () => {
  await using service = await startService(world)
  await using watched = await openPage({ colorScheme: 'dark' })
  const { page } = watched
  await page.goto(`${service.url}/docs/console#tag/people/GET/api/v1/me`)
  const operation = page.getByRole('region', { name: 'Get the account and the API key in use' })
  await operation.getByRole('button', { name: 'Test Request' }).click()
  const client = page.getByRole('dialog', { name: 'API Client' })
  await client.getByRole('button', { name: 'Send get request' }).click()
  await client.getByText('"missing_token"').waitFor()
})
