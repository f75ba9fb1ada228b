import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { archiveParts, exportArchive } from '../../src/archive/export.ts'
import { importArchive } from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { newDatabase } from '../support/databases.ts'
import { account, trainingSession } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'

// The times of two exports in one run are compared, so the speed of the machine does not matter. On SQLite all work is in this
// process, and its processor time is taken: the longer of two exports has to wait for other processes more often.

const FEW = 4000
const MANY = 12 * FEW
/** Sorting all rows for each part makes it 68. Few rows fit into a cache of the database and many do not, which can double it. */
const MAX_RATIO = 40

test('the time of an export grows with the records of the account, not faster: by the command and in Settings', async t => {
  const database = await step('an empty database', newDatabase())
  const store = await open(database.url, { busyTimeoutMs: 60_000, bulk: true })
  const lines = function* () {
    yield* [account(1, 'ann'), account(2, 'ben')]
    for (let id = 1; id <= FEW + MANY; id += 1) yield trainingSession(id, id <= FEW ? 1 : 2)
  }
  await step('the import', importArchive(store, archiveOf([...lines()])))
  const ways = {
    command: (accountId: number) => exportArchive(store, async () => {}, accountId),
    settings: async (accountId: number) => {
      for await (const _ of archiveParts(store, accountId));
    },
  }
  for (const [name, run] of Object.entries(ways)) {
    let [few, many] = [Infinity, Infinity]
    // In turns, and more often if the ratio is too high, because the machine may be busy for a while.
    for (let round = 0; round < 5 || (round < 20 && many / few >= MAX_RATIO); round += 1) {
      few = Math.min(
        few,
        await step(
          `the ${name} export of few records`,
          timeOf(store, () => run(1)),
        ),
      )
      many = Math.min(
        many,
        await step(
          `the ${name} export of many records`,
          timeOf(store, () => run(2)),
        ),
      )
    }
    const ratio = many / few
    t.diagnostic(`${name}: twelve times the records take ${ratio.toFixed(1)} times as long`)
    assert.ok(ratio < MAX_RATIO, `${name}: ${ratio}`)
  }
  await step('closing the store', store.close())
  await step('removing the records', database.remove())
})

/** Long for a step that takes seconds: one that never ends is named. */
const STEP_LIMIT_MS = 180_000

async function step<Result>(name: string, work: Promise<Result>): Promise<Result> {
  const ended = new AbortController()
  const limit = sleep(STEP_LIMIT_MS, undefined, { signal: ended.signal }).then(() =>
    assert.fail(`${name} does not end`),
  )
  try {
    return await Promise.race([work, limit])
  } finally {
    ended.abort()
    limit.catch(() => {})
  }
}

async function timeOf({ engine }: Store, work: () => Promise<void>): Promise<number> {
  const start = performance.now()
  const before = process.cpuUsage()
  await work()
  const { user, system } = process.cpuUsage(before)
  return engine === 'sqlite' ? (user + system) / 1000 : performance.now() - start
}
