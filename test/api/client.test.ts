// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Client, LockstepError, makeClient, NoResponseError } from '../../src/client.ts'
import { lockSession, lockTemplate, trainingSession, world } from '../support/records.ts'
import { startHttpServer } from '../support/http-server.ts'
import { startService } from '../support/service.ts'

test('the compiler knows paths, parameters and responses of the contract', () => {
  // Not run. The test is that this file compiles: an expected error that does not occur is an error of the compiler.
  const neverRun = async (client: Client) => {
    const session = await client.get('/api/v1/dtt/sessions/:id', { id: 1 })
    const passed: boolean = session.passed
    const segments: number[] = session.TrainerSegment.map(segment => segment.percentGrade)
    const latest = await client.get('/api/v1/dtt/sessions/latest')
    const name: string | undefined = latest?.name
    const page = await client.get('/api/v1/lkbx/templates', { limit: 5, offset: 10, ownerId: 1 })
    const duration: number | undefined = page.data[0]?.duration
    for await (const locking of client.all('/api/v1/lkbx/sessions', { lockState: 'locked', from: '2026-01-01' })) {
      const events: string[] = locking.LockSegment.map(segment => segment.type)
      void events
    }
    const { data } = await client.call('/api/v1/me', {}, { ifNoneMatch: '"x"' })
    const last4: string | undefined = data?.token.last4
    void [passed, segments, name, duration, last4]

    // @ts-expect-error there is no such path
    await client.get('/api/v1/dtt/session')
    // @ts-expect-error the identifier is missing
    await client.get('/api/v1/dtt/sessions/:id')
    // @ts-expect-error an identifier is a number
    await client.get('/api/v1/dtt/sessions/:id', { id: '1' })
    // @ts-expect-error a path with its identifier in it is not one of the contract
    await client.get('/api/v1/dtt/sessions/1')
    // @ts-expect-error this path has no such parameter
    await client.get('/api/v1/lkbx/templates', { passed: true })
    // @ts-expect-error a flag is true or false
    await client.get('/api/v1/dtt/sessions', { passed: 'true' })
    // @ts-expect-error there is nothing else to include
    await client.get('/api/v1/dtt/sessions', { include: 'owners' })
    // @ts-expect-error this is no list
    void client.all('/api/v1/me')
    // @ts-expect-error all() sets the position itself
    void client.all('/api/v1/dtt/sessions', { offset: 5 })
    // @ts-expect-error a stored response needs call, which says whether there is a new one
    await client.get('/api/v1/me', {}, { ifNoneMatch: '"x"' })
    // @ts-expect-error a record has no such field
    void session.grade
    // @ts-expect-error a name is no account
    await client.get('/api/v1/lkbx/sessions/latest', { ownerId: 'ann' })
    // @ts-expect-error there may be none
    void latest.name
  }
  assert.equal(typeof neverRun, 'function')
})

test('all() reads a list to its end, page by page, each record once', async () => {
  const sessions = Array.from({ length: 23 }, (_, index) => trainingSession(index + 1, 1, { passed: index % 2 === 0 }))
  await using service = await startService([...world, ...sessions])
  const asked: string[] = []
  const client = makeClient({
    baseUrl: service.url,
    token: await service.token('ben'),
    fetch: (input, init) => {
      // The client passes text.
      asked.push(input)
      return fetch(input, init)
    },
  })
  const walked = await Array.fromAsync(
    client.all('/api/v1/dtt/sessions', { limit: 10, passed: true, include: 'owner' }),
  )
  assert.deepEqual(
    walked.map(({ id }) => id).toSorted((a, b) => a - b),
    Array.from({ length: 12 }, (_, index) => index * 2 + 1),
  )
  assert.ok(walked.every(({ ownerId }) => ownerId === 1))
  assert.equal(asked.length, 2)
  assert.ok(asked.every(url => /cursor=/.test(url) && /passed=true/.test(url) && !/offset/.test(url)))

  assert.ok(asked.every(url => /limit=10\b/.test(url)))

  asked.length = 0
  for await (const session of client.all('/api/v1/dtt/sessions', { limit: 5 })) if (session.id > 0) break
  assert.equal(asked.length, 1, 'who stops early asks for nothing more')
  asked.length = 0
  assert.deepEqual(await Array.fromAsync(client.all('/api/v1/lkbx/templates')), [])
  assert.match(asked[0] ?? '', /limit=100\b/, 'as few requests as the service allows')
})

test('an error response is thrown with its code, status, fields and request id', async () => {
  await using service = await startService([...world, lockTemplate(1, 1)])
  const ann = await service.as('ann')
  const cas = await service.as('cas')
  const missing = await refusalOf(cas.get('/api/v1/lkbx/templates/:id', { id: 1 }))
  assert.deepEqual([missing.code, missing.status, missing.message], ['not_found', 404, 'Lock template not found'])
  assert.match(missing.requestId ?? '', /^[A-Za-z0-9._-]{16,}$/)
  assert.deepEqual(missing.fieldErrors, [])
  assert.equal(missing.retryAfter, undefined)

  const wrong = await refusalOf(ann.get('/api/v1/lkbx/templates', { limit: 1000 }))
  assert.deepEqual([wrong.code, wrong.status], ['invalid_parameter', 400])
  assert.deepEqual(wrong.fieldErrors, [{ field: 'limit', message: 'must be an integer from 1 to 100' }])

  const stranger = makeClient({ baseUrl: service.url, token: 'lks_x' })
  assert.equal((await refusalOf(stranger.get('/api/v1/me'))).code, 'invalid_token')
  const walk = Array.fromAsync(stranger.all('/api/v1/lkbx/sessions'))
  assert.equal((await refusalOf(walk)).code, 'invalid_token')
})

test('a request that gets 429 or 503 is sent again after the seconds of Retry-After, twice by default', async () => {
  const statuses: number[] = []
  let sent = 0
  await using server = await startHttpServer((_, response) => {
    sent += 1
    const [status = 200] = statuses.splice(0, 1)
    const body = status === 200 ? { ok: true, data: {} } : { ok: false, error: 'x', code: 'unavailable', status }
    response.writeHead(status, { 'Retry-After': '0' }).end(JSON.stringify(body))
  })
  const from = async (answers: readonly number[], options: { retries?: number } = {}) => {
    statuses.splice(0, statuses.length, ...answers)
    sent = 0
    const client = makeClient({ baseUrl: server.url, token: 'x', ...options })
    const [outcome] = await Promise.allSettled([client.get('/api/v1/me')])
    return [outcome.status === 'fulfilled' ? 200 : (outcome.reason as LockstepError).status, sent]
  }
  assert.deepEqual(await from([429, 503]), [200, 3])
  assert.deepEqual(await from([503, 503, 429, 200]), [429, 3])
  assert.deepEqual(await from([503, 200], { retries: 0 }), [503, 1])
  assert.deepEqual(await from([500, 200]), [500, 1], 'other errors would be the same again')
})

test('a stored response is not sent again while it is current', async () => {
  await using service = await startService([...world, lockSession(1, 1)])
  const ann = await service.as('ann')
  const first = await ann.call('/api/v1/lkbx/sessions/:id', { id: 1 })
  assert.deepEqual([first.status, first.data?.id], [200, 1])
  assert.match(first.etag ?? '', /^".+"$/)
  const again = await ann.call('/api/v1/lkbx/sessions/:id', { id: 1 }, { ifNoneMatch: first.etag ?? '' })
  assert.deepEqual([again.status, again.data, again.etag], [304, undefined, first.etag])
  await service.import([lockSession(1, 1, { name: 'Renamed' })], { onConflict: 'replace' })
  const changed = await ann.call('/api/v1/lkbx/sessions/:id', { id: 1 }, { ifNoneMatch: first.etag ?? '' })
  assert.deepEqual([changed.status, changed.data?.name], [200, 'Renamed'])
})

test('redirects are not followed, so the API key is sent to no other server', async () => {
  const seen: (string | undefined)[] = []
  await using other = await startHttpServer((request, response) => {
    seen.push(request.headers.authorization)
    response.end('{"ok":true,"data":{}}')
  })
  for (const status of [301, 302, 303, 307, 308]) {
    await using server = await startHttpServer((_, response) =>
      response.writeHead(status, { Location: other.url }).end(),
    )
    await assert.rejects(makeClient({ baseUrl: server.url, token: 'secret' }).get('/api/v1/me'), NoResponseError)
  }
  assert.deepEqual(seen, [])
})

const strange: readonly { readonly what: string; readonly status: number; readonly body: string }[] = [
  { what: 'a page of a proxy', status: 502, body: '<html>Bad gateway</html>' },
  { what: 'an error of something else', status: 404, body: '{"message":"no"}' },
  { what: 'a page that says it is fine', status: 200, body: '<html>Welcome</html>' },
  { what: 'a success with a status that is none', status: 500, body: '{"ok":true,"data":1}' },
]

test('a response that is not from this API is distinguished from a refusal, with its status', async () => {
  for (const { what, status, body } of strange) {
    await using server = await startHttpServer((_, response) => response.writeHead(status).end(body))
    const client = makeClient({ baseUrl: server.url, token: 'x' })
    await assert.rejects(client.get('/api/v1/me'), (error: unknown) => {
      assert.ok(error instanceof NoResponseError, what)
      assert.equal(error.status, status, what)
      assert.ok(!error.message.includes('html'), 'the body is not repeated')
      return true
    })
  }
})

test('a call is aborted by its signal, before and during the request', async () => {
  await using server = await startHttpServer(() => {})
  const client = makeClient({ baseUrl: server.url, token: 'x' })
  await assert.rejects(client.get('/api/v1/me', {}, { signal: AbortSignal.abort() }), { name: 'AbortError' })
  await assert.rejects(client.get('/api/v1/me', {}, { signal: AbortSignal.timeout(50) }), { name: 'TimeoutError' })
  const controller = new AbortController()
  const walk = client.all('/api/v1/dtt/sessions', {}, { signal: controller.signal }).next()
  controller.abort(new Error('enough'))
  await assert.rejects(walk, /enough/)
})

test('requests send the API key in the header, and parameters unchanged', async () => {
  const seen: (string | undefined)[] = []
  await using server = await startHttpServer((request, response) => {
    seen.push(request.method, request.url, request.headers.authorization, request.headers.accept)
    response.end('{"ok":true,"data":{}}')
  })
  const client = makeClient({ baseUrl: `${server.url}/`, token: 'secret' })
  const from = '2026-02-16T18:00:00+02:00'
  await client.get('/api/v1/lkbx/sessions', { lockState: 'a b+c&d=é', from })
  const [method, url = '', authorization, accept] = seen
  assert.deepEqual([method, authorization, accept], ['GET', 'Bearer secret', 'application/json'])
  assert.equal(url.split('?')[0], '/api/v1/lkbx/sessions')
  assert.doesNotMatch(url, /\+/, 'where a plus is a plus, a space must not be one')
  const sent = (url.split('?')[1] ?? '').split('&').map(pair => pair.split('=').map(decodeURIComponent))
  assert.deepEqual(sent, [
    ['lockState', 'a b+c&d=é'],
    ['from', from],
  ])
  await client.get('/api/v1/dtt/:id', { id: 9007199254740991 })
  assert.equal(seen[5], '/api/v1/dtt/9007199254740991')
})

async function refusalOf(call: Promise<unknown>): Promise<LockstepError> {
  const thrown = await call.then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.ok(thrown instanceof LockstepError, String(thrown))
  return thrown
}
