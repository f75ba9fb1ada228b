import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { importArchive, ImportError } from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { recordTables } from '../../src/store/tables.ts'
import { startSecondServer } from '../support/second-server.ts'
import { testOnEmptyPostgres } from '../support/engines.ts'
import { everyAnswer, isOfRecords, readersToken, records, views } from '../support/all-responses.ts'
import { connectAsReader, nodesOf, planOf, watch } from '../support/query-plans.ts'
import { archiveOf, unlimited } from '../support/service.ts'
import { ask } from '../support/serving.ts'
import { readFileSync } from 'node:fs'
import { lockDevice, lockSession, lockTemplate, makers, trainingSession, trainingTemplate } from '../support/records.ts'

// engine: any

/**
 * Tables that are partitioned by owner stand in for tables distributed by it: keys, foreign keys and conflicts have the same
 * limits, and a plan shows which parts a query goes to.
 */

const PARTS = 8

testOnEmptyPostgres('tables partitioned by owner give the same responses and the same export', async ({ url }) => {
  const store = await open(url, { busyTimeoutMs: 4000 })
  await importArchive(store, archiveOf(records))
  const before = await everyAnswer(store)
  await partition(store)
  assert.deepEqual(await everyAnswer(store), before)
  await store.close()
})

testOnEmptyPostgres('in partitions by owner, imports find the record of an identifier', async ({ url }) => {
  const store = await open(url, { busyTimeoutMs: 4000 })
  await partition(store)
  await importInEveryMode(store)
  await store.close()
})

testOnEmptyPostgres('a read uses no more partitions than owners, but for a public template', async ({ url }) => {
  const store = await open(url, { busyTimeoutMs: 4000 })
  await importArchive(store, archiveOf(records))
  await partition(store)
  const client = await connectAsReader(url)
  const { watched, asked } = watch(store)
  const token = await readersToken(store)
  // Without kept pages, whose revisions are read from a table without partitions.
  const service = await startSecondServer({ store: watched }, unlimited)
  const seen = new Set<number>()
  try {
    for (const view of views.filter(isOfRecords)) {
      asked.length = 0
      await ask(`http://127.0.0.1:${service.port}${view}`, token)
      for (const one of asked) {
        const parts = new Set<string>()
        for (const node of nodesOf(await planOf(client, store, one))) {
          // Parts of the same number are of the same owners.
          const part = /_part_(\d)$/.exec(node['Relation Name'] ?? '')?.[1]
          if (part !== undefined && node['Actual Loops'] > 0) parts.add(part)
        }
        // The look-up of the API key.
        if (parts.size === 0) continue
        seen.add(parts.size)
        // The template of a session may belong to another owner.
        const isOfOne = view.includes('ownerId=') && !view.startsWith('/api/v1/lkbx/templates/active')
        const owners = isOfOne ? 1 : 2
        const most = view.startsWith('/api/v1/dtt/templates/') ? PARTS : owners
        assert.ok(parts.size <= most, `${view}: ${[...parts].join()}`)
      }
    }
    assert.deepEqual(
      [...seen].toSorted((a, b) => a - b),
      [1, 2, PARTS],
    )
  } finally {
    await service.close()
    await client.end()
    await store.close()
  }
})

testOnEmptyPostgres('the docs distribute every table of records, and nothing refers to one', async ({ url }) => {
  const store = await open(url, { busyTimeoutMs: 4000 })
  assert.deepEqual(distributed.toSorted(), [...recordTables].toSorted())
  const { rows: links } = await sql<{ from: string; to: string }>`
    select conrelid::regclass::text as "from", confrelid::regclass::text as "to"
    from pg_constraint where contype = 'f'`.execute(store.db)
  for (const { from, to } of links) if (distributed.includes(from)) assert.ok(copied.includes(to), `${from} to ${to}`)
  const between = links.filter(({ to }) => distributed.includes(to))
  assert.deepEqual(between, [])
  await store.close()
})

/** Partitions each of the tables by owner, with all its indexes and keys. Fails if one of them cannot be partitioned. */
async function partition(store: Store) {
  for (const table of distributed) {
    const statements = [
      `alter table ${table} rename to ${table}_whole`,
      `create table ${table} (like ${table}_whole including all) partition by hash (owner_id)`,
      `alter table ${table} add foreign key (owner_id) references account (id) on delete cascade`,
      ...Array.from(
        { length: PARTS },
        (_, part) =>
          `create table ${table}_part_${part} partition of ${table} for values with (modulus ${PARTS}, remainder ${part})`,
      ),
      `insert into ${table} select * from ${table}_whole`,
      `drop table ${table}_whole`,
    ]
    for (const statement of statements) await sql.raw(statement).execute(store.db)
  }
}

const docs = readFileSync(new URL('../../docs/citus.md', import.meta.url), 'utf8')

/** The tables that the docs distribute, and those they copy to every server. The others stay on one. */
const distributed = [...docs.matchAll(/create_distributed_table\('(\w+)', 'owner_id'/g)].map(([, name = '']) => name)
const copied = [...docs.matchAll(/create_reference_table\('(\w+)'/g)].map(([, name = '']) => name)

/** Imports records into an empty store in every mode, including records that change their owner, and checks what is stored. */
async function importInEveryMode(store: Store) {
  await importArchive(store, archiveOf(records))
  const again = await importArchive(store, archiveOf(records))
  assert.ok(again.kinds.every(({ added, replaced, skipped }) => added + replaced + skipped === 0))
  for (const make of makers) {
    await importArchive(store, archiveOf([make(20, 1)]))
    const taken = archiveOf([make(20, 3)])
    await assert.rejects(importArchive(store, taken), ImportError)
    await importArchive(store, archiveOf([make(20, 3)]), { onConflict: 'skip' })
    await importArchive(store, archiveOf([make(20, 2)]), { onConflict: 'replace' })
  }
  const changed = [
    lockTemplate(20, 2, { name: 'New' }),
    lockDevice(20, 2, { locked: true }),
    lockSession(20, 2, { lockState: 'abandoned' }),
    trainingTemplate(20, 2, { isActive: true }),
    trainingSession(20, 2, { passed: false }),
  ]
  const { kinds } = await importArchive(store, archiveOf(changed), { onConflict: 'replace' })
  const total = kinds.reduce((sum, { replaced }) => sum + replaced, 0)
  assert.equal(total, changed.length)
  for (const table of distributed) {
    const { rows } = await sql.raw(`select owner_id from ${table} where id = 20`).execute(store.db)
    assert.deepEqual(rows, [{ owner_id: 2 }], table)
  }
}
