// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { test } from 'node:test'
import { sql } from 'kysely'
import type { QuotaConfig } from '../../src/archive/quota.ts'
import { countRejected } from '../../src/archive/rejected-rows.ts'
import { recordTables } from '../../src/store/tables.ts'
import type { Store } from '../../src/store/index.ts'
import { openStore, type TestStore } from '../support/archives.ts'
import { account, trainingDevice, trainingSession, trainingTemplate } from '../support/records.ts'
import { pull } from '../support/sources/pulls.ts'
import { SourceWorld, startSource } from '../support/sources/source-server.ts'

const SESSIONS = 250
/** And a device and a program. */
const RECORDS = SESSIONS + 2

const session = (id: number, fields = {}) =>
  trainingSession(id, 1, { created_at: new Date(Date.UTC(2026, 0, 1, id)).toISOString(), ...fields })

function makeWorld(): SourceWorld {
  const sessions = Array.from({ length: SESSIONS }, (_, index) => session(index + 1))
  return new SourceWorld().add(account(1, 'ann'), trainingDevice(1, 1), trainingTemplate(1, 1), ...sessions)
}

const quotaOf = ({ url }: TestStore, limits: Partial<QuotaConfig>): QuotaConfig => ({
  databaseUrl: url,
  maxRecords: 0,
  maxBytes: 0,
  ...limits,
})

/** What is stored, as the limits count it. */
async function stored({ db, engine }: Store) {
  const size = (column: string) =>
    sql.raw(`coalesce(${engine === 'sqlite' ? 'octet_length' : 'pg_column_size'}(${column}), 0)`)
  let [records, bytes] = [0, 0]
  for (const table of recordTables) {
    const { rows } = await sql<Record<'records' | 'bytes', number | string | null>>`select count(*) as records,
      sum(${size('document')} + ${size('extra')}) as bytes from ${sql.table(table)}`.execute(db)
    records += Number(rows[0]?.records)
    bytes += Number(rows[0]?.bytes ?? 0)
  }
  return { records, bytes }
}

test('what a page pulls ends at the records that an account may have', async () => {
  await using source = await startSource({ world: makeWorld(), identity: '/me' })
  await using here = await openStore()
  for (const maxRecords of [1, 200, RECORDS - 1]) {
    const quota = quotaOf(here, { maxRecords })
    const message = `the account would have more than ${maxRecords} records (LOCKSTEP_MAX_RECORDS)`
    await assert.rejects(pull(here.store, source.url, { quota }), { code: 'full', message })
    const { records } = await stored(here.store)
    assert.ok(records <= maxRecords && records > maxRecords - 101, `${records} of ${maxRecords}`)
  }
  await pull(here.store, source.url, { quota: quotaOf(here, { maxRecords: RECORDS }) })
  assert.equal((await stored(here.store)).records, RECORDS)
  await using whole = await openStore()
  await pull(whole.store, source.url)
  assert.equal((await stored(whole.store)).records, RECORDS, 'the command pulls without limit')
})

test('what a page pulls ends at the bytes that an account may have', async () => {
  const world = makeWorld()
  await using source = await startSource({ world, identity: '/me' })
  await using whole = await openStore()
  await pull(whole.store, source.url)
  const { bytes } = await stored(whole.store)
  await using here = await openStore()
  for (const maxBytes of [Math.floor(bytes / 2), bytes - 1]) {
    const quota = quotaOf(here, { maxBytes })
    await assert.rejects(pull(here.store, source.url, { quota }), /bytes \(LOCKSTEP_MAX_BYTES\)$/)
    const found = (await stored(here.store)).bytes
    assert.ok(found <= maxBytes && found > 0, `${found} of ${maxBytes}`)
  }
  const quota = quotaOf(here, { maxBytes: bytes })
  await pull(here.store, source.url, { quota })
  assert.deepEqual(await stored(here.store), await stored(whole.store))
  // A record that grows is bounded as well.
  world.add(session(1, { note: 'x'.repeat(1000) }))
  await assert.rejects(pull(here.store, source.url, { quota, full: true }), { code: 'full' })
  assert.deepEqual(await stored(here.store), await stored(whole.store))
})

test('rejected rows of a source are among the records that an account may have', async () => {
  const world = makeWorld()
  for (let id = 1001; id <= 1010; id += 1) world.add(session(id, { passed: 'perhaps' }))
  await using source = await startSource({ world, identity: '/me' })
  await using here = await openStore()
  const limit = RECORDS + 9
  await assert.rejects(pull(here.store, source.url, { quota: quotaOf(here, { maxRecords: limit }) }), { code: 'full' })
  await pull(here.store, source.url, { quota: quotaOf(here, { maxRecords: limit + 1 }) })
  assert.equal(await countRejected(here.store), 10)
  assert.equal((await stored(here.store)).records, RECORDS)
})

test('nothing is pulled by a page into SQLite while the disk is nearly full', async t => {
  await using source = await startSource({ world: makeWorld(), identity: '/me' })
  await using here = await openStore()
  const free = (bytes: number) => {
    // A mock of a mock would stay.
    t.mock.restoreAll()
    t.mock.method(fs, 'statfsSync', () => ({ bavail: bytes / 4096, bsize: 4096 }))
    syncBuiltinESMExports()
  }
  t.after(() => {
    t.mock.restoreAll()
    syncBuiltinESMExports()
  })
  const quota = quotaOf(here, {})
  free(255 * 1024 * 1024)
  // The disk of PostgreSQL may be elsewhere.
  if (here.store.engine === 'sqlite') {
    await assert.rejects(pull(here.store, source.url, { quota }), /not enough free space on the disk/)
    assert.equal((await stored(here.store)).records, 0)
    free(256 * 1024 * 1024)
  }
  await pull(here.store, source.url, { quota })
  assert.equal((await stored(here.store)).records, RECORDS)
})
