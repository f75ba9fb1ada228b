// engine: any
import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { entities, stateMessage, topicsOf } from '../../src/homeassistant/entities.ts'
import { type Folder, makeFolder, start } from '../support/command.ts'
import { startHttpServer } from '../support/http-server.ts'
import { type Mosquitto, needsMosquitto, retained, startMosquitto, watch } from '../support/mosquitto.ts'
import { account, lockSegment, lockSession, lockTemplate, trainingSession } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { selfSigned } from '../support/sources/certificate.ts'
import { until } from '../support/waiting.ts'

const TEXT = 'Evening with Ben'
const topics = topicsOf({ id: 'lockstep' })
const at = (hours: number) => new Date(Date.now() - hours * 3_600_000).toISOString()

let service: TestService
let token: string
let folder: Folder

before(async () => {
  folder = await makeFolder()
  service = await startService(
    [
      account(1, 'ann@home'),
      lockTemplate(1, 1, { name: TEXT }),
      lockSession(1, 1, {
        lockState: 'locked',
        isActive: true,
        startDate: at(20),
        endDate: at(-40),
        LockSegment: [lockSegment(1, 'start', at(20), true)],
      }),
      trainingSession(1, 1, { name: TEXT, created_at: at(0.1) }),
    ],
    unlimited,
  )
  token = await service.token('ann@home', { scopes: ['status:read'] })
})

after(async () => {
  await service[Symbol.asyncDispose]()
  await folder[Symbol.asyncDispose]()
})

/** Runs the command; leaving its scope kills it. */
function publishing(broker: Pick<Mosquitto, 'url'>, more: readonly string[] = [], env: Record<string, string> = {}) {
  const settings = { LOCKSTEP_URL: service.url, LOCKSTEP_TOKEN: token, ...env }
  return start(['homeassistant', 'entities', '--broker', broker.url, '--every', '1s', ...more], { env: settings })
}

async function currentStatus() {
  return (await service.as('ann@home')).get('/api/v1/status')
}

const isOnline = (messages: ReadonlyMap<string, string>) =>
  [topics.availability, topics.recent].every(topic => messages.get(topic) === 'online')

test('entities and states are retained without names, and unavailable after a stop', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await using command = publishing(broker)
  await until(async () => isOnline(await retained(broker)))
  const found = await retained(broker)
  assert.deepEqual(
    [...found.keys()].toSorted(),
    [topics.discovery, topics.availability, topics.recent, topics.state].toSorted(),
  )
  assert.deepEqual(JSON.parse(found.get(topics.state) ?? ''), stateMessage(await currentStatus()))
  const discovery = JSON.parse(found.get(topics.discovery) ?? '')
  assert.deepEqual([discovery.device.name, discovery.device.configuration_url], ['Lockstep', service.url])
  assert.equal(Object.keys(discovery.components).length, entities.length + 1)
  assert.doesNotMatch([...found.values()].join(), /ann@|Evening|Ben\b/)
  command.process.kill('SIGTERM')
  const { code, stdout, stderr } = await command.ended
  assert.deepEqual([code, stdout], [0, ''])
  assert.match(
    stderr,
    /publishing the entities of lockstep\nstopped: the entities are unavailable until the next start\n/,
  )
  assert.equal((await retained(broker)).get(topics.availability), 'offline')
})

test('--texts gives the device the name of the account, and --id makes a second', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await using _ = publishing(broker, ['--id', 'second', '--texts'])
  const second = topicsOf({ id: 'second' })
  await until(async () => (await retained(broker)).has(second.state))
  const { device } = JSON.parse((await retained(broker)).get(second.discovery) ?? '')
  assert.deepEqual([device.identifiers, device.name], [['second'], 'Lockstep second ann@home'])
})

test('only the status is asked for, with its validator, and published when changed', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  const requests: string[] = []
  await using between = await startHttpServer((request, response) => {
    const { method, url = '', headers } = request
    const { authorization = '', 'if-none-match': validator } = headers
    const passed = { authorization, ...(validator === undefined ? {} : { 'if-none-match': validator }) }
    void fetch(new URL(url, service.url), { headers: passed }).then(async answer => {
      requests.push(`${method} ${url} ${validator === undefined ? 'first' : 'again'} ${answer.status}`)
      const { etag = '', 'content-type': type = '' } = Object.fromEntries(answer.headers)
      response.writeHead(answer.status, { etag, 'content-type': type }).end(await answer.text())
    })
  })
  await using reader = await watch(broker)
  await using _ = publishing(broker, [], { LOCKSTEP_URL: between.url })
  // The status changes at a full hour, so one of them may have an answer.
  const unchanged = 'GET /api/v1/status again 304'
  await until(async () => requests.filter(each => each === unchanged).length >= 3)
  assert.equal(requests[0], 'GET /api/v1/status first 200')
  for (const each of requests.slice(1)) assert.match(each, /^GET \/api\/v1\/status again (200|304)$/)
  // A reader that was there before gets each message as it is published.
  for (const topic of [topics.discovery, topics.recent, topics.availability])
    assert.equal(reader.counts.get(topic), 1, topic)
  assert.ok((reader.counts.get(topics.state) ?? 0) <= requests.filter(each => each.endsWith('200')).length)
})

test('entities of a killed command are unavailable until the next one runs', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await using reader = await watch(broker)
  const command = publishing(broker)
  await until(async () => isOnline(reader.latest))
  command.process.kill('SIGKILL')
  await command.ended
  // The last will, which the broker publishes.
  await until(async () => reader.latest.get(topics.availability) === 'offline')
  await using _ = publishing(broker)
  await until(async () => isOnline(reader.latest))
})

/** Then what is published follows from something else than the next request to the service. */
const SELDOM = ['--every', '1h']

test('a broker that restarts has the entities again, even if it forgot them', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await using command = publishing(broker, SELDOM)
  for (const forget of [false, true]) {
    await until(async () => isOnline(await retained(broker)))
    const { length } = command.said.stderr
    await broker.stop({ forget })
    await until(async () => command.said.stderr.slice(length).includes('the broker does not answer'))
    await broker.start()
    await until(async () => command.said.stderr.slice(length).includes('connected to the broker again'))
    await until(async () => isOnline(await retained(broker)))
  }
  const found = await retained(broker)
  assert.ok(found.has(topics.discovery))
  assert.deepEqual(JSON.parse(found.get(topics.state) ?? ''), stateMessage(await currentStatus()))
})

test('a broker that is away at first is waited for, and the log says so', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await broker.stop()
  await using command = publishing(broker, SELDOM)
  await using removing = publishing(broker, ['--remove', '--id', 'second'])
  for (const { said } of [command, removing]) {
    await until(async () => /the broker does not answer: .*; trying again until it does\n$/.test(said.stderr))
  }
  await broker.start()
  await until(async () => isOnline(await retained(broker)))
  assert.match(command.said.stderr, /until it does\npublishing the entities of lockstep\n$/)
  const { code, stderr } = await removing.ended
  assert.equal(code, 0)
  assert.match(stderr, /removed the entities of second\n$/)
})

test('when Home Assistant starts it gets the entities again', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await using reader = await watch(broker)
  await using _ = publishing(broker)
  await until(async () => isOnline(reader.latest))
  const before = new Map(reader.counts)
  await reader.client.publishAsync(topics.birth, 'online')
  for (const topic of [topics.discovery, topics.state, topics.recent, topics.availability])
    await until(async () => (reader.counts.get(topic) ?? 0) > (before.get(topic) ?? 0))
})

test('a service that is away makes the entities unavailable, and they come back with it', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  const other = await startService([account(1, 'ben')], unlimited)
  const env = { LOCKSTEP_URL: other.url, LOCKSTEP_TOKEN: await other.token('ben', { scopes: ['status:read'] }) }
  await using command = publishing(broker, [], env)
  await until(async () => (await retained(broker)).get(topics.availability) === 'online')
  await other.service.close()
  await until(async () => (await retained(broker)).get(topics.availability) === 'offline')
  assert.match(command.said.stderr, /the service does not answer; trying again every 1 s/)
  await using again = await startService([], { ...unlimited, LOCKSTEP_PORT: new URL(other.url).port }, other)
  assert.equal(again.url, other.url)
  await until(async () => (await retained(broker)).get(topics.availability) === 'online')
  await until(async () => command.said.stderr.includes('the service answers again'))
})

test('old records make the entities unavailable, but not the one of their time', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await using _ = publishing(broker, ['--max-age', '1s'])
  await until(async () => (await retained(broker)).has(topics.state))
  const found = await retained(broker)
  assert.deepEqual([found.get(topics.recent), found.get(topics.availability)], ['offline', 'online'])
  const { as_of: asOf, locked } = JSON.parse(found.get(topics.discovery) ?? '').components
  const topicsIn = (entity: any) => entity.availability.map(({ topic }: { topic: string }) => topic)
  assert.deepEqual([topicsIn(asOf).includes(topics.recent), topicsIn(locked).includes(topics.recent)], [false, true])
})

test('two copies show the same, and one that ends does not make the entities unavailable', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  await using reader = await watch(broker)
  await using first = publishing(broker, SELDOM)
  await first.process.stderr?.take(1).toArray()
  const second = publishing(broker, SELDOM)
  await until(async () => second.said.stderr.includes('publishing'))
  await until(async () => isOnline(reader.latest))
  second.process.kill('SIGTERM')
  await second.ended
  const third = publishing(broker, SELDOM)
  await until(async () => third.said.stderr.includes('publishing'))
  third.process.kill('SIGKILL')
  await third.ended
  await until(async () => isOnline(await retained(broker)))
  assert.doesNotMatch(first.said.stderr, /does not answer/)
})

test('--remove leaves nothing on the broker', needsMosquitto, async () => {
  await using broker = await startMosquitto()
  const command = publishing(broker)
  await until(async () => isOnline(await retained(broker)))
  command.process.kill('SIGTERM')
  await command.ended
  await using removing = publishing(broker, ['--remove'])
  const { code, stderr } = await removing.ended
  assert.deepEqual([code, stderr], [0, 'removed the entities of lockstep\n'])
  assert.equal((await retained(broker)).size, 0)
})

test('a wrong password and a wrong key end the command with a sentence', needsMosquitto, async () => {
  await using broker = await startMosquitto({ user: { name: 'ha', password: 'right' } })
  const file = (name: string, text: string, mode = 0o600) => {
    writeFileSync(folder.file(name), text)
    chmodSync(folder.file(name), mode)
    return folder.file(name)
  }
  const login = (passwordFile: string) => ['--username', 'ha', '--password-file', passwordFile]
  const outcome = async (more: readonly string[], env = {}) => {
    await using command = publishing(broker, more, env)
    const { code, stderr } = await command.ended
    return [code, stderr]
  }
  assert.deepEqual(await outcome(login(file('wrong', 'wrong\n'))), [
    4,
    'lockstep: the broker cannot be used: Connection refused: Not authorized; see --username, --password-file and --ca\n',
  ])
  assert.deepEqual(await outcome(login(file('open', 'right\n', 0o644))), [
    1,
    `lockstep: others can read ${folder.file('open')}, so it is refused: chmod 600 it\n`,
  ])
  const [code, said] = await outcome(login(file('right', 'right\n')), { LOCKSTEP_TOKEN: `${token}x` })
  assert.deepEqual([code, String(said).startsWith('lockstep: the service answered: ')], [4, true])
  await using right = publishing(broker, login(folder.file('right')))
  await until(async () => isOnline(await retained(broker)))
  right.process.kill('SIGINT')
  assert.equal((await right.ended).code, 130)
})

test('an encrypted broker is checked by its certificate, another one is warned of', needsMosquitto, async () => {
  const [cert, key] = [folder.file('cert.pem'), folder.file('key.pem')]
  writeFileSync(cert, selfSigned.cert)
  writeFileSync(key, selfSigned.key)
  await using broker = await startMosquitto({ tls: { cert, key } })
  await using unknown = publishing(broker)
  const refused = await unknown.ended
  assert.deepEqual(
    [refused.code, refused.stderr],
    [4, 'lockstep: the broker cannot be used: self-signed certificate; see --username, --password-file and --ca\n'],
  )
  await using _ = publishing(broker, ['--ca', cert])
  await until(async () => isOnline(await retained(broker)))
  await using open = publishing({ url: 'mqtt://broker.invalid' })
  await until(async () => open.said.stderr.includes('the broker does not answer'))
  assert.match(open.said.stderr, /^warning: the connection to the broker is not encrypted/)
})
