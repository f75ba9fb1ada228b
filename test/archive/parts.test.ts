// engine: sqlite
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from '../../src/vendor/kysely.js'
import { importArchive, ImportError } from '../../src/archive/import.ts'
import { openIntake } from '../../src/archive/intake.ts'
import { watchForKilledImports } from '../../src/archive/unfinished-import.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { open, type Store } from '../../src/store/index.ts'
import { bytesOf, type Line, openStore, totals } from '../support/archives.ts'
import { makeFolder } from '../support/command.ts'
import { everything } from '../support/every-table.ts'
import {
  account,
  lockDevice,
  partnership,
  trainerSegment,
  trainingDevice,
  trainingSession,
  world,
} from '../support/records.ts'
import { until } from '../support/waiting.ts'

// Archives that are too large to be stored in one short transaction.

const before: readonly Line[] = [
  ...world,
  ...sessions(1, 300),
  lockDevice(7, 1),
  { ...trainingDevice(8, 1), extra: { '/old': 1 } },
]

const large: readonly Line[] = [
  // Names change in a circle.
  account(1, 'ben'),
  account(2, 'cas'),
  account(3, 'ann'),
  account(4, 'dee'),
  partnership(4, 1),
  // To another owner, with new extra fields, and as before.
  lockDevice(7, 2),
  { ...trainingDevice(8, 1), extra: { '/new': 2 } },
  ...sessions(1, 100),
  ...sessions(101, 2400, 'Other'),
]

test('a large archive is stored like a small one', async () => {
  await using store = await openStore(before)
  const report = await store.import(large, { onConflict: 'replace' })
  assert.deepEqual(totals(report), { added: 2202, replaced: 204, unchanged: 101, skipped: 0 })
  assert.equal(await lastPart(store.store), 0)
  assert.deepEqual(totals(await store.import(large)), { added: 0, replaced: 0, unchanged: 2507, skipped: 0 })
})

test('of a large archive the records that conflict are skipped, or none is stored, as asked', async () => {
  await using store = await openStore(before)
  const renamed = large.filter(line => !JSON.stringify(line).startsWith('{"kind":"account"'))
  const archive = [...renamed.filter(line => !JSON.stringify(line).includes('"ownerId":4')), account(4, 'dee')]
  const { count } = await store.refuse(archive)
  assert.equal(count, 201)
  const report = await store.import([...archive, partnership(4, 1)], { onConflict: 'skip' })
  assert.deepEqual(totals(report), { added: 2202, replaced: 0, unchanged: 101, skipped: 201 })
})

test('lines of a large archive that cannot be stored are set aside as they came', async () => {
  await using store = await openStore(before)
  const wrong = [trainingSession(9001, 99), trainingSession(9002, 1, { passed: 'yes' })]
  const repeated = trainingSession(5000, 1)
  const report = await store.import([...sessions(2000, 1500), repeated, repeated, ...wrong], { onError: 'set-aside' })
  assert.deepEqual(totals(report), { added: 1501, replaced: 0, unchanged: 1, skipped: 0 })
  assert.equal(report.setAside?.newCount, 2)
  const rows = await store.store.db.selectFrom('set_aside').select('raw').orderBy('record_id').execute()
  assert.deepEqual(
    rows.map(({ raw }) => raw),
    wrong.map(line => JSON.stringify(line)),
  )
  const mended = await store.import([account(99, 'zoe'), wrong[0] ?? '', ...sessions(10_000, 1500)])
  assert.equal(totals(mended).added, 1502)
  assert.equal((await store.store.db.selectFrom('set_aside').select('id').execute()).length, 1)
})

test('an import that is interrupted while it stores leaves everything as it was', async () => {
  await using store = await openStore(before)
  const whole = await stateOf(store.store)
  const controller = new AbortController()
  const reason = new Error('stop')
  const importing = importInto(store.url, large, { onConflict: 'replace', signal: controller.signal })
  await parts(store.store, 2, importing)
  controller.abort(reason)
  await assert.rejects(importing, reason)
  assert.equal(await stateOf(store.store), whole)
})

test('an import that fails at any part leaves everything as it was', async () => {
  await using store = await openStore(before)
  const whole = await stateOf(store.store)
  for (const part of [1, 3, 5]) {
    await sql`create trigger fault after insert on import_part when new.part = ${sql.lit(part)}
      begin select raise(abort, 'no more'); end`.execute(store.store.db)
    await assert.rejects(store.import(large, { onConflict: 'replace' }), /no more/)
    await sql`drop trigger fault`.execute(store.store.db)
    assert.equal(await stateOf(store.store), whole)
  }
})

test('an account that is removed while an archive with its records is stored makes the import fail', async () => {
  await using store = await openStore([...before, account(9, 'zoe')])
  const expected = await store.export()
  const importing = importInto(store.url, [...sessions(3000, 3000), trainingSession(9000, 9)], {})
  await parts(store.store, 1, importing)
  await removeAccount(store.store, 9, Date.now())
  await assert.rejects(importing, (error: unknown) => {
    assert.ok(error instanceof ImportError)
    assert.deepEqual(error.errors[0], {
      line: 3001,
      reason: 'is of an account that was removed here: account add --id allows it to come back',
    })
    return true
  })
  assert.equal(await store.export(), expected.replace(/^.*"zoe".*\n/m, '').replace(/"lines":\d+/, '"lines":306'))
})

test('what is stored of a killed import is undone before anything else is done, or by the running service', async () => {
  await using folder = await makeFolder()
  writeFileSync(folder.file('before.ndjson'), bytesOf(before))
  writeFileSync(folder.file('large.ndjson'), bytesOf([...large, ...sessions(3000, 6000)]))
  assert.equal((await folder.run(['import', 'before.ndjson'])).code, 0)
  await using store = await folder.store()
  const whole = await stateOf(store)
  const { stdout } = await folder.run(['export'])
  const kill = async () => {
    await using importing = folder.start(['import', 'large.ndjson', '--on-conflict', 'replace'])
    // Accounts, access, devices of two kinds, then sessions.
    await parts(store, 6, importing.ended)
    importing.process.kill('SIGKILL')
    await importing.ended
    assert.notEqual(await stateOf(store), whole)
  }
  await kill()
  const stored = await revisionOf(store)
  assert.equal((await folder.run(['export'])).stdout, stdout)
  assert.equal(await stateOf(store), whole)
  assert.ok((await revisionOf(store)) > stored, 'what was shown meanwhile is known to be out of date')
  await kill()
  const closing = new AbortController()
  const watching = watchForKilledImports(store, error => assert.fail(String(error)), closing.signal, 1)
  await until(async () => (await lastPart(store)) === 0)
  closing.abort()
  await watching
  assert.equal(await stateOf(store), whole)
})

test('exports and other records wait until all of an import is stored', async () => {
  await using store = await openStore(before)
  const importing = importInto(store.url, large, { onConflict: 'replace' })
  await parts(store.store, 1, importing)
  const intake = openIntake(store.store, { source: 'test', accounts: [1] })
  const exporting = store.export()
  const batch = await intake.storeBatch([
    { kind: 'training-session', data: trainingSession(2400, 1).data, envelope: { ownerId: 1 } },
  ])
  await intake.close()
  await importing
  // If it had not waited, it would have added the record.
  assert.deepEqual(batch.outcomes, ['replaced'])
  assert.ok((await exporting).endsWith('"lines":2508}}\n'))
})

test('other writers have their turn between the parts of an import', async () => {
  await using folder = await makeFolder()
  await using store = await folder.store()
  writeFileSync(folder.file('large.ndjson'), bytesOf([account(1, 'ann'), ...sessions(1, 8000)]))
  await using importing = folder.start(['import', 'large.ndjson'])
  await parts(store, 1, importing.ended)
  let part = 0
  let turns = 0
  for (; importing.process.exitCode === null; turns += 1) {
    await store.db
      .insertInto('note')
      .values({ name: `turn ${turns}`, value: '' })
      .execute()
    part = Math.max(part, await lastPart(store))
    await sleep(1)
  }
  assert.equal((await importing.ended).code, 0)
  assert.ok(part > 4, `${part} parts`)
  assert.ok(turns >= part / 2, `${turns} turns in ${part} parts`)
})

function sessions(from: number, count: number, name = 'Session') {
  return Array.from({ length: count }, (_, index) =>
    trainingSession(from + index, 1, { name, TrainerSegment: [trainerSegment(from + index, {})] }),
  )
}

/** Everything in a store, but how often records of an account have changed. */
async function stateOf(store: Store): Promise<string> {
  return JSON.stringify(await everything(store)).replaceAll(/\[\\"\w+_revision\\",\d+\]/g, '')
}

async function revisionOf({ db }: Store): Promise<number> {
  const { training_session_revision: revision } = await db
    .selectFrom('account')
    .select('training_session_revision')
    .where('id', '=', 1)
    .executeTakeFirstOrThrow()
  return revision
}

/** On a connection of its own, as another process would. */
async function importInto(url: string, lines: readonly Line[], options: Parameters<typeof importArchive>[2]) {
  const store = await open(url, { busyTimeoutMs: 60_000 })
  try {
    return await importArchive(store, Readable.from([bytesOf(lines)]), options)
  } finally {
    await store.close()
  }
}

async function lastPart({ db }: Store): Promise<number> {
  const { part } = await db
    .selectFrom('import_part')
    .select(({ fn }) => fn.max<number | null>('part').as('part'))
    .executeTakeFirstOrThrow()
  return part ?? 0
}

/** Waits until so many parts of an import are stored. */
async function parts(store: Store, count: number, importing: Promise<unknown>) {
  let ended = false
  const end = () => (ended = true)
  importing.then(end, end)
  while ((await lastPart(store)) < count) {
    assert.equal(ended, false, 'the import has ended')
    await sleep(2)
  }
}
