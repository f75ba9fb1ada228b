// engine: sqlite
import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { createKey, revokeKey } from '../../src/accounts/api-keys.ts'
import { newSqlite } from '../support/databases.ts'
import { largeArchive, measure, startWorker } from '../support/memory-worker.ts'

test('an archive of any length is imported in the same memory', async t => {
  const peaks: number[] = []
  for (const count of [5000, 30_000]) {
    const database = newSqlite()
    peaks.push(await measure({ work: 'import', url: database.url, count }))
    await database.remove()
  }
  const [few = 0, many = 0] = peaks
  t.diagnostic(`5,000 records (12 MB) take ${few} MB, 30,000 (75 MB) take ${many} MB`)
  assert.ok(many - few < 40)
})

test('a store of any size is exported in the same memory', async t => {
  const peaks: number[] = []
  for (const count of [3000, 30_000]) {
    const database = newSqlite()
    const store = await open(database.url, { busyTimeoutMs: 5000, bulk: true })
    await importArchive(store, largeArchive(count))
    await store.close()
    peaks.push(await measure({ work: 'export', url: database.url }))
    await database.remove()
  }
  const [few = 0, many = 0] = peaks
  t.diagnostic(`3,000 records take ${few} MB, 30,000 (75 MB) take ${many} MB`)
  assert.ok(many - few < 40)
})

test('API keys can be revoked while a large archive is checked, and it takes at most 2.5 times its size on the disk', async t => {
  const database = newSqlite()
  const path = database.url.slice('sqlite:'.length)
  const store = await open(database.url, { busyTimeoutMs: 60_000 })
  await importArchive(store, largeArchive(0))
  const request = { accountId: 1, name: 'test', scopes: ['dtt:read'], expiresAt: null }
  await createKey(store, request, Date.now())

  const waits: Record<'checking' | 'storing', number[]> = { checking: [], storing: [] }
  let longestLog = 0
  let mostOnDisk = 0
  const started = performance.now()
  let startedToStore = 0
  {
    await using worker = startWorker({ work: 'import', url: database.url, count: 20_000, bulk: true })
    const now: { phase: keyof typeof waits | 'done' } = { phase: 'checking' }
    const storing = worker.hear('storing').then(() => {
      now.phase = 'storing'
      startedToStore = performance.now()
    })
    const done = worker.hear('done').then(() => (now.phase = 'done'))
    while (now.phase !== 'done') {
      const { phase } = now
      const start = performance.now()
      await revokeKey(store, { id: 1 }, Date.now())
      waits[phase].push(performance.now() - start)
      longestLog = Math.max(longestLog, statSync(`${path}-wal`).size)
      if (process.platform === 'linux') mostOnDisk = Math.max(mostOnDisk, worker.diskBytes())
      await sleep(2)
    }
    await Promise.all([storing, done])
  }
  const took = performance.now() - startedToStore
  const longest = (list: readonly number[]) => Math.round(Math.max(...list))
  t.diagnostic(
    `importing 20,000 records (50 MB): revoking a token took at most ${longest(waits.checking)} ms while lines were checked, ${longest(waits.storing)} ms while records were stored, which took ${Math.round(took)} ms; the log had at most ${megabytes(longestLog)} MB, the disk ${megabytes(mostOnDisk)} MB`,
  )
  assert.ok(waits.checking.length > 50)
  // While lines are checked nobody waits; where a machine stops a process for long, checking takes long, too.
  assert.ok(longest(waits.checking) < Math.max(1000, (startedToStore - started) / 2))
  // While they are stored, everybody waits for all of them.
  assert.ok(longest(waits.storing) < took + 1000)
  let archiveBytes = 0
  for await (const { length } of largeArchive(20_000)) archiveBytes += length
  assert.ok(mostOnDisk < 2.5 * archiveBytes, `${megabytes(mostOnDisk)} MB for ${megabytes(archiveBytes)} MB`)
  const { count } = await store.db
    .selectFrom('training_session')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  assert.equal(count, 20_000)
  await store.close()
  await database.remove()
})

const megabytes = (bytes: number) => Math.round(bytes / 1e6)
