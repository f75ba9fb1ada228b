import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { RESPONSE_TIMEOUT_MS } from '../../src/contract/responses.ts'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { heavyYears } from '../support/heavy-year.ts'
import { account } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

test('a download is whole, however long its reader takes', async () => {
  await using service = await startService([account(1, 'ann'), ...heavyYears(1, Date.now())], unlimited)
  await allowSignIn(service, 'ann')
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const cookie = [...ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  const request = get(`${service.url}/settings/export`, { headers: { Cookie: cookie } })
  // `response` is emitted with the response.
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  assert.equal(response.statusCode, 200)
  // Not read for longer than a page may take: more than the system buffers is still to come.
  await sleep(RESPONSE_TIMEOUT_MS + 1000)
  let last = ''
  for await (const part of response.setEncoding('utf8')) last = (last + String(part)).slice(-200)
  assert.match(last, /\n\{"kind":"end","data":\{"lines":22017\}\}\n$/)
})
