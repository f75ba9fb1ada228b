// engine: sqlite
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { beginSessionIn } from '../../src/accounts/browser-sessions.ts'
import { createInvitation } from '../../src/accounts/invitations.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { writeBackup } from '../../src/backup/create.ts'
import { open, type Store } from '../../src/store/index.ts'
import { run } from '../support/command.ts'
import { PASSWORD } from '../support/dashboard.ts'
import { newDatabase } from '../support/databases.ts'
import { fillEveryTable } from '../support/every-table.ts'
import { account, lockSession, partnership, trainingSession, world } from '../support/records.ts'
import { archiveOf, inBrowser } from '../support/service.ts'
import { addGoneSession, addKnownSource } from '../support/sources/pulls.ts'
import { assertWholeOrNothing } from '../support/stopped-writes.ts'

// If one statement of a command fails, nothing of the command is stored. Those that do the same acts as forms are tested there.

interface Command {
  readonly args: readonly string[]
  readonly input?: string
  /** What is done before, beside the accounts Ann, Ben and Cas. */
  readonly before?: (store: Store, file: string) => Promise<unknown>
}

const later = [account(9, 'eve'), partnership(9, 1), trainingSession(90, 9), lockSession(91, 9)]

const commands: readonly Command[] = [
  {
    args: ['account', 'add', '--username', 'zoe', '--id', '7'],
    before: ({ db }) => db.insertInto('removed_account').values({ id: 7, removed_at: 1 }).execute(),
  },
  { args: ['account', 'set-tier', '--account', 'ann', '--tier', 'founder', '--until', '9990-01-01'] },
  { args: ['account', 'remove', '--account', 'ann', '--yes'], before: signedIn },
  { args: ['import', '-'], input: later.map(line => JSON.stringify(line)).join('\n') },
  { args: ['rejected', 'retry'], before: setAside },
  {
    args: ['imports', 'undo', '1', '--account', 'ann', '--yes'],
    before: store =>
      importArchive(store, archiveOf([trainingSession(3, 1), lockSession(4, 1)]), { file: 'evening.csv' }),
  },
  { args: ['pull', 'prune', '--yes', '--many'], before: goneAtSource },
  { args: ['restore', 'FILE', '--force'], before: backUp },
]

for (const command of commands) {
  // Deleted bytes are erased afterwards.
  test(`what ${command.args.join(' ')} writes is stored whole or not at all`, () =>
    assertWholeOrNothing(
      () => prepared(command),
      command.args.includes('--yes') ? ['update on "job"', 'delete on "job"'] : [],
    ))
}

async function prepared({ args, input = '', before }: Command) {
  const database = await newDatabase()
  const file = join(dirname(database.url.slice('sqlite:'.length)), 'file')
  const store = await open(database.url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf([...world, trainingSession(1, 1), lockSession(2, 1)]))
  await before?.(store, file)
  await store.close()
  const words = args.map(word => (word === 'FILE' ? file : word))
  return {
    databaseUrl: database.url,
    async attempt() {
      const { code, stderr } = await run([...words, '--database', database.url], { input })
      if (code !== 0) assert.match(stderr, /stopped/)
      return code === 0
    },
    [Symbol.asyncDispose]: () => database.remove(),
  }
}

/** Ann is signed in, and has an invitation that was not used. */
async function signedIn(store: Store) {
  const now = Date.now()
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  await store.db
    .transaction()
    .execute(db =>
      beginSessionIn(db, { accountId: 1, browser: '', actor: inBrowser, now, event: 'signed-in-password' }),
    )
  await createInvitation(store, { accountId: 1 }, now)
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

/** Writes a backup of other records. */
async function backUp(_: Store, file: string) {
  const database = await newDatabase()
  const other = await open(database.url, { busyTimeoutMs: 5000 })
  await fillEveryTable(other)
  await writeBackup(other, file, { databaseUrl: database.url })
  await other.close()
  await database.remove()
}
