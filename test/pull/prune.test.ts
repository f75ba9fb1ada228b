// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Folder, makeFolder } from '../support/command.ts'
import { account, trainingSession } from '../support/records.ts'
import { makeClock, pull } from '../support/sources/pulls.ts'
import { SourceWorld, startSource } from '../support/sources/source-server.ts'

const MORE_THAN_A_DAY = 86_400_001
const SESSIONS = 30

/** Pulls thirty training sessions, of which the source has removed some since. */
async function pulledInto(folder: Folder, removed: number) {
  await folder.succeeds(['migrate'])
  const sessions = Array.from({ length: SESSIONS }, (_, index) => trainingSession(index + 1, 1))
  const world = new SourceWorld().add(account(1, 'ann'), ...sessions)
  await using source = await startSource({ world, identity: '/users/me' })
  await using store = await folder.store()
  const clock = makeClock()
  await pull(store, source.url, { clock })
  for (let id = 1; id <= removed; id += 1) world.remove('training-session', id)
  for (let walk = 0; walk < 2; walk += 1) {
    clock.time += MORE_THAN_A_DAY
    await pull(store, source.url, { clock, full: true })
  }
}

async function count(folder: Folder): Promise<number> {
  await using store = await folder.store()
  return (await store.db.selectFrom('training_session').select('id').execute()).length
}

async function events(folder: Folder): Promise<string[]> {
  await using store = await folder.store()
  const rows = await store.db
    .selectFrom('account_event')
    .select(['kind', 'actor'])
    .where('account_id', '=', 1)
    .execute()
  return rows.map(({ kind, actor }) => `${kind} ${actor}`)
}

test('prune says how many records are gone, and removes none without a yes', async () => {
  await using folder = await makeFolder()
  await pulledInto(folder, 3)
  await folder.refuses(
    ['pull', 'prune'],
    2,
    /^gone: 3 training-session of ann\nlockstep: this cannot be undone: add --yes .+\n$/,
  )
  assert.equal(await count(folder), SESSIONS)
  const pruned = await folder.succeeds(['pull', 'prune', '--yes'])
  assert.match(pruned.stderr, /removed 3 records/)
  assert.equal(await count(folder), SESSIONS - 3)
  assert.deepEqual(await events(folder), ['source-gone-removed operator'])
  const again = await folder.run(['pull', 'prune', '--yes'])
  assert.deepEqual([again.code, again.stderr], [0, 'nothing is gone at its source\n'])
})

test('more than a tenth of a kind is removed only with --many, and still asks first', async () => {
  await using folder = await makeFolder()
  await pulledInto(folder, 4)
  await folder.refuses(
    ['pull', 'prune', '--yes'],
    2,
    /more than a tenth of the training-session records of ann: add --many/,
  )
  assert.equal((await folder.run(['pull', 'prune', '--many'])).code, 2)
  assert.equal(await count(folder), SESSIONS)
  await folder.succeeds(['pull', 'prune', '--yes', '--many'])
  assert.equal(await count(folder), SESSIONS - 4)
})
