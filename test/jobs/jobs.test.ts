// engine: both
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkJob, holdJob } from '../../src/jobs/jobs.ts'
import { openStore } from '../support/archives.ts'
import { endLeases } from '../support/jobs.ts'

const NAMED = /since \d{4}-\S+Z by (one|another) \(process \d+ on .+\)/

test('one process has a job, and the next can have it as soon as that one releases it', async () => {
  await using here = await openStore()
  const { store } = here
  const hold = (by: string) => holdJob(store, { name: 'work', by, running: 'the work' })
  const first = await hold('one')
  await assert.rejects(hold('another'), { message: /^the work is running since / })
  await first[Symbol.asyncDispose]()
  for (let turn = 0; turn < 5; turn += 1) await (await hold('another'))[Symbol.asyncDispose]()
})

test('a process that stands still writes nothing after another has taken over', async () => {
  await using here = await openStore()
  const { store } = here
  const hold = (by: string) => holdJob(store, { name: 'work', by, running: 'the work' })
  const write = (held: Awaited<ReturnType<typeof holdJob>>) =>
    store.db.transaction().execute(async db => {
      await checkJob(store.engine, db, held)
      const note = db.insertInto('note').values({ name: held.holder, value: 'written' })
      await note.onConflict(conflict => conflict.doNothing()).execute()
    })
  await using ending = new AsyncDisposableStack()
  const first = ending.use(await hold('one'))
  await write(first)
  await endLeases(store)
  const second = ending.use(await hold('another'))
  await assert.rejects(write(first), { message: NAMED })
  await write(second)
  await first[Symbol.asyncDispose]()
  await write(second)
  const notes = await store.db.selectFrom('note').select('name').where('value', '=', 'written').execute()
  assert.deepEqual(new Set(notes.map(({ name }) => name)), new Set([first.holder, second.holder]))
})
