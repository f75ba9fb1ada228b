// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, get, type IncomingMessage, METHODS } from 'node:http'
import { closeSync, constants, openSync, readFileSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { errors } from '../../src/contract/errors.ts'
import { api } from '../../src/contract/index.ts'
import { gatedStore, type SecondServer, startSecondServer } from '../support/second-server.ts'
import { launcher, makeFolder } from '../support/command.ts'
import { testOn } from '../support/databases.ts'
import { exchange, header, open } from '../support/raw.ts'
import { account, lockDevice, lockSession, lockTemplate, trainingDevice, trainingTemplate } from '../support/records.ts'
import { refusals } from '../support/refusals.ts'
import { bearer, cast, lines, makeTokens, MARK, tableSettings, type Tokens, OUTSIDE_API } from '../support/requests.ts'
import { startService, type TestService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

const ONE = '/api/v1/dtt/sessions/5'
const ENDPOINTS = Object.values<Endpoint>(api).map(({ path }) => path)

/** One of everything, and an account whose name cannot be anything else. */
const world = [
  ...cast,
  account(77, 'quetzalcoatlus', {
    profileTitle: 'Feathered',
    profileDescription: 'A description',
    profileImage: 'image.png',
  }),
  lockTemplate(5, 1),
  lockSession(5, 1),
  trainingTemplate(5, 1),
  lockDevice(5, 1),
  trainingDevice(5, 1),
]

let service: TestService
let tokens: Tokens
before(async () => {
  service = await startService(world, tableSettings)
  tokens = await makeTokens(service)
})
after(() => service[Symbol.asyncDispose]())

/** What was logged, line by line, after the server has ended. */
async function logOf(again: SecondServer): Promise<Record<string, unknown>[]> {
  await again.close()
  return linesOf(again)
}

function linesOf({ log }: SecondServer): Record<string, unknown>[] {
  const text = log.join('')
  assert.ok(text === '' || text.endsWith('\n'))
  return text.split('\n').slice(0, -1).map(line => JSON.parse(line) as Record<string, unknown>) // prettier-ignore
}

test('each request is logged in one line, with its result, under the request id of its response', async () => {
  const again = await startSecondServer(service, tableSettings)
  const me = await exchange(
    again.port,
    lines('GET /api/v1/me HTTP/1.1', 'Host: a', 'Connection: close', bearer(tokens.ann)),
  )
  const keyId = (JSON.parse(me.body) as { data: { token: { id: number } } }).data.token.id
  const ann = bearer(tokens.ann)
  const cases = [
    { first: `GET ${ONE}`, headers: [ann], route: '/api/v1/dtt/sessions/:id', token: keyId },
    { first: `GET ${ONE}?include=owner`, headers: [ann], route: '/api/v1/dtt/sessions/:id', token: keyId },
    { first: `HEAD ${ONE}`, headers: [ann], route: '/api/v1/dtt/sessions/:id', token: keyId },
    { first: `GET ${ONE}`, headers: [ann, 'If-None-Match: *'], route: '/api/v1/dtt/sessions/:id', token: keyId },
    { first: 'GET /api/v1/dtt/sessions/latest', headers: [ann], route: '/api/v1/dtt/sessions/latest', token: keyId },
    { first: 'GET /api/v1/dtt/sessions/99', headers: [ann], route: '/api/v1/dtt/sessions/:id', token: keyId, code: 'not_found' },
    { first: 'GET /api/v1/dtt/sessions?limit=0', headers: [ann], route: '/api/v1/dtt/sessions', token: keyId, code: 'invalid_parameter' },
    { first: `GET ${ONE}`, headers: [], route: '/api/v1/dtt/sessions/:id', code: 'missing_token' },
    { first: `DELETE ${ONE}`, headers: [ann], route: null, code: 'method_not_allowed' },
    { first: 'GET /api/v1/nothing', headers: [ann], route: null, code: 'no_route' },
    { first: 'GET /healthz', headers: [], route: '/healthz' },
    { first: 'HEAD /openapi.json', headers: [], route: '/openapi.json' },
    { first: 'POST /docs', headers: [], route: null, code: 'method_not_allowed' },
    { first: 'NOTHING /', headers: [], route: null, code: 'malformed_request' },
  ] as const // prettier-ignore
  const expected: object[] = []
  for (const { first, headers, ...promised } of cases) {
    const answer = await exchange(again.port, lines(`${first} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers))
    const { route, ...rest } = promised
    expected.push({
      requestId: header(answer, 'X-Request-Id'),
      method: first.startsWith('NOTHING') ? '' : first.split(' ')[0],
      route,
      status: answer.status,
      bytes: Buffer.byteLength(answer.body),
      ...rest,
    })
  }
  const [, ...logged] = await logOf(again)
  const now = Date.now()
  assert.deepEqual(
    logged.map(({ time, ms, ...rest }) => {
      assert.ok(typeof time === 'string' && Math.abs(Date.parse(time) - now) < 60_000 && time.endsWith('Z'))
      assert.ok(typeof ms === 'number' && ms >= 0 && ms < 60_000)
      return rest
    }),
    expected,
  )
})

test('a request of a disconnected client is logged as aborted', async () => {
  const gate = gatedStore(service.store)
  const again = await startSecondServer(service, tableSettings, { store: gate.store })
  {
    using connection = open(again.port)
    connection.send(lines(`GET ${ONE} HTTP/1.1`, 'Host: a', bearer(tokens.ann)))
    await until(async () => gate.waiting.length > 0)
    connection.socket.resetAndDestroy()
    // The server is told in the next turn of the event loop.
    for (let count = 0; count < 5; count += 1) await turn()
  }
  gate.open()
  const [only, ...more] = await logOf(again)
  assert.deepEqual([only?.['status'], only?.['aborted'], more], [0, true, []])
})

/** The allowed form of a line: no field with free text. */
const forms: Readonly<Record<string, (value: unknown) => boolean>> = {
  time: value => /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(String(value)),
  requestId: value => /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(String(value)),
  method: value => value === '' || METHODS.includes(String(value)),
  route: value => value === null || [...ENDPOINTS, ...OUTSIDE_API, '/assets/:name'].some(route => route === value),
  status: value => Number.isInteger(value),
  ms: value => typeof value === 'number',
  bytes: value => Number.isInteger(value),
  token: value => Number.isInteger(value),
  code: value => String(value) in errors,
}

test('the log never contains secrets, headers, values, names or addresses, whatever the request and its error', async () => {
  const addresses = ['203.0.113.7', '2001:db8:77::7']
  const again = await startSecondServer(service, { ...tableSettings, LOCKSTEP_TRUSTED_PROXIES: '127.0.0.1' })
  for (const refused of refusals(tokens)) await exchange(again.port, Buffer.from(refused.send, 'latin1'))
  for (const path of ENDPOINTS) {
    for (const id of ['5', '1', '77', MARK]) {
      const first = `GET ${path.replace(':id', id)} HTTP/1.1`
      for (const address of addresses) {
        await exchange(again.port, lines(first, 'Host: a', bearer(tokens.ann), `X-Forwarded-For: ${address}`, `X-Request-Id: "${MARK}"`)) // prettier-ignore
      }
    }
  }
  for (const path of OUTSIDE_API) {
    await exchange(
      again.port,
      lines(`GET ${path}?q=${MARK} HTTP/1.1`, 'Host: a', bearer(tokens.ann), `Referer: ${MARK}`),
    )
  }
  const logged = await logOf(again)
  assert.ok(logged.length > 500)
  for (const line of logged) {
    for (const [key, value] of Object.entries(line)) assert.ok(forms[key]?.(value), `${key}: ${JSON.stringify(value)}`)
  }
  // Identifiers of requests are random, so they may contain anything.
  const text = again.log.join('').replaceAll(/"requestId":"[^"]*"/g, '')
  const secrets = [
    MARK,
    MARK.toLowerCase(),
    'lks_',
    'Bearer',
    'quetzalcoatlus',
    'Feathered',
    ...addresses,
    '127.0.0.1',
    '::1',
    // The start of hardware addresses: without the last part it is a time of the day.
    '02:00:00:00',
  ]
  const parts = Object.values(tokens).flatMap(token => [token.slice(4, 14), token.slice(-10)])
  const names = [
    'Session 5',
    'session-5',
    'Template 5',
    'Program 5',
    'Lock 5',
    'A message',
    'User-Agent',
    'Cookie',
    'Referer',
    '%',
    '?',
    '=',
  ]
  for (const secret of [...secrets, ...parts, ...names]) assert.ok(!text.includes(secret), secret)
})

test('an internal error is logged under its request id, and the response does not show its cause', async () => {
  await using broken = await startService(cast)
  const token = await broken.token('ann')
  const again = await startSecondServer(broken)
  const ask = (path: string) => exchange(again.port, lines(`GET ${path} HTTP/1.1`, 'Host: a', bearer(token)))
  assert.equal((await ask(ONE)).status, 200)
  await sql`alter table training_session rename to elsewhere`.execute(broken.store.db)
  // PostgreSQL has no tables before it is restored, so one that is missing is no internal error there.
  if (broken.store.engine === 'postgres') {
    await sql`create view training_session as
      select * from elsewhere where cast('training_session' || id as bigint) > 0`.execute(broken.store.db)
  }
  const answer = await ask(ONE)
  assert.equal(answer.status, 500)
  assert.doesNotMatch(JSON.stringify(answer), /training_session|elsewhere|table|relation|sql|stack|\.ts/i)
  assert.equal((await ask('/api/v1/me')).status, 200, 'what does not need the table goes on')

  const requestId = header(answer, 'X-Request-Id')
  const logged = (await logOf(again)).filter(line => line['requestId'] === requestId)
  const failure = logged.find(({ level }) => level === 'error')
  assert.deepEqual(Object.keys(failure ?? {}), ['time', 'level', 'requestId', 'name', 'message', 'stack'])
  assert.match(String(failure?.['message']), /training_session/)
  assert.equal(logged.find(({ status }) => status === 500)?.['code'], 'internal_error')
  assert.equal(logged.length, 2)
  if (broken.store.engine === 'postgres') await sql`drop view training_session`.execute(broken.store.db)
  await sql`alter table elsewhere rename to training_session`.execute(broken.store.db)
})

testOn('sqlite', 'with a file that is no database the service is unavailable, and logs why', async () => {
  await using broken = await startService(cast)
  const token = await broken.token('ann')
  await sql`pragma wal_checkpoint(truncate)`.execute(broken.store.db)
  writeFileSync(broken.databaseUrl.slice('sqlite:'.length), 'this is no database'.repeat(5000))
  const again = await startSecondServer(broken)
  const answer = await exchange(again.port, lines(`GET ${ONE} HTTP/1.1`, 'Host: a', bearer(token)))
  assert.deepEqual([answer.status, header(answer, 'Retry-After')], [503, '1'])
  assert.doesNotMatch(JSON.stringify(answer), /file|database|sqlite/i)
  assert.equal((await exchange(again.port, lines('GET /readyz HTTP/1.1', 'Host: a'))).status, 503)
  assert.equal((await exchange(again.port, lines('GET /healthz HTTP/1.1', 'Host: a'))).status, 200)
  const failure = (await logOf(again)).find(({ level }) => level === 'error')
  assert.equal(failure?.['requestId'], header(answer, 'X-Request-Id'))
  assert.match(String(failure?.['reason']), /not a database/)
})

test('without an access log, failures are still logged', async () => {
  const store = { ...service.store, read: () => assert.fail('the store is gone') }
  const again = await startSecondServer(service, { LOCKSTEP_ACCESS_LOG: 'off' }, { store })
  await exchange(again.port, lines('GET /healthz HTTP/1.1', 'Host: a'))
  const answer = await exchange(again.port, lines(`GET ${ONE} HTTP/1.1`, 'Host: a', bearer(tokens.ann)))
  const [only, ...more] = await logOf(again)
  assert.deepEqual([only?.['level'], only?.['requestId'], more], ['error', header(answer, 'X-Request-Id'), []])
})

testOn('sqlite', 'the service keeps running when nobody reads its log', async () => {
  await using folder = await makeFolder()
  await using served = folder.start(['serve', '--port', '0'])
  const port = Number((await served.says(/Listening on http:\/\/127\.0\.0\.1:(\d+)/))[1])
  await until(async () => served.said.stderr.includes('account invite'))
  served.process.stderr?.destroy()
  const ask = () => exchange(port, lines('GET /api/v1/me HTTP/1.1', 'Host: a'))
  for (let count = 0; count < 3; count += 1) {
    assert.equal((await ask()).status, 401)
    await sleep(250)
  }
  served.process.kill('SIGTERM')
  assert.equal((await served.ended).code, 0)
})

testOn('sqlite', 'no line of the log is cut or lost while its reader is slow', async () => {
  assert.equal((await logOfSlowReader(2000)).length, 2000)
})

/** The log of a service whose stderr is a pipe that refuses what does not fit, and that nobody reads until all requests were answered. */
async function logOfSlowReader(requests: number) {
  await using folder = await makeFolder()
  const pipe = folder.file('pipe')
  execFileSync('mkfifo', [pipe])
  const stderr = openSync(pipe, constants.O_RDWR | constants.O_NONBLOCK)
  const env = { ...process.env, LOCKSTEP_DATABASE_URL: 'sqlite:own.db' }
  const args = ['serve', '--port', '0']
  const serving = spawn(launcher, args, { cwd: folder.path, env, stdio: ['ignore', 'pipe', stderr] })
  const [line] = (await once(serving.stdout ?? assert.fail(), 'data')) as [Buffer]
  const url = /http:\S+/.exec(line.toString())?.[0]
  const agent = new Agent({ keepAlive: true, maxSockets: 4 })
  let sent = 0
  const send = async () => {
    while (sent < requests) {
      sent += 1
      const request = get(`${url}/healthz`, { agent })
      const [response] = (await once(request, 'response')) as [IncomingMessage]
      await once(response.resume(), 'end')
    }
  }
  await Promise.all([send(), send(), send(), send()])
  agent.destroy()
  const log = openSync(folder.file('log'), 'w')
  const reading = spawn('cat', [pipe], { stdio: ['ignore', log, 'inherit'] })
  serving.kill('SIGTERM')
  await once(serving, 'exit')
  closeSync(stderr)
  await once(reading, 'exit')
  closeSync(log)
  const said = readFileSync(folder.file('log'), 'utf8').split('\n').filter(text => text.startsWith('{')) // prettier-ignore
  return said.map(text => JSON.parse(text) as Record<string, unknown>).filter(({ route }) => route === '/healthz')
}
