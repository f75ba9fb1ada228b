// engine: any
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { METHODS, request } from 'node:http'
import { test } from 'node:test'
import { openapi } from '../../src/openapi/document.ts'
import { currentVersion } from '../../src/store/migrations.ts'
import { startService } from '../support/service.ts'

const paths = [
  '/healthz',
  '/readyz',
  '/openapi.json',
  '/docs',
  '/docs/devices',
  '/docs/styles.css',
  '/docs/console',
  '/docs/openapi.json',
  '/docs/scalar.js',
  '/client.js',
]

test('paths outside the API ignore Accept and query, and do not name the software', async () => {
  await using service = await startService()
  for (const path of paths) {
    const { status, headers } = await ask(service.url, 'GET', `${path}?limit=0&token=1`, { Accept: 'image/png' })
    assert.equal(status, 200, path)
    assert.match(headers['x-request-id'] ?? '', /^[A-Za-z0-9._-]{16,}$/)
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['referrer-policy'], 'no-referrer')
    assert.match(headers['content-security-policy'] ?? '', /^default-src 'none'; .*frame-ancestors 'none'$/)
    assert.ok(!('server' in headers) && !('x-powered-by' in headers) && !('set-cookie' in headers))
  }
})

test('other methods get 405 with the allowed ones, which OPTIONS lists too', async () => {
  await using service = await startService()
  const others = METHODS.filter(method => !['GET', 'HEAD', 'OPTIONS', 'CONNECT'].includes(method))
  for (const path of paths) {
    for (const method of others) {
      const { status, headers, text } = await ask(service.url, method, path)
      assert.equal(`${status} ${JSON.parse(text).code}`, '405 method_not_allowed', `${method} ${path}`)
      assert.equal(headers['allow'], 'GET, HEAD, OPTIONS')
    }
    const { status, headers, text } = await ask(service.url, 'OPTIONS', path)
    assert.deepEqual([status, headers['allow'], text], [204, 'GET, HEAD, OPTIONS', ''])
  }
})

test('an unknown path gets the same error as one of the API, whatever the method', async () => {
  await using service = await startService()
  const api = await ask(service.url, 'GET', '/api/v1/nothing')
  for (const path of ['/nothing', '/docs/', '/Healthz', '/healthz/', '//healthz', '/docs%2Fscalar.js', '/*', '/:a(']) {
    for (const method of ['GET', 'HEAD', 'POST', 'OPTIONS', 'PROPFIND']) {
      const { status, names, text } = await ask(service.url, method, path)
      assert.equal(status, 404, `${method} ${path}`)
      assert.deepEqual(names, api.names)
      if (method !== 'HEAD') assert.equal(JSON.parse(text).code, 'no_route')
    }
  }
})

test('an unexpected body is not read, and closes the connection', async () => {
  await using service = await startService()
  for (const [path, expected] of [
    ['/docs', 405],
    ['/nothing', 404],
  ] as const) {
    const { status, headers } = await ask(
      service.url,
      'POST',
      path,
      { 'Content-Type': 'text/odd', Connection: 'keep-alive' },
      'a body',
    )
    assert.deepEqual([status, headers['connection']], [expected, 'close'])
  }
})

test('with a schema of another version the service is alive, but not ready', async () => {
  await using service = await startService()
  assert.equal((await ask(service.url, 'GET', '/readyz')).text, '{"ok":true}')
  await service.store.db
    .insertInto('migration')
    .values({ version: currentVersion + 1, name: 'of a later program', checksum: '', applied_at: 0 })
    .execute()
  const { status, headers, text } = await ask(service.url, 'GET', '/readyz')
  const { error, requestId, ...rest } = JSON.parse(text)
  assert.deepEqual({ status, ...rest }, { ok: false, code: 'unavailable', status: 503 })
  assert.equal(error, 'The service is not available right now')
  assert.equal(requestId, headers['x-request-id'])
  assert.match(headers['retry-after'] ?? '', /^[0-9]+$/)
  assert.equal((await ask(service.url, 'GET', '/healthz')).text, '{"ok":true}')
})

test('the OpenAPI document is that of the contract, and gets 304 if it is current', async () => {
  await using service = await startService()
  const { headers, text } = await ask(service.url, 'GET', '/openapi.json')
  assert.equal(headers['content-type'], 'application/json; charset=utf-8')
  assert.deepEqual(JSON.parse(text), openapi())
  const again = await ask(service.url, 'GET', '/openapi.json', { 'If-None-Match': headers['etag'] ?? '' })
  assert.deepEqual([again.status, again.text], [304, ''])
})

test('the policy of the console allows its inline scripts by hash, and connections to this service only', async () => {
  await using service = await startService()
  const { headers, text } = await ask(service.url, 'GET', '/docs/console')
  const policy = headers['content-security-policy'] ?? ''
  const scripts = [...text.matchAll(/<script([^>]*)>([^]*?)<\/script>/g)]
  const inline = scripts.filter(([, attributes]) => !attributes?.includes('src='))
  const hashes = inline.map(([, , script = '']) => `'sha256-${hash('sha256', script, 'base64')}'`)
  assert.equal(hashes.length, 2)
  assert.ok(policy.includes(`script-src 'self' ${hashes.join(' ')};`), policy)
  assert.ok(policy.includes("connect-src 'self';"), policy)
  assert.deepEqual(text.match(/https?:\/\//g), null)
})

interface Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly names: readonly string[]
  readonly text: string
}

/** Like fetch, for any method and with the header names as they are sent. */
function ask(
  url: string,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body = '',
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, path, headers, agent: false }, response => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: Object.fromEntries(
            Object.entries(response.headers).map(([name, value]) => [name, value?.toString()]),
          ),
          names: response.rawHeaders.filter((_, index) => index % 2 === 0).toSorted(),
          text: Buffer.concat(chunks).toString(),
        }),
      )
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
