import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sql } from 'kysely'
import { referencesOf, renumberAccount } from '../../src/accounts/renumber.ts'
import { open } from '../../src/store/index.ts'
import { recordTables } from '../../src/store/tables.ts'
import { visitor, signInAs } from '../support/dashboard.ts'
import { account, lockTemplate, partnership, trainingSession } from '../support/records.ts'
import { startService } from '../support/service.ts'
import { pull } from '../support/sources/pulls.ts'
import { SourceWorld, startSource } from '../support/sources/source-server.ts'

test('giving an account another id changes every column that refers to one', async () => {
  await using service = await startService()
  const moved = (await referencesOf(service.store)).map(({ table, column }) => `${table}.${column}`)
  const empty = await open('sqlite::memory:', { busyTimeoutMs: 0 })
  const { rows } = await sql<{ name: string }>`select found.name || '.' || keys."from" as name
    from sqlite_schema as found, pragma_foreign_key_list(found.name) as keys where keys."table" = 'account'`.execute(
    empty.db,
  )
  await empty.close()
  const ofRecords = recordTables.map(table => `${table}.owner_id`)
  const missing = rows.map(({ name }) => name).filter(name => !moved.includes(name))
  assert.deepEqual(missing.toSorted(), ofRecords.toSorted())
})

test('an account without records takes its id from the source, and keeps its password, keys and access', async () => {
  const world = new SourceWorld().add(account(4711, 'ann'), trainingSession(1, 4711), lockTemplate(1, 4711))
  await using source = await startSource({ world, me: 4711, identity: '/users/me' })
  await using service = await startService([account(1, 'ann'), account(2, 'ben'), partnership(2, 1), partnership(1, 2)])
  await service.import([lockTemplate(9, 2)])
  const ann = await signInAs(service, 'ann')
  await ann.post('/settings/preferences', { timeZone: 'Europe/Berlin' })
  assert.equal((await service.fetch('/api/v1/lkbx/templates/9', 'ann')).status, 200)

  await assert.rejects(pull(service.store, source.url), /say so with --account 1, which then has the id 4711/)
  await pull(service.store, source.url, { account: 'ann' })

  assert.equal((await service.fetch('/api/v1/dtt/sessions/1', 'ann')).status, 200)
  assert.equal((await service.fetch('/api/v1/lkbx/templates/9', 'ann')).status, 200)
  assert.equal((await ann.get('/training/1')).status, 200)
  assert.equal((await visitor(service.url).signIn('ann')).to, '/')
  assert.equal((await service.fetch('/api/v1/dtt/sessions/1', 'ben')).status, 200, 'access that was given stays')
  for (const { table, column } of await referencesOf(service.store)) {
    const { rows } = await sql`select 1 from ${sql.table(table)} where ${sql.ref(column)} = 1`.execute(service.store.db)
    assert.equal(rows.length, 0, `${table}.${column}`)
  }
})

test('an account keeps its id if it has records or a source, or if the other id is taken or was removed here', async () => {
  await using service = await startService([
    account(1, 'ann'),
    account(2, 'ben'),
    account(3, 'cas'),
    trainingSession(1, 1),
  ])
  const { store } = service
  await assert.rejects(renumberAccount(store, 1, 9), /^Refusal: account 1 is in use$/)
  await assert.rejects(renumberAccount(store, 2, 3), /^Refusal: the id 3 is not free$/)
  await store.db.insertInto('removed_account').values({ id: 8, removed_at: 1 }).execute()
  await assert.rejects(renumberAccount(store, 2, 8), /^Refusal: the id 8 is not free$/)
})
