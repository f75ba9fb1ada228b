import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { makeReadLog } from '../../src/accounts/read-log.ts'
import { allReads, listReaders, listReads } from '../../src/accounts/read-log-queries.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { listAccess } from '../../src/accounts/access-lists.ts'
import { DAY_MS } from '../../src/contract/time.ts'
import type { Store } from '../../src/store/index.ts'
import { world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const HOUR_MS = 3_600_000
const now = Date.parse('2026-03-01T12:34:56Z')
const hour = Date.parse('2026-03-01T12:00:00Z')
const ben = { accountId: 2, via: 'token', keyName: 'my script 2' } as const
const benOnPages = { accountId: 2, via: 'dashboard', keyName: '' } as const

/** A log that is written when it is closed. */
function makeLog(store: Store, options: { days?: number; maxEntries?: number } = {}) {
  return makeReadLog(store, { days: 10_000, onFailure: error => assert.fail(String(error)), ...options })
}

test('reads are added up by hour, reader, API key or page, area and kind, also over several processes', async () => {
  await using service = await startService(world)
  const { store } = service
  for (const log of [makeLog(store), makeLog(store)]) {
    log.record(ben, 1, 'dtt', 'list', now)
    log.record(ben, 1, 'dtt', 'list', now + 60_000)
    log.record({ ...ben, keyName: 'other' }, 1, 'dtt', 'list', now)
    log.record(ben, 1, 'dtt', 'record', now)
    log.record(benOnPages, 1, 'lkbx', 'list', now + HOUR_MS)
    log.record({ accountId: 1, via: 'token', keyName: 'mine' }, 1, 'lkbx', 'export', now - HOUR_MS)
    log.record(ben, 99, 'dtt', 'list', now)
    await log.close()
  }
  const rows = (await listReads(store, 1, { limit: 10 })).map(({ id: _, ...row }) => row)
  const byBen = { readerId: 2, reader: 'ben', tokenName: null } as const
  const key = (row: object) => JSON.stringify(row)
  assert.deepEqual(
    new Set(rows.map(key)),
    new Set(
      [
        { hour: hour + HOUR_MS, ...byBen, via: 'dashboard', area: 'lkbx', kind: 'list', count: 2 },
        { hour, ...byBen, via: 'token', area: 'dtt', kind: 'list', count: 4 },
        { hour, ...byBen, via: 'token', area: 'dtt', kind: 'list', count: 2 },
        { hour, ...byBen, via: 'token', area: 'dtt', kind: 'record', count: 2 },
        {
          hour: hour - HOUR_MS,
          readerId: 1,
          reader: 'ann',
          tokenName: 'mine',
          via: 'token',
          area: 'lkbx',
          kind: 'export',
          count: 2,
        },
      ].map(({ hour, readerId, reader, via, tokenName, area, kind, count }) =>
        key({ hour, readerId, reader, via, tokenName, area, kind, count }),
      ),
    ),
  )
  assert.equal(rows.length, 5)
  assert.deepEqual([rows[0]?.hour, rows.at(-1)?.hour], [hour + HOUR_MS, hour - HOUR_MS])
  assert.deepEqual(await listReaders(store, 1), [
    { id: 1, username: 'ann' },
    { id: 2, username: 'ben' },
  ])
  const [given] = (await listAccess(store, 1, now)).given
  assert.equal(given?.lastReadAt, hour + HOUR_MS)
})

test('reads are listed in parts, and by reader and time', async () => {
  await using service = await startService(world)
  const { store } = service
  const log = makeLog(store)
  const hours = 700
  for (let back = 0; back < hours; back += 1) log.record(ben, 1, 'dtt', 'list', now - back * HOUR_MS)
  log.record({ accountId: 3, via: 'token', keyName: 'x' }, 1, 'dtt', 'record', now)
  await log.close()
  const all = await Array.fromAsync(allReads(store, 1))
  assert.equal(all.length, hours + 1)
  assert.deepEqual(
    all.map(({ hour }) => hour),
    all.map(({ hour }) => hour).toSorted((a, b) => b - a),
  )
  assert.equal((await Array.fromAsync(allReads(store, 1, { readerId: 2 }))).length, hours)
  assert.equal((await Array.fromAsync(allReads(store, 1, { from: hour - HOUR_MS }))).length, 3)
  assert.equal((await Array.fromAsync(allReads(store, 1, { from: hour - HOUR_MS, beforeAt: hour }))).length, 1)
})

test('beyond a number of combinations, the log has only the number of reads of each owner', async () => {
  await using service = await startService(world)
  const { store } = service
  const log = makeLog(store, { maxEntries: 2 })
  log.record(ben, 1, 'dtt', 'list', now)
  log.record(ben, 1, 'dtt', 'record', now)
  for (let count = 0; count < 3; count += 1) log.record(ben, 1, 'lkbx', 'record', now + HOUR_MS)
  log.record(ben, 1, 'dtt', 'list', now)
  await log.close()
  const rows = (await listReads(store, 1, { limit: 10 })).map(({ kind, count, reader }) => [kind, count, reader])
  assert.deepEqual(rows[0], [null, 3, null])
  assert.deepEqual(new Set(rows.slice(1).map(String)), new Set(['list,2,ben', 'record,1,ben']))
})

test('reads are kept for the configured days, and those of a removed reader stay', async () => {
  await using service = await startService(world)
  const { store } = service
  const log = makeLog(store, { days: 30 })
  const today = Date.now()
  log.record(ben, 1, 'dtt', 'list', today)
  log.record(ben, 1, 'dtt', 'list', today - 29 * DAY_MS)
  log.record(ben, 1, 'dtt', 'list', today - 31 * DAY_MS)
  await log.close()
  await removeAccount(store, 2, today)
  const rows = await listReads(store, 1, { limit: 10 })
  assert.deepEqual(
    rows.map(({ readerId, reader }) => [readerId, reader]),
    [
      [2, 'removed account'],
      [2, 'removed account'],
    ],
  )
})

test('reads that cannot be written are kept until the database can be written', async () => {
  await using service = await startService(world)
  const { store } = service
  const failed = Promise.withResolvers<unknown>()
  await sql`alter table read_log rename to read_log_away`.execute(store.db)
  const log = makeReadLog(store, { days: 10_000, onFailure: failed.resolve, flushIntervalMs: 10 })
  log.record(ben, 1, 'dtt', 'list', now)
  await failed.promise
  log.record(ben, 1, 'dtt', 'list', now)
  await sql`alter table read_log_away rename to read_log`.execute(store.db)
  await log.close()
  const [row, ...others] = await listReads(store, 1, { limit: 10 })
  assert.deepEqual([row?.count, others], [2, []])
})

test('a log that cannot be written before its process ends says how many reads are lost', async () => {
  await using service = await startService(world)
  const { store } = service
  await sql`alter table read_log rename to read_log_away`.execute(store.db)
  const failures: string[] = []
  const log = makeReadLog(store, { days: 10_000, onFailure: error => failures.push(String(error)) })
  for (const kind of ['list', 'list', 'record'] as const) log.record(ben, 1, 'dtt', kind, now)
  await log.close()
  // The database is used again by other tests.
  await sql`alter table read_log_away rename to read_log`.execute(store.db)
  assert.equal(failures.length, 2)
  assert.equal(failures[1], 'Error: 3 reads could not be written, and are lost')
})
