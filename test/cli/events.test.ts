// engine: sqlite
import assert from 'node:assert/strict'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { type EventType, listEvents } from '../../src/accounts/events.ts'
import { createKey } from '../../src/accounts/api-keys.ts'
import { writeBackup } from '../../src/backup/create.ts'
import { importArchive } from '../../src/archive/import.ts'
import { defaultScopes } from '../../src/contract/endpoint.ts'
import { open, type Store } from '../../src/store/index.ts'
import { giveAccess } from '../support/sharing.ts'
import { run } from '../support/command.ts'
import { PASSWORD } from '../support/dashboard.ts'
import { newDatabase } from '../support/databases.ts'
import { readHelps } from '../support/helps.ts'
import { account, partnership, trainingSession, world } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'

// Every command that concerns the safety of an account leaves exactly one event, by the operator.

interface Leaving {
  readonly command: string
  readonly args: readonly string[]
  readonly input?: string
  readonly before?: (store: Store, file: string) => Promise<unknown>
  readonly leaves: EventType
  readonly about?: string
}

const pair = ['--owner', 'ann', '--partner', 'cas']
const withKey = (store: Store) =>
  createKey(store, { accountId: 1, name: 'Script', scopes: defaultScopes, expiresAt: null }, Date.now())
const withSession = (store: Store) => importArchive(store, archiveOf([trainingSession(61, 1)]))
const withAccess = (store: Store) => giveAccess(store, { ownerId: 1, partnerId: 3 })

const leaving: readonly Leaving[] = [
  { command: 'account set-password', args: ['--account', 'ann'], input: `${PASSWORD}\n`, leaves: 'password-set' },
  { command: 'account invite', args: ['--account', 'ann'], leaves: 'invitation-made' },
  { command: 'access add', args: pair, leaves: 'access-given', about: 'cas' },
  {
    command: 'access add',
    args: [...pair, '--area', 'dtt', '--again'],
    before: withAccess,
    leaves: 'access-narrowed',
    about: 'cas',
  },
  { command: 'access remove', args: pair, before: withAccess, leaves: 'access-ended', about: 'cas' },
  {
    command: 'import',
    args: ['-'],
    input: JSON.stringify(partnership(1, 3)),
    leaves: 'access-given',
    about: 'cas',
  },
  {
    command: 'rejected retry',
    args: [],
    before: async store => {
      await importArchive(store, archiveOf([partnership(1, 9)]), { onError: 'set-aside' })
      await importArchive(store, archiveOf([account(9, 'eve')]))
    },
    leaves: 'access-given',
    about: 'eve',
  },
  { command: 'key create', args: ['--account', 'ann', '--name', 'Script'], leaves: 'key-created', about: 'Script' },
  { command: 'key revoke', args: ['1'], before: withKey, leaves: 'key-revoked', about: 'Script' },
  {
    command: 'restore',
    args: ['FILE', '--force', '--revoke-keys'],
    before: async (store, file) => {
      await withKey(store)
      await writeBackup(store, file, { databaseUrl: `sqlite:${file}` })
    },
    leaves: 'key-revoked',
    about: 'Script',
  },
  {
    command: 'record remove',
    args: ['training-session', '61', '--account', 'ann', '--yes'],
    before: withSession,
    leaves: 'record-deleted',
    about: 'training-session 61',
  },
  {
    command: 'record allow',
    args: ['training-session', '61', '--account', 'ann'],
    before: async store => {
      await withSession(store)
      const values = { owner_id: 1, kind: 'training-session', id: 61, at: null, deleted_at: 0 }
      await store.db.insertInto('deleted_record').values(values).execute()
    },
    leaves: 'record-allowed',
    about: 'training-session 61',
  },
  {
    command: 'imports undo',
    args: ['1', '--account', 'ann', '--yes'],
    before: store => importArchive(store, archiveOf([trainingSession(61, 1)]), { file: 'evening.csv' }),
    leaves: 'file-undone',
  },
  { command: 'export', args: ['--account', 'ann'], leaves: 'exported' },
  { command: 'page', args: ['--account', 'ann'], leaves: 'exported' },
]

/** Commands that leave nothing, and why. */
const others: Readonly<Record<string, string>> = {
  serve: 'what its pages leave is tested with them',
  demo: 'its accounts are samples; its key is created as by `key create`',
  migrate: 'changes no account',
  'account add': 'the account begins with it',
  'account list': 'reads',
  'account set-tier': 'decides what an account may use, and opens it to nobody',
  'account remove': 'removes the events too',
  'access list': 'reads',
  'access reads': 'reads',
  'key list': 'reads',
  'backup check': 'reads',
  backup: 'copies everything, as those who can run it can do without it',
  move: 'copies everything, as those who can run it can do without it',
  mcp: 'reads with an API key',
  'homeassistant entities': 'reads with an API key',
  'homeassistant history': 'reads with an API key',
  doctor: 'reads',
  completion: 'prints a script',
  pull: 'gives access as imports do, and ends only what it gave',
  'pull status': 'reads',
  'pull prune': 'removes records',
  'imports list': 'reads',
  'record list': 'reads',
  'rejected list': 'reads',
  'rejected show': 'reads',
}

for (const { command, args, input = '', before, leaves, about = '' } of leaving) {
  test(`${command} ${args.join(' ')} leaves one event, by the operator`, async () => {
    const database = await newDatabase()
    const file = join(dirname(database.url.slice('sqlite:'.length)), 'file')
    const store = await open(database.url, { busyTimeoutMs: 5000 })
    await importArchive(store, archiveOf(world))
    await before?.(store, file)
    const earlier = (await listEvents(store, 1, { limit: 100 })).map(({ id }) => id)
    await store.close()
    const words = [...command.split(' '), ...args.map(word => (word === 'FILE' ? file : word))]
    const { code, stderr } = await run([...words, '--database', database.url], { input })
    assert.equal(code, 0, stderr)

    const after = await open(database.url, { busyTimeoutMs: 5000 })
    const added = (await listEvents(after, 1, { limit: 100 })).filter(({ id }) => !earlier.includes(id))
    await after.close()
    assert.deepEqual(
      added.map(({ kind, actor, subject, network, browser, times }) => [kind, actor, subject, network, browser, times]),
      [[leaves, 'operator', about, '', '', 1]],
    )
    await database.remove()
  })
}

test('a command that changes nothing leaves no event', async () => {
  const database = await newDatabase()
  const store = await open(database.url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf(world))
  await withKey(store)
  const command = (...words: readonly string[]) => run([...words, '--database', database.url])
  const unchanged = [
    ['access', 'add', '--owner', 'ann', '--partner', 'ben'],
    ['key', 'revoke', '1'],
  ]
  assert.equal((await command('key', 'revoke', '1')).code, 0)
  const before = await listEvents(store, 1, { limit: 100 })
  for (const words of unchanged) assert.equal((await command(...words)).code, 0)
  await importArchive(store, archiveOf([partnership(1, 2)]))
  assert.deepEqual(await listEvents(store, 1, { limit: 100 }), before)
  await store.close()
  await database.remove()
})

test('every command that writes has its row in these tests', async () => {
  const all = [...(await readHelps())].filter(([, help]) => !help.includes('\nCommands:\n')).map(([command]) => command)
  const considered = new Set([...Object.keys(others), ...leaving.map(({ command }) => command)])
  const forgotten = all.filter(command => !considered.has(command))
  assert.deepEqual(forgotten, [])
})
