import assert from 'node:assert/strict'
import { sql } from 'kysely'
import { importArchive } from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { recordTables } from '../../src/store/tables.ts'
import { startSecondServer } from '../support/second-server.ts'
import { testOnEmptyPostgres } from '../support/engines.ts'
import { everyAnswer, isOfRecords, readersToken, records, views } from '../support/all-responses.ts'
import { connectAsReader, nodesOf, planOf, watch } from '../support/query-plans.ts'
import { copied, distributed, importInEveryMode } from '../support/distributed.ts'
import { archiveOf, unlimited } from '../support/service.ts'
import { ask } from '../support/serving.ts'

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
