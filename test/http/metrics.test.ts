import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { SECURITY_HEADERS } from '../../src/contract/responses.ts'
import { errors } from '../../src/contract/errors.ts'
import { api } from '../../src/contract/index.ts'
import { importArchive } from '../../src/archive/import.ts'
import { storedValues } from '../../src/cli/stored-values.ts'
import { Metrics, serveMetrics } from '../../src/http/metrics.ts'
import { readConfig } from '../../src/config.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { cut } from '../support/archives.ts'
import { startSecondServer } from '../support/second-server.ts'
import { makeFolder } from '../support/command.ts'
import { freePort } from '../support/postgres.ts'
import { exchange, open } from '../support/raw.ts'
import { refusals } from '../support/refusals.ts'
import { bearer, cast, lines, makeTokens, MARK, tableSettings } from '../support/requests.ts'
import { startService } from '../support/service.ts'
import { until } from '../support/waiting.ts'

// engine: any

/** A sample of the exposition: name, labels, value. */
interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

interface Family {
  readonly type: string
  readonly samples: Sample[]
}

/** Reads the text format of Prometheus, strictly: each family is described once, before its samples. */
function parse(text: string): Map<string, Family> {
  assert.ok(text.endsWith('\n'))
  const families = new Map<string, Family>()
  const helped = new Set<string>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    const help = /^# HELP ([a-z0-9_]+) \S.*$/.exec(line)
    const type = /^# TYPE ([a-z0-9_]+) (counter|gauge|histogram|summary)$/.exec(line)
    if (help !== null) helped.add(help[1] ?? '')
    else if (type !== null) {
      assert.ok(helped.has(type[1] ?? '') && !families.has(type[1] ?? ''), line)
      families.set(type[1] ?? '', { type: type[2] ?? '', samples: [] })
    } else {
      const sample = /^([a-z0-9_]+)(?:\{((?:[a-z]+="[^"\\\n]*",?)*)\})? (\S+)$/.exec(line)
      assert.ok(sample !== null, line)
      const [, name = '', labels = '', value = ''] = sample
      const family = families.get(name) ?? families.get(name.replace(/_(bucket|sum|count)$/, ''))
      assert.ok(family !== undefined, `${name} is described`)
      const found = [...labels.matchAll(/([a-z]+)="([^"]*)"/g)].map(([, key = '', text = '']) => [key, text] as const)
      // Nothing has been measured yet.
      assert.ok(value === 'Nan' || Number.isFinite(Number(value)), line)
      family.samples.push({ name, labels: Object.fromEntries(found), value: Number(value) })
    }
  }
  return families
}

const sum = (family: Family | undefined, name: string, labels: Readonly<Record<string, string>>) =>
  (family?.samples ?? [])
    .filter(
      sample => sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
    )
    .reduce((total, { value }) => total + value, 0)

test('rejected rows and the last complete round of the pull that is furthest behind are metrics', async () => {
  await using service = await startService(cast)
  const metrics = new Metrics()
  metrics.watch(storedValues(service.store))
  const values = async () => {
    const families = parse(await metrics.text())
    return ['lockstep_set_aside_rows', 'lockstep_pull_completed_timestamp_seconds'].map(
      name => families.get(name)?.samples[0]?.value,
    )
  }
  assert.deepEqual(await values(), [0, undefined])
  const unknownKind = Buffer.from(JSON.stringify({ kind: 'x', data: {} }))
  await importArchive(service.store, cut(unknownKind, []), { onError: 'set-aside', source: 'history.ndjson' })
  for (const completed_at of [60_000, 30_000]) {
    const origin = `https://${completed_at}.example`
    const source = { account_id: 1, origin, username: null, knows_me: 1, capabilities: '{}', full_at: null }
    await service.store.db
      .insertInto('pull_source')
      .values({ ...source, completed_at })
      .execute()
  }
  assert.deepEqual(await values(), [1, 30])
})

test('connected sources are counted, those that fail too, and since when the first of them does', async () => {
  await using service = await startService(cast)
  const metrics = new Metrics()
  metrics.watch(storedValues(service.store))
  const values = async () => {
    const families = parse(await metrics.text())
    return ['connections', 'connections_failing', 'failing_timestamp_seconds'].map(
      name => families.get(`lockstep_source_${name}`)?.samples[0]?.value,
    )
  }
  assert.deepEqual(await values(), [0, 0, undefined])
  const [first, second, third] = await service.store.db.selectFrom('account').select('id').orderBy('id').execute()
  for (const [account_id, failing_since] of [
    [first?.id, null],
    [second?.id, 90_000],
    [third?.id, 60_000],
  ] as const) {
    const empty = {
      every_minutes: 5,
      state: 'waiting',
      progress: '[]',
      failures: 0,
      known_locks: '',
      mine: 0,
      revision: 1,
    } as const
    await service.store.db
      .insertInto('source_connection')
      .values({ ...empty, account_id: account_id ?? 0, origin: 'https://history.example', failing_since })
      .execute()
  }
  assert.deepEqual(await values(), [3, 2, 60])
})

test('there are no metrics without a port for them', async () => {
  assert.equal(readConfig({}).metricsPort, undefined)
  await using service = await startService()
  for (const path of ['/metrics', '/api/v1/metrics']) assert.equal((await service.fetch(path)).status, 404)
})

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
  const families = parse(await answer.text())
  const types = [...families].map(([name, { type }]) => [name, type] as const)
  assert.deepEqual(Object.fromEntries(types.filter(([name]) => name.startsWith('lockstep_'))), {
    lockstep_authentications_total: 'counter',
    lockstep_info: 'gauge',
    lockstep_limited_requests_total: 'counter',
    lockstep_request_duration_seconds: 'histogram',
    lockstep_store_read_duration_seconds: 'histogram',
  })
  for (const name of ['cpu_seconds_total', 'open_fds', 'resident_memory_bytes', 'start_time_seconds'])
    assert.ok(families.has(`process_${name}`), name)
  const durations = families.get('lockstep_request_duration_seconds')
  const count = (labels: Readonly<Record<string, string>>) =>
    sum(durations, 'lockstep_request_duration_seconds_count', labels)
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

  const results = families.get('lockstep_authentications_total')?.samples ?? []
  assert.deepEqual(Object.fromEntries(results.map(({ labels, value }) => [labels['result'], value])), {
    ok: 7,
    missing_token: 1,
    invalid_token: 1,
    token_revoked: 1,
    token_expired: 1,
  })
  const limited = families.get('lockstep_limited_requests_total')?.samples ?? []
  assert.deepEqual(Object.fromEntries(limited.map(({ labels, value }) => [labels['limit'], value])), {
    rate: 1,
    failures: 1,
  })
  const reads = families.get('lockstep_store_read_duration_seconds')
  assert.ok(sum(reads, 'lockstep_store_read_duration_seconds_count', {}) >= 8)
  const [build] = families.get('lockstep_info')?.samples ?? []
  assert.deepEqual(
    [build?.value, Object.keys(build?.labels ?? {}), build?.labels['node']],
    [1, ['version', 'node'], process.version],
  )

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
  for (const { samples } of parse(text).values()) {
    for (const { labels } of samples) {
      for (const [name, value] of Object.entries(labels)) {
        if (name === 'route') assert.ok(routes.has(value), value)
        else if (name === 'status') assert.ok(statuses.has(value), value)
        else if (name === 'method') assert.match(value, /^[A-Z-]*$/)
        else assert.ok(['result', 'limit', 'le', 'version', 'node', ...OF_NODE].includes(name), name)
      }
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
  assert.ok(parse(await (await ask(port, '/metrics')).text()).has('lockstep_info'))
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
  for (const host of own) assert.equal(await statusFor(host), 404, host)
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
