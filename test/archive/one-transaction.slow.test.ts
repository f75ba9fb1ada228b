// engine: both
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { importArchive, ImportError } from '../../src/archive/import.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { setTier } from '../../src/accounts/accounts.ts'
import { endAccess } from '../../src/accounts/shared-access.ts'
import { open, type Store } from '../../src/store/index.ts'
import { bytesOf, type Line, openStore, totals, parseLines } from '../support/archives.ts'
import { type Folder, makeFolder } from '../support/command.ts'
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

// Archives of more records than one statement takes.

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

test('lines of a large archive that cannot be stored are rejected as they came', async () => {
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

test('an import that fails at any record, or is interrupted while it stores, leaves everything as it was', async () => {
  await using store = await openStore(before)
  const whole = await digestOf(store.store)
  for (const id of [101, 1500, 2500]) {
    await refuseSession(store.store, id)
    await assert.rejects(store.import(large, { onConflict: 'replace' }), /refused/)
    await allowSessions(store.store)
    assert.equal(await digestOf(store.store), whole)
  }
  const reason = new Error('stop')
  const controller = new AbortController()
  // When all lines are checked.
  const progress = (bytes: number | undefined) => {
    if (bytes === undefined) setImmediate(() => controller.abort(reason))
  }
  await assert.rejects(store.import(large, { onConflict: 'replace', signal: controller.signal, progress }), reason)
  assert.equal(await digestOf(store.store), whole)
})

test('an account that is removed while an archive with its records is checked makes the import fail', async () => {
  await using store = await openStore([...before, account(9, 'zoe')])
  const other = await open(store.url, { busyTimeoutMs: 60_000 })
  const lines = async function* () {
    yield bytesOf([...sessions(3000, 3000), trainingSession(9000, 9)])
    await removeAccount(other, 9, Date.now())
  }
  await assert.rejects(importArchive(store.store, lines()), (error: unknown) => {
    assert.ok(error instanceof ImportError)
    assert.deepEqual(error.errors[0], {
      line: 3001,
      reason: 'is of an account that was removed here: account add --id allows it to come back',
    })
    return true
  })
  await other.close()
  assert.equal((await store.store.db.selectFrom('training_session').select('id').execute()).length, 300)
})

test('readers see all of an import or nothing', async () => {
  await using store = await openStore(before)
  const counts = new Set<number>()
  const reader = await open(store.url, { busyTimeoutMs: 60_000 })
  const importing = importArchive(store.store, Readable.from([bytesOf(large)]), { onConflict: 'replace' })
  const ended = Symbol('ended')
  const state = importing.then(() => ended)
  do {
    const { count } = await reader.reads
      .selectFrom('training_session')
      .select(({ fn }) => fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow()
    counts.add(count)
  } while ((await Promise.race([state, sleep(1)])) !== ended)
  await reader.close()
  for (const count of counts) assert.ok(count === 300 || count === 2500, `${count} sessions`)
})

test('a killed import leaves nothing, and what others changed meanwhile stays', async () => {
  await using folder = await makeFolder()
  writeFileSync(folder.file('before.ndjson'), bytesOf([...before, partnership(1, 2)]))
  const renamed = [account(1, 'anna'), account(2, 'benno'), partnership(1, 2)]
  writeFileSync(folder.file('large.ndjson'), bytesOf([...renamed, ...sessions(3000, 20_000)]))
  await folder.succeeds(['import', 'before.ndjson'])
  await using store = await folder.store()
  {
    await using importing = folder.start(['import', 'large.ndjson', '--on-conflict', 'replace'])
    while (!(await isStoring(folder, store))) {
      assert.equal(importing.process.exitCode, null)
      // On SQLite nothing else waits here, and the end of the process would never be noticed.
      await immediate()
    }
    importing.process.kill('SIGSTOP')
    assert.ok(await isStoring(folder, store))
    const changing = change(store)
    await Promise.race([changing, sleep(100)])
    importing.process.kill('SIGKILL')
    await Promise.all([changing, importing.ended])
  }
  const { stdout } = await folder.run(['export'])
  const lines = parseLines(stdout)
  const ann = lines.find(({ kind, data }) => kind === 'account' && data.id === 1)
  assert.deepEqual([ann.data.username, ann.data.subscriptionTier], ['ann', 'pioneer'])
  const access = lines.find(({ kind, data }) => kind === 'partnership' && data.ownerId === 1 && data.partnerId === 2)
  assert.equal(typeof access.data.endedAt, 'string')
  assert.equal(lines.filter(({ kind }) => kind === 'training-session').length, 300)
})

function sessions(from: number, count: number, name = 'Session') {
  return Array.from({ length: count }, (_, index) =>
    trainingSession(from + index, 1, { name, TrainerSegment: [trainerSegment(from + index, {})] }),
  )
}

/** Of everything in a store. */
async function digestOf(store: Store): Promise<string> {
  const tables = Object.entries(await everything(store)).toSorted(([a], [b]) => a.localeCompare(b))
  return hash('sha256', JSON.stringify(tables))
}

/** Changes a tier and ends access, as an operator and an owner would. */
async function change(store: Store) {
  await setTier(store, 1, 'pioneer', null)
  await endAccess(store, { ownerId: 1, partnerId: 2 }, Date.now())
}

/** Whether an import holds the lock for what it has checked. */
async function isStoring(folder: Folder, { db, engine }: Store): Promise<boolean> {
  if (engine === 'postgres') {
    const { rows } = await sql`select 1 from pg_locks where locktype = 'advisory' and database =
      (select oid from pg_database where datname = current_database())`.execute(db)
    return rows.length > 0
  }
  using other = new DatabaseSync(folder.file('data/lockstep.db'), { timeout: 0 })
  try {
    other.exec('begin immediate; rollback')
    return false
  } catch {
    return true
  }
}

async function refuseSession({ db, engine }: Store, id: number) {
  await (
    engine === 'postgres'
      ? sql`alter table training_session add constraint refused check (id <> ${sql.lit(id)} or owner_id <> 1) not valid`
      : sql`create trigger refused before insert on training_session when new.id = ${sql.lit(id)} and new.document like '%Other%'
        begin select raise(abort, 'refused'); end`
  ).execute(db)
}

async function allowSessions({ db, engine }: Store) {
  await (
    engine === 'postgres' ? sql`alter table training_session drop constraint refused` : sql`drop trigger refused`
  ).execute(db)
}
