import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { SECURITY_HEADERS } from '../../src/contract/responses.ts'
import { errors } from '../../src/contract/errors.ts'
import { api } from '../../src/contract/index.ts'
import { Metrics, serveMetrics } from '../../src/http/metrics.ts'
import { readConfig } from '../../src/config.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { startSecondServer } from '../support/second-server.ts'
import { makeFolder } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'
import { exchange, open } from '../support/raw.ts'
import { refusals } from '../support/refusals.ts'
import { bearer, cast, lines, makeTokens, MARK, tableSettings } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples in the text format of Prometheus. */
function parse(text: string): Sample[] {
  return Array.from(text.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm), ([, name = '', labels = '', value]) => {
    const pairs = Array.from(labels.matchAll(/(\w+)="([^"]*)"/g), ([, key = '', of = '']) => [key, of] as const)
    return { name, labels: Object.fromEntries(pairs), value: Number(value) }
  })
}

const valueOf = (samples: readonly Sample[], wanted: string) => samples.find(({ name }) => name === wanted)?.value

test('requests, authentications, limits, reads and the build are counted, and served on a separate listener', async () => {
  await using service = await startService(cast)
  const tokens = await makeTokens(service)
  const metrics = new Metrics()
  await using listener = await listen(metrics)
  {
    await using again = await startSecondServer(
      service,
      { LOCKSTEP_RATE_LIMIT: '6', LOCKSTEP_FAILURE_LIMIT: '3' },
      { metrics },
    )
    const ask = (target: string, ...headers: readonly string[]) =>
      exchange(again.port, lines(`${target} HTTP/1.1`, 'Host: a', 'Connection: close', ...headers))
    const ann = bearer(tokens.ann)
    for (let count = 0; count < 4; count += 1) await ask('GET /api/v1/dtt/sessions/5', ann)
    await ask('HEAD /api/v1/dtt/sessions/5', ann)
    await ask('GET /api/v1/dtt/sessions/99', ann)
    await ask('GET /api/v1/dtt/sessions/5', ann)
    await ask('GET /api/v1/me')
    await ask('GET /api/v1/me', bearer(mintKey()))
    await ask('GET /api/v1/me', bearer(tokens.revoked))
    await ask('GET /api/v1/me', bearer(tokens.expired))
    await ask('GET /api/v1/me', bearer('x'))
    await ask('GET /nothing')
    await ask('GET /healthz')
  }

  const answer = await fetch(`http://127.0.0.1:${listener.port}/metrics`)
  assert.equal(answer.status, 200)
  assert.equal(answer.headers.get('Content-Type'), 'text/plain; version=0.0.4; charset=utf-8')
  const samples = parse(await answer.text())
  for (const name of ['cpu_seconds_total', 'open_fds', 'resident_memory_bytes', 'start_time_seconds'])
    assert.ok(valueOf(samples, `process_${name}`) !== undefined, name)
  const count = (wanted: Readonly<Record<string, string>>) =>
    samples
      .filter(({ name }) => name === 'lockstep_request_duration_seconds_count')
      .filter(({ labels }) => Object.entries(wanted).every(([key, value]) => labels[key] === value))
      .reduce((total, { value }) => total + value, 0)
  const route = '/api/v1/dtt/sessions/:id'
  assert.equal(count({ route, method: 'GET', status: '200' }), 4)
  assert.equal(count({ route, method: 'HEAD', status: '200' }), 1)
  assert.equal(count({ route, status: '404' }), 1)
  assert.equal(count({ route, status: '429' }), 1)
  assert.equal(count({ route: '/api/v1/me', status: '401' }), 4)
  assert.equal(count({ route: '/api/v1/me', status: '429' }), 1)
  assert.equal(count({ route: 'none', status: '404' }), 1)
  assert.equal(count({ route: '/healthz', status: '200' }), 1)
  assert.equal(count({}), 14)

  const countsBy = (label: string, wanted: string) =>
    Object.fromEntries(samples.filter(({ name }) => name === wanted).map(({ labels, value }) => [labels[label], value]))
  assert.deepEqual(countsBy('result', 'lockstep_authentications_total'), {
    ok: 7,
    missing_token: 1,
    invalid_token: 1,
    token_revoked: 1,
    token_expired: 1,
  })
  assert.deepEqual(countsBy('limit', 'lockstep_limited_requests_total'), { rate: 1, failures: 1 })
  assert.deepEqual(countsBy('node', 'lockstep_info'), { [process.version]: 1 })

  for (const [method, path] of [
    ['GET', '/'],
    ['POST', '/metrics'],
    ['GET', '/metrics/'],
    ['GET', '/healthz'],
    ['GET', '/api/v1/me'],
  ] as const) {
    assert.equal((await fetch(`http://127.0.0.1:${listener.port}${path}`, { method })).status, 404)
  }
})

test('no label contains a value or a client, and the number of labels is bounded', async () => {
  await using service = await startService(cast)
  const tokens = await makeTokens(service)
  const metrics = new Metrics()
  {
    await using again = await startSecondServer(service, tableSettings, { metrics })
    for (const { send } of refusals(tokens)) await exchange(again.port, Buffer.from(send, 'latin1'))
  }
  const text = await metrics.text()
  for (const secret of [MARK, 'lks_', '127.0.0.1', '%', ...Object.values(tokens).map(token => token.slice(4, 12))]) {
    assert.ok(!text.includes(secret), secret)
  }
  const routes = new Set([
    'none',
    '/healthz',
    '/readyz',
    '/openapi.json',
    ...Object.values<Endpoint>(api).map(({ path }) => path),
  ])
  const statuses = new Set(['0', '200', '204', '304', ...Object.values(errors).map(({ status }) => String(status))])
  for (const { labels } of parse(text)) {
    for (const [name, value] of Object.entries(labels)) {
      if (name === 'route') assert.ok(routes.has(value), value)
      else if (name === 'status') assert.ok(statuses.has(value), value)
      else if (name === 'method') assert.match(value, /^[A-Z-]*$/)
      else assert.ok(['result', 'limit', 'le', 'version', 'node', ...OF_NODE].includes(name), name)
    }
  }
})

/** Labels of the metrics of Node.js itself. */
const OF_NODE = ['quantile', 'type', 'space', 'major', 'minor', 'patch', 'kind']

test('metrics are served on their port and nowhere else, until the service stops', async () => {
  await using folder = await makeFolder()
  const port = await freePort()
  await using served = folder.start(['serve', '--port', '0'], { env: { LOCKSTEP_METRICS_PORT: String(port) } })
  const own = Number((await served.says(/Listening on http:\/\/127\.0\.0\.1:(\d+)/))[1])
  const ask = (at: number, path: string) => fetch(`http://127.0.0.1:${at}${path}`)
  assert.equal((await ask(own, '/metrics')).status, 404)
  assert.equal((await ask(port, '/api/v1/me')).status, 404)
  assert.ok(valueOf(parse(await (await ask(port, '/metrics')).text()), 'lockstep_info') === 1)
  served.process.kill('SIGTERM')
  assert.equal((await served.ended).code, 0)
  await assert.rejects(ask(port, '/metrics'))
})

test('metrics are served to their own hosts only, so that no web site can read them through a browser', async () => {
  const own = ['127.0.0.1', 'localhost:80', 'metrics.localhost', '[::1]', '127.9.9.9', 'Prometheus.example:9464']
  const others = ['evil.example', 'localhost.evil.example', '192.0.2.7', '[::2]', '%00', '1.2.3.4.5', '0.0.0.0']
  await using listener = await listen(new Metrics(), { LOCKSTEP_ALLOWED_HOSTS: 'prometheus.example' })
  const statusFor = async (host: string) =>
    (await exchange(listener.port, lines('HEAD /metrics HTTP/1.1', `Host: ${host}`, 'Connection: close'))).status
  for (const host of own) assert.equal(await statusFor(host), 200, host)
  for (const host of others) assert.equal(await statusFor(host), 421, host)
  await using everywhere = await listen(new Metrics(), { LOCKSTEP_METRICS_HOST: '::' })
  const response = await fetch(`http://127.0.0.1:${everywhere.port}/metrics`)
  assert.equal(response.status, 200)
})

test('the listener of metrics holds 32 connections at most, and accepts new ones when others have ended', async () => {
  await using listener = await listen(new Metrics())
  const idle = Array.from({ length: 32 }, () => open(listener.port))
  await Promise.all(idle.map(({ socket }) => once(socket, 'connect')))
  const more = open(listener.port)
  assert.equal(await more.closed(), '')
  for (const connection of idle) connection[Symbol.dispose]()
  const status = () =>
    fetch(`http://127.0.0.1:${listener.port}/metrics`).then(
      response => response.status,
      () => 0,
    )
  await until(async () => (await status()) === 200)
})

test('no browser guesses what metrics are, frames or stores them', async () => {
  await using listener = await listen(new Metrics())
  for (const path of ['/metrics', '/other']) {
    const { headers } = await fetch(`http://127.0.0.1:${listener.port}${path}`)
    for (const [name, value] of Object.entries(SECURITY_HEADERS))
      assert.equal(headers.get(name), value, `${path} ${name}`)
  }
})

async function listen(metrics: Metrics, settings: Record<string, string> = {}) {
  const listener = await serveMetrics(metrics, readConfig({ LOCKSTEP_METRICS_PORT: '0', ...settings }))
  return { ...listener, [Symbol.asyncDispose]: () => listener.close() }
}
