// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { createKey } from '../../src/accounts/api-keys.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { importArchive } from '../../src/archive/import.ts'
import { noteChangedRecords } from '../../src/archive/revisions.ts'
import { open, type Store } from '../../src/store/index.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { newDatabase } from '../support/databases.ts'
import {
  account,
  lockSegment,
  lockSession,
  trainerSegment,
  trainingSession,
  trainingTemplate,
} from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { ask, serve } from '../support/serving.ts'

/** As much as a small machine gives to a process. */
const settings = { NODE_OPTIONS: '--max-old-space-size=320' }

const pages = ['/', '/training?range=all', '/training?range=all&type=kind1', '/locks?range=all', '/year', '/programs']
const figures = ['/api/v1/status', '/api/v1/dtt/stats?bucket=month', '/api/v1/lkbx/stats?from=2026-01-01']

test('an account with as much as it may bring in gets no figures of it, and does not end the process that makes them', async t => {
  const database = await newDatabase()
  t.after(() => database.remove())
  const store = await open(database.url, { busyTimeoutMs: 60_000, bulk: true })
  await importArchive(store, archiveOf([account(1, 'ann'), trainingTemplate(1, 1), manyEvents, manyKinds]))
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  const request = { accountId: 1, name: 'test', scopes: ['dtt:read', 'lkbx:read'], expiresAt: null } as const
  const key = await createKey(store, request, Date.now())
  await using service = await serve(database.url, { settings })
  const ann = visitor(service.url)
  await ann.signIn('ann')
  const askAll = async () => {
    const asked = [
      ...pages.map(async path => [path, await ann.get(path)] as const),
      ...figures.map(async path => [path, await ask(service.url + path, key)] as const),
    ]
    return (await Promise.all(asked)).map(([path, { status, text }]) => ({ path, status, text }))
  }

  for (const table of ['training_session', 'lock_session'] as const) await multiply(store, table, 1400)
  // On a busy machine they may take too long at first.
  let answers = await askAll()
  for (let tries = 0; tries < 3 && answers.some(({ status }) => status === 503); tries += 1) answers = await askAll()
  for (const { path, status } of answers) assert.equal(status, 200, path)

  for (const table of ['training_session', 'lock_session'] as const) await multiply(store, table, 8000)
  await multiply(store, 'training_template', 100_001)
  await askAll()
  for (const { path, status, text } of await askAll()) {
    assert.equal(status, 503, path)
    assert.match(text, /too many records for this/, path)
  }
  assert.equal((await ask(`${service.url}/api/v1/dtt/sessions/1`, key)).status, 200)
  await store.close()
})

const manyKinds = trainingSession(1, 1, {
  TrainerSegment: Array.from({ length: 100 }, (_, index) => trainerSegment(index + 1, { type: `kind${index}` })),
})

const manyEvents = lockSession(1, 1, {
  startDate: '2026-01-01T00:00:00Z',
  endDate: '2026-01-01T00:03:20Z',
  LockSegment: Array.from({ length: 200 }, (_, index) =>
    lockSegment(
      index + 1,
      index % 2 === 0 ? 'locked' : 'break',
      `2026-01-01T00:0${Math.floor(index / 60)}:${String(index % 60).padStart(2, '0')}Z`,
      index % 2 === 0,
    ),
  ),
})

/** Adds copies of the record 1, with ids up to a number and times a minute apart. */
async function multiply(
  { db }: Store,
  table: 'training_session' | 'lock_session' | 'training_template',
  count: number,
) {
  const [row] = await db.selectFrom(table).selectAll().where('id', '=', 1).execute()
  assert.ok(row !== undefined)
  const values = new Map(Object.keys(row).map(column => [column, sql.ref(column)]))
  values
    .set('id', sql`number`)
    .set('at', sql`at - number * 60000`)
    .set('document', sql`'{}'`)
  await sql`with recursive numbers (number) as (
      select max(id) + 1 from ${sql.table(table)} union all select number + 1 from numbers where number < ${count})
    insert into ${sql.table(table)} (${sql.join([...values.keys()].map(column => sql.ref(column)))})
    select ${sql.join([...values.values()])} from ${sql.table(table)}, numbers where id = 1`.execute(db)
  await noteChangedRecords(db, table, sql`select cast(1 as bigint)`)
}
