import assert from 'node:assert/strict'
import type pg from 'pg'
import { removeAccount } from '../../src/accounts/removal.ts'
import { importArchive } from '../../src/archive/import.ts'
import { openBatchImporter } from '../../src/archive/batch-importer.ts'
import { open, type Store } from '../../src/store/index.ts'
import { compile } from '../../src/store/query.ts'
import { everyAnswer, isOfRecords, readersToken, records, views } from '../support/all-responses.ts'
import { testOnCitus } from '../support/citus.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { newPostgres } from '../support/databases.ts'
import { importInEveryMode } from '../support/distributed.ts'
import { sharedServer } from '../support/postgres.ts'
import { connectAsReader, type RecordedRead, watch } from '../support/query-plans.ts'
import { trainingSession } from '../support/records.ts'
import { startSecondServer } from '../support/second-server.ts'
import { archiveOf, unlimited } from '../support/service.ts'
import { ask } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

testOnCitus(
  'with Citus, imports work in every mode, and all responses and the export are those of one server',
  async ({ url }) => {
    const single = await newPostgres((await sharedServer()).url)
    const [store, wanted] = await Promise.all([open(url, OPTIONS), open(single.url, OPTIONS)])
    for (const one of [store, wanted]) {
      await importInEveryMode(one)
      await changeMore(one)
    }
    assert.deepEqual(await everyAnswer(store), await everyAnswer(wanted))
    await store.close()
    await wanted.close()
  },
)

testOnCitus(
  'with Citus, a read goes to the workers of its owners alone, except for a public template of any owner',
  async ({ url }) => {
    const store = await open(url, OPTIONS)
    await importArchive(store, archiveOf(records))
    const client = await connectAsReader(url)
    await client.query('set plan_cache_mode = force_custom_plan')
    const { watched, asked } = watch(store)
    const token = await readersToken(store)
    const service = await startSecondServer({ store: watched }, unlimited)
    try {
      for (const view of views.filter(isOfRecords)) {
        asked.length = 0
        await ask(`http://127.0.0.1:${service.port}${view}`, token)
        for (const one of asked) {
          const counts = await taskCounts(client, store, one)
          // The template of a session may belong to another owner.
          const isOfOne = view.includes('ownerId=') && !view.startsWith('/api/v1/lkbx/templates/active')
          const most = view.startsWith('/api/v1/dtt/templates/') ? Infinity : isOfOne ? 1 : 2
          assert.ok(
            counts.every(count => count <= most),
            `${view}: ${counts.join()}`,
          )
        }
      }
    } finally {
      await service.close()
      await client.end()
      await store.close()
    }
  },
)

testOnCitus(
  'with Citus, a lost worker means 503 for what it has, never a part of a list, until it is back',
  async cluster => {
    const store = await open(cluster.url, OPTIONS)
    await importArchive(store, archiveOf(records))
    const token = await readersToken(store)
    await using service = await startSecondServer({ store }, unlimited)
    const answers = async () => {
      const found: (readonly [string, number | string, string])[] = []
      for (const view of SOME_VIEWS) {
        const { status, text } = await ask(`http://127.0.0.1:${service.port}${view}`, token)
        found.push([view, status, status === 200 ? text : ''])
      }
      return found
    }
    const before = await answers()
    for (const worker of cluster.workers) {
      await cluster.loseWorker(worker)
      const during = await answers()
      assert.ok(during.some(([, status]) => status === 503))
      for (const [index, answer] of during.entries()) if (answer[1] !== 503) assert.deepEqual(answer, before[index])
      await cluster.bringBack(worker)
      await until(async () => (await answers()).every(([, status]) => status !== 503))
      assert.deepEqual(await answers(), before)
    }
    await store.close()
  },
)

/** Lists and single records, of one owner and of several. */
const SOME_VIEWS = ['lkbx/templates', 'lkbx/sessions', 'dtt/templates', 'dtt/sessions', 'dtt'].flatMap(list =>
  ['', '?ownerId=1', '?ownerId=2', '?limit=2', '/5', '/8'].map(rest => `/api/v1/${list}${rest}`),
)

/** The content of the database that was moved. */
let moved = ''

testOnCitus(
  'with Citus, what is moved to a server before its tables are distributed is the same afterwards, also in a backup',
  async ({ url }) => {
    await using folder = await makeFolder()
    assert.equal(await contentOf(folder, url), moved)
    await run(folder, ['backup', 'copy.db', '--database', url])
    await run(folder, ['restore', 'copy.db'])
    assert.equal(await contentOf(folder, folder.databaseUrl), moved)
    await folder.refuses(
      ['restore', 'copy.db', '--force', '--database', url],
      3,
      /the tables of the database are distributed/,
    )
    assert.equal(await contentOf(folder, url), moved)
  },
  async url => {
    await using folder = await makeFolder()
    await using store = await folder.store()
    await importArchive(store, archiveOf(records))
    await readersToken(store)
    moved = await contentOf(folder, folder.databaseUrl)
    await store.close()
    await run(folder, ['move', '--to', url])
  },
)

async function run(folder: Folder, args: readonly string[]): Promise<string> {
  const { stdout } = await folder.succeeds(args)
  return stdout
}

async function contentOf(folder: Folder, url: string): Promise<string> {
  const archive = await run(folder, ['export', '--database', url])
  return archive + (await run(folder, ['key', 'list', '--json', '--database', url]))
}

const OPTIONS = { busyTimeoutMs: 10_000 }

/** What a pull does, rejected rows, and an account that is removed. */
async function changeMore(store: Store) {
  const importer = openBatchImporter(store, { source: 'a source', accounts: [1, 2] })
  const rows = [trainingSession(20, 2, { passed: true }), trainingSession(21, 1), trainingSession(9, 1)]
  // A record as it is in an archive has its kind and its data beside each other.
  const { outcomes } = await importer.storeBatch(
    rows.map(row => {
      const { kind, data, ...envelope } = row as { kind: string; data: unknown }
      return { kind, data, envelope }
    }),
  )
  await importer.close()
  assert.deepEqual(outcomes, ['replaced', 'added', 'rejected'])
  await importArchive(store, archiveOf([trainingSession(22, 99), trainingSession(23, 1)]), { onError: 'set-aside' })
  await removeAccount(store, 3, Date.now())
}

/** To how many shards each part of a read goes. */
async function taskCounts(client: pg.Client, { db }: Store, { query, values }: RecordedRead): Promise<number[]> {
  const { sql: text, parameters } = compile(db, 'postgres', query, true)
  const given = parameters(values).map(value =>
    typeof value === 'string' ? client.escapeLiteral(value) : String(value),
  )
  await client.query(`prepare asked as ${text}`)
  try {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `explain execute asked ${given.length === 0 ? '' : `(${given.join(', ')})`}`,
    )
    return rows.flatMap(row => [...row['QUERY PLAN'].matchAll(/Task Count: (\d+)/g)].map(([, count]) => Number(count)))
  } finally {
    await client.query('deallocate asked')
  }
}
