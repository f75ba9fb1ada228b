import assert from 'node:assert/strict'
import { test } from 'node:test'
import { open, StoreError, StoreUnavailableError } from '../../src/store/index.ts'
import { parseAddress } from '../../src/store/postgres-address.ts'
import { choosePrimary, type ServerState } from '../../src/store/primary-locator.ts'
import { withFallback } from '../../src/store/fallback.ts'

// engine: any

test('of servers that accept writes the one on the highest timeline is the primary, if it can be told', () => {
  const primary = (timeline: number, system = 'a'): ServerState => ({ role: 'primary', timeline, system })
  const replica: ServerState = { role: 'replica', system: 'a' }
  const choose = (states: readonly ServerState[], newest?: number) => {
    const named = new Map(states.map((state, index) => [String(index), state]))
    return choosePrimary(named, newest === undefined ? undefined : { timeline: newest, system: 'a' })?.url
  }
  assert.equal(choose([replica, primary(1)]), '1')
  assert.equal(choose([primary(1), primary(2)]), '1')
  assert.equal(choose([primary(16), primary(2)]), '0')
  assert.equal(choose([primary(1), { role: 'unknown' }]), '0')
  assert.equal(choose([primary(1), { role: 'unknown' }], 2), undefined, 'a former primary')
  assert.equal(choose([primary(3), primary(3)]), undefined, 'both were promoted')
  assert.equal(choose([primary(1), primary(2, 'b')]), undefined, 'two databases')
  assert.equal(choose([primary(1), primary(2, 'b')], 1), '0')
  assert.equal(choose([replica, replica]), undefined)
})

test('an address may name several servers, with one user, one password and one database', () => {
  const { servers, isLocated } = parseAddress(
    'postgres://app:se%40cret@one:5432,[::1]:5433/lockstep?target_session_attrs=read-write&sslmode=require',
  )
  assert.deepEqual(servers, [
    'postgres://app:se%40cret@one:5432/lockstep?sslmode=require',
    'postgres://app:se%40cret@[::1]:5433/lockstep?sslmode=require',
  ])
  assert.equal(isLocated, true)
  assert.deepEqual(parseAddress('postgresql://one/lockstep'), {
    servers: ['postgresql://one/lockstep'],
    isLocated: false,
  })
  assert.equal(parseAddress('postgres://one/lockstep?target_session_attrs=primary').isLocated, true)
})

test('an address that names servers wrongly is refused', async () => {
  for (const wrong of ['one,/a', 'a:b,c:d/a', 'one,two:x/a', 'one/a?target_session_attrs=standby']) {
    await assert.rejects(open(`postgres://app@${wrong}`, { busyTimeoutMs: 1000 }), StoreError, wrong)
  }
})

test('a read that fails just before another server becomes the primary is done again there', async () => {
  const up = { isDown: false, checkIsDown: async () => false }
  const outcomes = [() => Promise.reject(new StoreUnavailableError('lost')), () => Promise.resolve('read')]
  const fromReplica = () => Promise.reject(new Error('the primary responds'))
  assert.equal(
    await withFallback(up, () => outcomes.shift()?.() ?? Promise.reject(new Error('done too often')), fromReplica),
    'read',
  )
  let times = 0
  const fails = () => {
    times += 1
    return Promise.reject(new StoreUnavailableError('lost'))
  }
  await assert.rejects(withFallback(up, fails, fromReplica), StoreUnavailableError)
  assert.equal(times, 2)
})

test('a read that fails again after the primary responded for the last time comes from a replica', async () => {
  const checks = [false, true]
  const going = { isDown: false, checkIsDown: async () => checks.shift() ?? true }
  const fails = () => Promise.reject(new StoreUnavailableError('lost'))
  assert.equal(await withFallback(going, fails, () => 'replica'), 'replica')
})
