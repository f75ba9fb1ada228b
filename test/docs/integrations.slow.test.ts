// engine: any
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { parse } from 'yaml'
import { settings } from '../../src/config.ts'
import { storedMetrics } from '../../src/cli/stored-metrics.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { tools } from '../../src/mcp/tools.ts'
import { sampleArchive } from '../../src/demo/sample.ts'
import { startHttpServer } from '../support/http-server.ts'
import { needs } from '../support/programs.ts'
import { startSecondServer } from '../support/second-server.ts'
import { addKnownSource } from '../support/sources/pulls.ts'
import { recordBackup, recordCheck } from '../../src/backup/facts.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const run = promisify(execFile)
const examples = join(import.meta.dirname, '../../examples')
const page = readFileSync(join(examples, '../docs/integrations.md'), 'utf8')
const read = (path: string) => readFileSync(join(examples, path), 'utf8')
let service: TestService
let token: string
let folder: string

before(async () => {
  folder = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  service = await startService(
    [...sampleArchive(Date.now())].map(line => JSON.parse(line)),
    unlimited,
  )
  token = await service.token('alex')
})

after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

test('the shell example prints the state and the last four weeks', needs('curl', 'jq'), async () => {
  const lines = (await example('sh', 'curl/status.sh')).stdout.trim().split('\n')
  const { body } = await service.fetch('/api/v1/status', token)
  const stats = await service.fetch('/api/v1/dtt/stats?bucket=week', token)
  assert.deepEqual(lines.slice(0, 3), [
    `state: ${body.data.lockState}`,
    `planned end: ${body.data.plannedEnd ?? (body.data.timeHidden ? 'hidden' : 'none')}`,
    `streak: ${body.data.streakDays} days`,
  ])
  assert.deepEqual(
    lines.slice(3).map(line => line.split('\t').slice(0, 3)),
    stats.body.data.buckets
      .slice(-4)
      .map(({ date, sessions, repsMeasured }: any) => [date, String(sessions), String(repsMeasured)]),
  )
})

test('the shell example ends with an error where the server refuses', needs('curl', 'jq'), async () => {
  const { code, stdout, stderr } = await example('sh', 'curl/status.sh', { LOCKSTEP_TOKEN: 'none' })
  assert.deepEqual([code, stdout], [22, ''])
  assert.match(stderr, /401/)
})

test('the shell example stores a response, and gets a 304 while it is current', needs('curl'), async () => {
  const statuses = []
  for (let time = 0; time < 2; time += 1) statuses.push((await example('sh', 'curl/latest.sh')).stdout.trim())
  assert.deepEqual(statuses, ['200', '304'])
  assert.equal(JSON.parse(readFileSync(join(folder, 'latest.json'), 'utf8')).ok, true)
})

test('the Python example prints every training session once', needs('python3'), async () => {
  const { stdout } = await example('python3', 'python/sessions.py')
  const client = await service.as('alex')
  const sessions = await Array.fromAsync(client.all('/api/v1/dtt/sessions', { ownerId: 'me' }))
  assert.ok(sessions.length > 100)
  assert.deepEqual(
    stdout
      .trim()
      .split('\n')
      .map(line => line.split('\t')[0]),
    sessions.map(session => session.created_at),
  )
})

test('the Python example says what the server refused', needs('python3'), async () => {
  const { code, stderr } = await example('python3', 'python/sessions.py', { LOCKSTEP_TOKEN: 'none' })
  assert.deepEqual([code, stderr], [1, 'invalid_token: Invalid token\n'])
})

test('the Python example waits as long as a busy service asks it to, and goes on', needs('python3'), async () => {
  const asked: { at: number; url: string }[] = []
  await using busy = await startHttpServer((request, response) => {
    asked.push({ at: performance.now(), url: request.url ?? '' })
    if (asked.length === 2) return response.writeHead(503, { 'Retry-After': '1' }).end('{}')
    return void service.fetch(request.url ?? '', token).then(({ text }) => response.end(text))
  })
  const { stdout } = await example('python3', 'python/sessions.py', { LOCKSTEP_URL: busy.url })
  assert.equal(stdout, (await example('python3', 'python/sessions.py')).stdout)
  const [, refused, again] = asked
  assert.equal(again?.url, refused?.url)
  assert.ok((again?.at ?? 0) - (refused?.at ?? 0) >= 990)
})

test('each query of the Grafana dashboard on the Infinity data source selects fields that a server answers with', async () => {
  const dashboard = JSON.parse(read('grafana/history.json'))
  const variables = new Map<string, string>([
    ['address', service.url],
    ['__from:date:YYYY-MM-DD', day(-84)],
    ['__to:date:YYYY-MM-DD', day(0)],
  ])
  assert.equal(dashboard.templating.list.find(({ name }: any) => name === 'address').query, settings.url.fallback)
  for (const { title, targets, options } of dashboard.panels) {
    for (const { url, root_selector: root, columns, type, parser } of targets) {
      assert.deepEqual([type, parser], ['json', 'backend'])
      const target = url.replaceAll(/\$\{([^}]+)\}/g, (all: string, name: string) => variables.get(name) ?? all)
      const { status, body, text } = await service.fetch(target.replace(service.url, ''), token)
      assert.equal(status, 200, `${title}: ${text}`)
      const found = root.split('.').reduce((value: any, key: string) => value[key], body)
      const rows = Array.isArray(found) ? found : [found]
      assert.ok(rows.length > 0, title)
      for (const { selector } of columns) {
        // A distance is absent where it is not known.
        const isOptional = selector === 'distanceTravelled'
        assert.ok(isOptional ? rows.some(row => selector in row) : rows.every(row => selector in row), selector)
      }
      assert.ok(new Set(columns.map((column: any) => column.text)).has(options?.xField ?? columns[0].text), title)
    }
  }
})

test('each query of the Prometheus dashboard and each alert rule uses metrics and labels that a server has', async () => {
  const metrics = new Metrics()
  metrics.watch(storedMetrics(service.store))
  await recordBackup(service.store, { madeAt: Date.now(), bytes: 1 })
  await recordCheck(service.store, Date.now())
  await addKnownSource(service.store)
  {
    // One request of each result that a rule counts.
    await using other = await startSecondServer(
      service,
      { LOCKSTEP_RATE_LIMIT: '1', LOCKSTEP_FAILURE_LIMIT: '0' },
      { metrics },
    )
    for (const sent of [token, token, `lks_${'x'.repeat(36)}`]) {
      await fetch(`${other.url}/api/v1/me`, { headers: { Authorization: `Bearer ${sent}` } })
    }
  }
  const series = (await metrics.text()).split('\n').filter(line => line !== '' && !line.startsWith('#'))
  const dashboard = JSON.parse(read('grafana/service.json'))
  const { groups } = parse(read('prometheus/alerts.yaml'))
  const rules = groups.flatMap((group: any) => group.rules)
  assert.equal(new Set(rules.map(({ alert }: any) => alert)).size, rules.length)
  const expressions: string[] = [
    ...dashboard.panels.flatMap(({ targets }: any) => targets.map(({ expr }: any) => expr)),
    ...rules.map(({ expr }: any) => expr),
  ]
  assert.ok(expressions.length > 12)
  for (const expression of expressions) {
    const used = [...expression.matchAll(/\b(lockstep_\w+)(?:\{([^}]*)\})?/g)]
    assert.ok(used.length > 0, expression)
    for (const [, name = '', matchers = ''] of used) {
      const own = series.filter(line => line.startsWith(`${name}{`) || line.startsWith(`${name} `))
      assert.ok(own.length > 0, `${name} in ${expression}`)
      const [, by = ''] = /\bby \(([^)]*)\)/.exec(expression) ?? []
      const labels = [...by.split(','), ...matchers.split(',').map(matcher => matcher.replace(/[=!~].*/, ''))]
      for (const label of labels.map(text => text.trim()).filter(text => text !== '')) {
        assert.ok(
          own.some(line => line.includes(`${label}="`)),
          `${label} of ${name}`,
        )
      }
    }
  }
  const results = rules.find(({ alert }: any) => alert === 'LockstepWrongKeys').expr
  assert.ok(series.some(line => line.startsWith('lockstep_authentications_total{result="invalid_token"} 1')))
  assert.ok(results.includes('invalid_token'))
})

test('every path that the page gives to the integration of the hosted service is answered', async () => {
  const [, section = ''] = page.split('**The integration of the hosted service**')
  const [sentence = ''] = section.split('Some sensors stay empty')
  const paths = Array.from(sentence.matchAll(/`(\/api\/v1\/[^`]+)`/g), ([, path = '']) => path)
  assert.ok(paths.length >= 7)
  for (const path of paths) assert.equal((await service.fetch(path, token)).status, 200, path)
})

test('the page names every tool of the command for assistants', () => {
  for (const { name } of tools) assert.ok(page.includes(`\`${name}\``), name)
})

test('every example takes the key from LOCKSTEP_TOKEN, and docs/integrations.md names each file', () => {
  const files = readdirSync(examples, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile())
  for (const { name, parentPath } of files) {
    const path = join(parentPath, name).slice(examples.length + 1)
    assert.ok(page.includes(`(../examples/${path})`), path)
    // The data source of a dashboard has the key, and a blueprint needs none.
    if (!/^(grafana|prometheus|home-assistant\/blueprints)\//.test(path))
      assert.ok(read(path).includes(settings.token.env), path)
  }
})

/** Runs an example in a folder of its own. */
async function example(program: string, path: string, env: Readonly<Record<string, string>> = {}) {
  const all = { ...process.env, LOCKSTEP_URL: service.url, LOCKSTEP_TOKEN: token, ...env }
  try {
    return { code: 0, ...(await run(program, [join(examples, path)], { cwd: folder, env: all })) }
  } catch (error) {
    return error as { code: number; stdout: string; stderr: string }
  }
}

function day(offset: number): string {
  return new Date(Date.now() + offset * 86_400_000).toISOString().slice(0, 10)
}
