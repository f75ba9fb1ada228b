// engine: any
import { test } from 'node:test'
import { needsChromium, openPage } from '../support/chromium.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'

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
