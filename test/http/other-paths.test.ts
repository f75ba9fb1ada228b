// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openapi } from '../../src/openapi/document.ts'
import { currentVersion } from '../../src/store/migrations.ts'
import { exchange } from '../support/raw.ts'
import { lines, OUTSIDE_API } from '../support/requests.ts'
import { startService, type TestService } from '../support/service.ts'

test('paths outside the API ignore Accept and query', async () => {
  await using service = await startService()
  for (const path of OUTSIDE_API) {
    const { status } = await ask(service, 'GET', `${path}?limit=0&token=1`, { Accept: 'image/png' })
    assert.equal(status, 200, path)
  }
})

test('a page, which needs to know its own address, refuses a Host that names none', async () => {
  await using service = await startService()
  for (const path of ['/', '/signin', '/nothing', '/docs']) {
    for (const host of ['a b', 'a/b', 'user@a', '[::1', 'a:http']) {
      const { status, text } = await ask(service, 'GET', path, { Host: host, Accept: 'text/html' })
      assert.equal(status, 400, `${path} ${host}`)
      assert.match(text, /not well-formed/)
    }
  }
})

test('with a schema of another version the service is alive, but not ready', async () => {
  await using service = await startService()
  assert.equal((await ask(service, 'GET', '/readyz')).text, '{"ok":true}')
  await service.store.db
    .insertInto('migration')
    .values({ version: currentVersion + 1, name: 'of a later program', checksum: '', applied_at: 0 })
    .execute()
  const { status, headers, text } = await ask(service, 'GET', '/readyz')
  const { error, requestId, ...rest } = JSON.parse(text)
  assert.deepEqual({ status, ...rest }, { ok: false, code: 'unavailable', status: 503 })
  assert.equal(error, 'The service is not available right now')
  assert.equal(requestId, headers['x-request-id'])
  assert.match(headers['retry-after'] ?? '', /^[0-9]+$/)
  assert.equal((await ask(service, 'GET', '/healthz')).text, '{"ok":true}')
})

test('the OpenAPI document is that of the contract, and gets 304 if it is current', async () => {
  await using service = await startService()
  const { headers, text } = await ask(service, 'GET', '/openapi.json')
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(JSON.parse(text), openapi())
  const again = await ask(service, 'GET', '/openapi.json', { 'If-None-Match': headers['etag'] ?? '' })
  assert.deepEqual([again.status, again.text], [304, ''])
})

/** A response with the names of its headers as they are sent. */
async function ask({ service }: TestService, method: string, path: string, more: Record<string, string> = {}) {
  const sent = Object.entries({ Host: 'localhost', ...more }).map(([name, value]) => `${name}: ${value}`)
  const { status, headers, body } = await exchange(service.port, lines(`${method} ${path} HTTP/1.1`, ...sent))
  const named = Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]))
  return { status, headers: named, names: headers.map(([name]) => name).toSorted(), text: body }
}
