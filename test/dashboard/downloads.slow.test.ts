import assert from 'node:assert/strict'
import { once } from 'node:events'
import { get, type IncomingMessage } from 'node:http'
import { after, before, describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../../src/archive/import.ts'
import { RESPONSE_TIMEOUT_MS } from '../../src/contract/responses.ts'
import { type Visitor, signInAs } from '../support/dashboard.ts'
import { heavyYears } from '../support/heavy-year.ts'
import { account } from '../support/records.ts'
import { archiveOf, startService, type TestService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'

describe('downloads of a long history', () => {
  let service: TestService
  let ann: Visitor
  before(async () => {
    service = await startService([account(1, 'ann'), ...heavyYears(1, Date.now())], unlimited)
    ann = await signInAs(service, 'ann')
  })
  after(() => service[Symbol.asyncDispose]())

  const download = (path: string) => {
    const cookie = [...ann.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    return get(service.url + path, { headers: { Cookie: cookie } })
  }

  test('a download is complete, however slowly it is read', async () => {
    const request = download('/settings/export')
    // `response` is emitted with the response.
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    assert.equal(response.statusCode, 200)
    // Nothing is read for longer than a page may take, although more is to come than the system buffers.
    await sleep(RESPONSE_TIMEOUT_MS + 1000)
    let last = ''
    for await (const part of response.setEncoding('utf8')) last = (last + String(part)).slice(-200)
    assert.match(last, /\n\{"kind":"end","data":\{"lines":22017\}\}\n$/)
  })

  test('a download that fails is cut off, without the line that ends an archive', async () => {
    const { store } = service
    const snapshot = store.snapshot.bind(store)
    let queries = 0
    store.snapshot = work =>
      snapshot(db =>
        work(
          db.withPlugin({
            transformQuery: ({ node }) => node,
            transformResult: async ({ result }) => {
              queries += 1
              if (queries > 20) throw new Error('the disk cannot be read')
              return result
            },
          }),
        ),
      )
    const [response] = (await once(download('/settings/export'), 'response')) as [IncomingMessage]
    store.snapshot = snapshot
    let text = ''
    await assert.rejects(
      async () => {
        for await (const part of response.setEncoding('utf8')) text += String(part)
      },
      { code: 'ECONNRESET' },
    )
    assert.match(text, /^\{"kind":"account"/)
    assert.doesNotMatch(text, /"kind":"end"/)
    const { hasEnd } = await importArchive(store, archiveOf(text.split('\n').slice(0, -1)))
    assert.equal(hasEnd, false)
    assert.equal((await ann.get('/settings')).status, 200)
  })

  test('a download ends when the client disconnects', async () => {
    const { store } = service
    const snapshot = store.snapshot.bind(store)
    let ended = 0
    store.snapshot = work => snapshot(work).finally(() => (ended += 1))
    const request = download('/settings/export')
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    await once(response, 'readable')
    assert.equal(ended, 0, 'more is still to come')
    response.destroy()
    await until(async () => ended === 1)
    store.snapshot = snapshot
    assert.equal((await ann.get('/settings')).status, 200)
  })
})
