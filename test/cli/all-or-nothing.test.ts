// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { open, type Store } from '../../src/store/index.ts'
import { run } from '../support/command.ts'
import { newDatabase } from '../support/databases.ts'
import { account, lockSession, partnership, trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { addGoneSession, addKnownSource } from '../support/sources/pulls.ts'
import { assertWholeOrNothing } from '../support/stopped-writes.ts'

// If one statement of a command fails, nothing of the command is stored. Others are in the tests of forms and of faults.

interface Command {
  readonly args: readonly string[]
  /** What is done before, beside the accounts Ann, Ben and Cas. */
  readonly before?: (store: Store) => Promise<unknown>
}

const commands: readonly Command[] = [
  { args: ['account', 'set-tier', '--account', 'ann', '--tier', 'founder', '--until', '9990-01-01'] },
  { args: ['rejected', 'retry'], before: setAside },
  { args: ['pull', 'prune', '--yes', '--many'], before: goneAtSource },
]

for (const command of commands) {
  // Deleted bytes are erased afterwards.
  test(`what ${command.args.join(' ')} writes is stored whole or not at all`, () =>
    assertWholeOrNothing(
      () => prepared(command),
      command.args.includes('--yes') ? ['update on "job"', 'delete on "job"'] : [],
    ))
}

async function prepared({ args, before }: Command) {
  const database = await newDatabase()
  const store = await open(database.url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf([...world, trainingSession(1, 1), lockSession(2, 1)]))
  await before?.(store)
  await store.close()
  return {
    databaseUrl: database.url,
    async attempt() {
      const { code, stderr } = await run([...args, '--database', database.url])
      if (code !== 0) assert.match(stderr, /stopped/)
      return code === 0
    },
    [Symbol.asyncDispose]: () => database.remove(),
  }
}

/** A session of an account that is added later is rejected. */
async function setAside(store: Store) {
  await importArchive(store, archiveOf([trainingSession(3, 9), partnership(1, 9)]), { onError: 'set-aside' })
  await importArchive(store, archiveOf([account(9, 'eve')]))
}

/** Another server had the training session, and no longer has it. */
async function goneAtSource(store: Store) {
  await addGoneSession(store, await addKnownSource(store), 1)
}
