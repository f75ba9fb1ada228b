// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Store } from '../../../src/store/index.ts'
import { importFile, openStore, readFileOf, type TestStore } from '../../support/archives.ts'
import { lockSession, trainingSession, trainingTemplate, world } from '../../support/records.ts'

const options = { account: 1, timeZone: 'Europe/Berlin', onConflict: 'replace' } as const

interface Session {
  readonly kind: string
  readonly data: Readonly<Record<string, unknown>> & { readonly id: number }
  readonly ownerId?: number
  readonly madeHere?: { readonly minute: string; readonly program?: string }
}

async function sessionsOf(store: TestStore): Promise<Session[]> {
  const lines = (await store.export()).trimEnd().split('\n')
  return lines.map(line => JSON.parse(line) as Session).filter(({ kind }) => kind.endsWith('-session'))
}

/** What becomes of the rows of a table: how many are new, changed and the same, or why which lines are refused. */
async function bring(store: TestStore, table: string, chosen: object = {}) {
  const { kinds, setAside } = await importFile(store, table, { ...options, onError: 'set-aside', ...chosen })
  const {
    added = 0,
    replaced = 0,
    unchanged = 0,
  } = kinds.find(kind => kind.added + kind.replaced + kind.unchanged > 0) ?? {}
  const refused = setAside?.rows.map(({ line, reason }) => [line, reason]) ?? []
  return refused.length === 0 ? [added, replaced, unchanged] : refused
}

const HEADER = 'Recorded,Program,Passed,Grade,Repetitions\n'

test('a corrected row changes its session, whether it has the number or the minute, and no other session', async () => {
  await using store = await openStore(world)
  assert.deepEqual(await bring(store, `${HEADER}2026-02-16 18:00,,yes,80,12\n2026-02-17 18:00,,yes,70,13\n`), [2, 0, 0])
  const [first, second] = await sessionsOf(store)
  assert.deepEqual([first?.data.id, second?.data.id], [900_000_000, 900_000_001])
  assert.deepEqual(first?.madeHere, { minute: '2026-02-16T18:00' })

  assert.deepEqual(
    await bring(store, `${HEADER}16.02.2026 18:00:00,,yes,85,12\n2026-02-17T18:00,,yes,70,13\n`),
    [0, 1, 1],
  )
  const moved = `Number,Recorded,Passed\n${second?.data.id},2026-02-18 19:30,no\n`
  assert.deepEqual(await bring(store, moved), [0, 1, 0])
  const [corrected, other] = await sessionsOf(store)
  const segment = { id: 1, type: 'freeform', points: 0, durationMeasured: 0, durationTarget: 0, repsTarget: 0 }
  assert.deepEqual(corrected?.data['TrainerSegment'], [
    { ...segment, passed: true, percentGrade: 85, repsMeasured: 12 },
  ])
  assert.deepEqual(other?.data['created_at'], '2026-02-18T18:30:00Z')
  assert.deepEqual(other?.data['TrainerSegment'], [{ ...segment, passed: false, percentGrade: 70, repsMeasured: 13 }])
  assert.deepEqual(other?.madeHere, { minute: '2026-02-18T19:30' })
})

test('a column that is not there leaves a value, and an empty cell empties it', async () => {
  await using store = await openStore(world)
  await bring(store, `${HEADER}2026-02-16 18:00,Evening,yes,80,12\n`)
  assert.deepEqual(await bring(store, 'Recorded,Passed,Repetitions\n2026-02-16 18:00,yes,\n'), [0, 1, 0])
  const [session] = await sessionsOf(store)
  assert.match(JSON.stringify(session), /"percentGrade":80,.*"repsMeasured":0,.*"program":"Evening"/)
  assert.deepEqual(await bring(store, `${HEADER}2026-02-16 18:00,,yes,,0\n`), [0, 1, 0])
  const [emptied] = await sessionsOf(store)
  assert.deepEqual(emptied?.madeHere, { minute: '2026-02-16T18:00' })
  assert.match(JSON.stringify(emptied), /"extra":\{"\/TrainerSegment\/0\/percentGrade":null\}/)
})

test('with another time zone, the same rows are the same sessions at other times', async () => {
  await using store = await openStore(world)
  const table = `${HEADER}2026-02-16 18:00,,yes,80,12\n2026-02-16 19:00,,yes,80,12\n`
  await bring(store, table)
  assert.deepEqual(await bring(store, table, { timeZone: 'UTC' }), [0, 2, 0])
  const [session, other] = await sessionsOf(store)
  assert.deepEqual(
    [session?.data['created_at'], other?.data['created_at']],
    ['2026-02-16T18:00:00Z', '2026-02-16T19:00:00Z'],
  )
})

test('a session that no table made is compared and stays, whatever a row says of it', async () => {
  const own = trainingSession(7, 1, { settings_id: 41 })
  await using store = await openStore([...world, trainingTemplate(41, 1, { name: 'Basics' }), own])
  const before = await store.export()
  const rows: readonly (readonly [table: string, differs: boolean])[] = [
    ['Number,Recorded,Passed,Grade,Program\n7,2026-02-16T18:00:00Z,yes,80, basics\n', false],
    ['Number,Recorded,Passed,Grade,Program\n7,2026-02-16T18:00:00Z,yes,81,Basics\n', true],
    ['Recorded,Passed,Grade\n2026-02-16 19:00,yes,80\n', false],
    ['Recorded,Passed,Grade\n2026-02-16 19:00,no,80\n', true],
    // It would be refused in a row of its own.
    ['Recorded,Passed,Grade\n2026-02-16 19:00,yes,-4000\n', true],
  ]
  for (const [table, differs] of rows) {
    assert.deepEqual(await bring(store, table), [0, 0, 1], table)
    const { found } = await readFileOf(table, options, store)
    assert.deepEqual(found.differing, differs ? [2] : [], table)
  }
  assert.equal(await store.export(), before)
})

test('a row whose record is not clear is refused, and says which ones may be meant', async () => {
  const at = { created_at: '2026-02-16T17:00:10Z' }
  await using store = await openStore([
    ...world,
    trainingSession(7, 1, at),
    trainingSession(8, 1, at),
    trainingSession(9, 2),
  ])
  const before = await store.export()
  const unknown = 'Number matches no record here: leave it empty to import the row as a new record'
  const same = (line: number) => `begins in the same minute as line ${line}: one of them must be changed or removed`
  assert.deepEqual(await bring(store, 'Number,Recorded,Passed\n9,2026-02-16 18:00,yes\n10,2026-02-17 18:00,yes\n'), [
    [2, unknown],
    [3, unknown],
  ])
  assert.deepEqual(
    await bring(store, 'Recorded,Passed\n2026-02-16 18:00,yes\n2026-02-17 18:00,yes\n17.02.2026 18:00,no\n'),
    [
      [2, 'begins in the minute of several records: write the Number of one of them, 7, 8'],
      [3, same(4)],
      [4, same(3)],
    ],
  )
  assert.equal(await store.export(), before)
})

test('numbers given here skip those that are stored, are never given again, and are the same in every copy', async () => {
  await using store = await openStore([...world, trainingSession(900_000_002, 2)])
  const rows = (day: number) => `${HEADER}2026-02-${day} 18:00,,yes,,\n2026-02-${day} 19:00,,yes,,\n`
  const idsOf = async (owner: number) =>
    (await sessionsOf(store)).filter(({ ownerId }) => ownerId === owner).map(({ data }) => data.id)
  const start = Number((await bring(store, rows(10)), await idsOf(1))[0])
  await bring(store, rows(11), { account: 2 })
  const given = [...(await idsOf(1)), ...(await idsOf(2))].filter(id => id !== 900_000_002)
  assert.equal(new Set(given).size, 4)
  assert.ok(given.every(id => id >= 900_000_000 && id < 1e9 && id !== 900_000_002))
  await store.store.db.deleteFrom('training_session').where('owner_id', '=', 1).execute()
  await bring(store, rows(12))
  for (const id of await idsOf(1)) assert.ok(id > Math.max(start, ...given), `${id} was not given before`)

  await using copy = await openStore(Buffer.from(await store.export()))
  assert.equal(await copy.export(), await store.export())
})

test('a record of a server or an archive never replaces one that was made here', async () => {
  await using store = await openStore(world)
  await bring(store, `${HEADER}2026-02-16 18:00,,yes,80,12\n`)
  const before = await store.export()
  const [session] = await sessionsOf(store)
  const { setAside } = await store.import([trainingSession(session?.data.id ?? 0, 1)], {
    onError: 'set-aside',
    onConflict: 'replace',
  })
  assert.deepEqual(
    setAside?.rows.map(({ reason }) => reason),
    ['a record that was made here has this number'],
  )
  assert.equal(await store.export(), before)
})

test('a table whose records others change while it is read is not stored', async () => {
  await using store = await openStore(world)
  const changed: Store = {
    ...store.store,
    async locked(db, work) {
      await db.updateTable('account').set({ training_session_revision: 5 }).where('id', '=', 1).execute()
      return store.store.locked(db, work)
    },
  }
  const before = await store.export()
  await assert.rejects(importFile({ store: changed }, `${HEADER}2026-02-16 18:00,,yes,80,12\n`, options), {
    message: 'records of the account have changed while the file was read: bring it again',
  })
  assert.equal(await store.export(), before)
})

test('a lock keeps its breaks and its number when its end comes later', async () => {
  await using store = await openStore(world)
  const first = 'Started,Ended,Break 1 from,Break 1 to\n2026-02-16 18:00,,2026-02-16 20:00,2026-02-16 20:30\n'
  assert.deepEqual(await bring(store, first), [1, 0, 0])
  assert.deepEqual(await bring(store, first), [0, 0, 1])
  assert.deepEqual(await bring(store, 'Name,Started,Ended\nWeekend,2026-02-16 18:00,2026-02-16 22:00\n'), [0, 1, 0])
  const [lock] = await sessionsOf(store)
  assert.deepEqual(
    [lock?.data['name'], lock?.data['lockState'], lock?.data['endDate']],
    ['Weekend', 'completed', '2026-02-16T21:00:00Z'],
  )
  assert.match(JSON.stringify(lock), /"type":"break".*"type":"locked".*"type":"unlocked"/)
})

test('a lock that cannot have been beside the stored ones is refused, and both are named', async () => {
  const lock = (id: number, startDate: string, endDate: string | null) =>
    lockSession(id, 1, {
      startDate,
      endDate,
      isActive: endDate === null,
      lockState: endDate === null ? 'locked' : 'completed',
      LockSegment: [],
    })
  await using store = await openStore([
    ...world,
    lock(5, '2026-02-01T12:00:00Z', '2026-02-02T12:00:00Z'),
    lock(6, '2026-02-20T12:00:00Z', null),
  ])
  const before = await store.export()
  assert.deepEqual(
    await bring(
      store,
      [
        'Started,Ended',
        '2026-02-02 11:00,2026-02-02 15:00',
        '2026-02-10 11:00,',
        '2026-02-21 11:00,2026-02-21 12:00',
        '2026-02-05 11:00,2026-02-05 12:00',
      ].join('\n'),
    ),
    [
      [2, 'must not overlap the stored lock 5'],
      [3, 'Ended is missing: only the newest lock may lack it, and the stored lock 6 is newer'],
      [4, 'begins while the stored lock 6 runs: bring its end first'],
    ],
  )
  assert.equal((await sessionsOf(store)).length, before.split('-session"').length)
})

test('many new sessions the same time beside stored ones make the preview ask for their zone', async () => {
  const days = [10, 11, 12, 13]
  await using store = await openStore([
    ...world,
    ...days.map(day => trainingSession(day, 1, { created_at: `2026-02-${day}T18:00:00Z` })),
  ])
  const table = HEADER + days.map(day => `2026-02-${day} 18:00,,yes,,\n`).join('')
  const offsetIn = async (timeZone: string) => (await readFileOf(table, { ...options, timeZone }, store)).found.offset
  assert.deepEqual(await offsetIn('Europe/Berlin'), { minutes: -60, count: 4 })
  assert.equal(await offsetIn('UTC'), undefined)
})
