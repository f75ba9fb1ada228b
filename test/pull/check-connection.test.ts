// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Refusal } from '../../src/contract/refusal.ts'
import { MAX_CHECKS_PER_HOUR, readConfig } from '../../src/config.ts'
import { checkConnection } from '../../src/pull/check-connection.ts'
import { SourceError, type Send } from '../../src/pull/source.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'
import { startService, type TestService } from '../support/service.ts'
import { bareOptions, SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'

const HOUR_MS = 3_600_000

const worldOf = (me: number) => new SourceWorld().add(account(me, 'alex'), lockTemplate(1, me), trainingSession(1, me))

interface Asked {
  readonly origin: string
  readonly key?: string
  readonly now?: number
  readonly send?: Send
}

/** Checks a source that the setting allows, as account 1. */
function check({ store }: TestService, { origin, key = SOURCE_TOKEN, now = Date.now(), send }: Asked) {
  const { protocol, hostname, origin: listed } = URL.parse(origin) ?? {}
  const isHere = protocol === 'http:' && hostname === '127.0.0.1'
  const config = readConfig(isHere ? { LOCKSTEP_SOURCE_ORIGINS: listed ?? '' } : {})
  return checkConnection({ store, config, now, ...(send && { send }) }, 1, { origin, key })
}

async function failureOf(service: TestService, asked: Asked): Promise<string> {
  const failed = await check(service, asked).then(
    () => undefined,
    (error: unknown) => error,
  )
  assert.ok(failed instanceof Refusal, String(failed))
  return failed.message
}

test('a check says whose key it is, what the server has, and that an account without records takes the id', async () => {
  await using service = await startService([account(1, 'ann')])
  await using source = await startSource({ world: worldOf(4711), me: 4711, identity: '/me', withoutLists: ['/lkbx'] })
  const found = await check(service, { origin: `${source.url}/api/v1/` })
  assert.deepEqual(
    [found.origin, found.id, found.username, found.fits, found.newId],
    [source.url, 4711, 'alex', true, 4711],
  )
  assert.deepEqual(found.missing, ['lock-device'])
  assert.equal(found.kinds.length, 5)
  const [{ id } = { id: 0 }] = await service.store.db.selectFrom('account').select('id').execute()
  assert.equal(id, 1)
  assert.equal((await service.store.db.selectFrom('pull_source').select('id').execute()).length, 0)
})

test('the records of a server that does not say whose key it is are stored for the account that asks', async () => {
  await using service = await startService([account(1, 'ann')])
  await using source = await startSource(bareOptions(worldOf(1)))
  const found = await check(service, { origin: source.url })
  assert.deepEqual([found.id, found.username, found.fits], [undefined, undefined, true])
  assert.deepEqual(found.kinds, ['lock-template', 'training-session'])
})

test('what is wrong is said in a sentence, and each request is sent once', async () => {
  await using service = await startService([account(1, 'ann')])
  await using source = await startSource({ world: worldOf(1), identity: '/users/me' })
  const origin = source.url
  assert.match(await failureOf(service, { origin: 'history.example' }), /^the address must be/)
  assert.match(await failureOf(service, { origin: 'http://history.example' }), /^the address must be an https/)
  assert.match(
    await failureOf(service, { origin: 'https://*.example' }),
    /^the address must name one server, without wild/,
  )
  assert.match(await failureOf(service, { origin, key: 'two words' }), /^the key must be/)
  assert.match(await failureOf(service, { origin, key: 'wrong' }), /refuses the API key \(401/)
  source.requests.length = 0
  source.fault = () => ({ status: 502 })
  assert.match(await failureOf(service, { origin }), /responds with status 502/)
  assert.equal(source.requests.length, 1)
  source.fault = () => ({ status: 200, body: '<html>' })
  assert.match(await failureOf(service, { origin }), /HTML instead of JSON/)
  source.fault = path => (path === '/lkbx/sessions' ? { status: 403 } : undefined)
  assert.match(await failureOf(service, { origin }), /^the key may not read lock sessions there/)
})

test('an account can have ten checks an hour, also when they come together', async () => {
  await using service = await startService([account(1, 'ann')])
  const sent: string[] = []
  const send: Send = url => {
    sent.push(url)
    throw new SourceError('nothing there')
  }
  const now = Date.now()
  const ask = (at: number) => failureOf(service, { origin: 'https://history.example', now: at, send })
  const failures = await Promise.all(Array.from({ length: MAX_CHECKS_PER_HOUR + 5 }, () => ask(now)))
  assert.ok(sent.length <= MAX_CHECKS_PER_HOUR, `${sent.length}`)
  assert.ok(failures.some(text => /10 times an hour/.test(text)))
  while (sent.length < MAX_CHECKS_PER_HOUR) await ask(now + 1000)
  await assert.rejects(check(service, { origin: 'https://history.example', now: now + 2000, send }), {
    code: 'too-often',
  })
  assert.equal(sent.length, MAX_CHECKS_PER_HOUR)
  await ask(now + HOUR_MS + 2000)
  assert.equal(sent.length, MAX_CHECKS_PER_HOUR + 1)
})
