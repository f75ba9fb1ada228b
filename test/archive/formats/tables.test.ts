// engine: sqlite
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { csvLine } from '../../../src/archive/formats/csv.ts'
import { templates } from '../../../src/archive/formats/tables.ts'
import type { LockSession } from '../../../src/contract/lock-sessions.ts'
import type { TrainingSession } from '../../../src/contract/training-sessions.ts'
import { importFile, openStore, readFileOf } from '../../support/archives.ts'
import { sampleService, visitor } from '../../support/dashboard.ts'
import { world } from '../../support/records.ts'
import { unlimited } from '../../support/service.ts'

const table = (...rows: readonly (readonly string[])[]) => rows.map(csvLine).join('')
const lockTable = (...rows: readonly (readonly string[])[]) => table(templates.locks, ...rows)
const trainingTable = (...rows: readonly (readonly string[])[]) => table(templates.training, ...rows)

/** The records of an account, by their kind. */
function recordsOf<Data>(archive: string, kind: string): (Data & { readonly owner: number })[] {
  return archive
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as { kind: string; data: Data & { ownerId?: number }; ownerId?: number })
    .filter(line => line.kind === kind)
    .map(({ data, ownerId }) => ({ ...data, owner: data.ownerId ?? ownerId ?? 0 }))
}

test('the CSV files of the pages say of every record what is stored', async () => {
  await using service = await sampleService(unlimited)
  const alex = visitor(service.url)
  await alex.signIn('alex')
  for (const discreet of ['0', '1']) {
    await alex.post('/display', { discreet })
    const training = (await alex.get('/training.csv?range=all')).text
    const locks = (await alex.get('/locks.csv?range=all')).text
    for (const file of [training, locks]) {
      const { kinds } = await importFile(service, file, { account: 1, onConflict: 'replace' })
      assert.ok(kinds.every(({ added, replaced }) => added + replaced === 0))
      const { found } = await readFileOf(file, { account: 1 }, service)
      assert.deepEqual(found.differing, [])
    }
  }
  const { found } = await readFileOf((await alex.get('/training.csv?range=all')).text, { account: 1 }, service)
  assert.deepEqual([found.notRead.map(({ title }) => title), found.converted.size], [['Segments'], 0])
})

test('sessions that somebody filled in are stored with their results, events and breaks, in the zone of the account', async () => {
  await using store = await openStore(world)
  const options = { account: 1, timeZone: 'Europe/Berlin' }
  await importFile(
    store,
    trainingTable(
      ['2026-02-16 18:00', "=Basics; 'quoted'", 'yes', 'endurance', '80', '600', '12', '1.25'],
      ['2026-07-16T18:00:30', 'Basics', 'no', '', '', '', '', ''],
      ['2026-02-16T18:00:00Z', '', 'Yes', '', '', '', '', ''],
    ),
    options,
  )
  await importFile(
    store,
    lockTable(
      ['Weekend', '2026-03-28 12:00', '2026-03-29 12:00', '2026-03-28 20:00', '2026-03-28 20:30', '', ''],
      ['', '2026-04-01', '', '', '', '', ''],
    ),
    options,
  )
  const archive = await store.export(1)
  const [third, first, second] = recordsOf<TrainingSession>(archive, 'training-session').toSorted((a, b) =>
    a.name < b.name ? -1 : a.name > b.name ? 1 : a.created_at < b.created_at ? -1 : 1,
  )
  assert.equal(third?.created_at, '2026-02-16T18:00:00Z')
  assert.deepEqual([first?.name, first?.created_at], ["=Basics; 'quoted'", '2026-02-16T17:00:00Z'])
  assert.deepEqual(first?.TrainerSegment, [
    {
      ...ONE_SEGMENT,
      type: 'endurance',
      passed: true,
      percentGrade: 80,
      durationMeasured: 600,
      repsMeasured: 12,
      distanceTravelled: 1.25,
    },
  ])
  assert.deepEqual([first?.repsMeasured, first?.distanceTravelled, first?.passed], [12, 1.25, true])
  assert.deepEqual([second?.created_at, second?.passed], ['2026-07-16T16:00:30Z', false])
  assert.deepEqual(second?.TrainerSegment, [{ ...ONE_SEGMENT, type: 'freeform', passed: false }])
  assert.match(archive, /"extra":\{"\/TrainerSegment\/0\/percentGrade":null\}/, 'no grade is not a grade of 0')

  const [weekend, running] = recordsOf<LockSession>(archive, 'lock-session').toSorted((a, b) =>
    a.startDate < b.startDate ? -1 : 1,
  )
  assert.deepEqual(
    [weekend?.lockState, weekend?.isActive, weekend?.endDate],
    ['completed', false, '2026-03-29T10:00:00Z'],
  )
  assert.deepEqual(
    weekend?.LockSegment.map(({ type, createdAt, isLocked }) => [type, createdAt, isLocked]),
    [
      ['start', '2026-03-28T11:00:00Z', true],
      ['break', '2026-03-28T19:00:00Z', false],
      ['locked', '2026-03-28T19:30:00Z', true],
      ['unlocked', '2026-03-29T10:00:00Z', false],
    ],
  )
  assert.deepEqual([running?.startDate, running?.isActive, running?.endDate], ['2026-03-31T22:00:00Z', true, null])
})

const ONE_SEGMENT = {
  id: 1,
  percentGrade: 0,
  points: 0,
  durationMeasured: 0,
  durationTarget: 0,
  repsMeasured: 0,
  repsTarget: 0,
}

test('a row that cannot be read says why by its line and column, and other tables are named', async () => {
  await using store = await openStore(world)
  const good = ['2026-02-16 18:00', '', 'yes', '', '', '', '', '']
  const badTime = 'Recorded must be a date and time such as 2026-02-16 18:00'
  const rows: readonly [cells: readonly string[], reason: string][] = [
    [['02/16/2026 18:00', '', 'yes'], badTime],
    [['2026-02-30 18:00', '', 'yes'], badTime],
    [['2026-02-16 25:00Z', '', 'maybe'], `${badTime}; Passed must be yes or no`],
    [['', '', 'yes', '', '5'], 'Recorded is missing'],
    [['2026-02-17 18:00', '', 'yes', '', 'SECRET'], 'Grade must be a number, without separators of thousands'],
    [[...good.slice(0, 7), '', 'x'], 'has more cells than the first line: give their columns titles, or remove them'],
  ]
  for (const [cells, reason] of rows) {
    await assert.rejects(importFile(store, trainingTable(good, cells), { account: 1 }), {
      errors: [{ line: 3, reason }],
    })
  }
  const locks: readonly [cells: readonly string[], reason: string][] = [
    [['', '2026-02-16 18:00', '2026-02-16 17:00'], 'Ended must not be before Started'],
    [['', '2026-02-16 18:00', '2026-02-16 19:00', '2026-02-16 18:30'], 'breaks must have a start and an end'],
    [
      ['', '2026-02-16 18:00', '2026-02-16 19:00', '2026-02-16 18:30', '2026-02-16 19:30'],
      'breaks must be in order, and within the session',
    ],
  ]
  for (const [cells, reason] of locks) {
    await assert.rejects(importFile(store, lockTable(cells), { account: 1 }), { errors: [{ line: 2, reason }] })
  }
  const bytes = Buffer.concat([Buffer.from(trainingTable(good)), Buffer.from([0x22, 0xff, 0x22, 0x0a])])
  await assert.rejects(importFile(store, bytes, { account: 1 }), {
    message: 'this is text in another encoding: save it as CSV UTF-8',
  })
  await assert.rejects(importFile(store, `${trainingTable(good)}"open`, { account: 1 }), {
    errors: [{ line: 3, reason: 'has a quotation mark without a second one: add it, or remove the first one' }],
  })
  for (const unknown of ['Number,Name,Length,Breaks\r\n1,a,1 h,None\r\n', 'a;b\n1;2\n'])
    await assert.rejects(importFile(store, unknown, { account: 1 }), {
      message:
        'this table has no columns named Recorded and Passed, or Started and Ended: name them so in its first line, as the templates on the Source page of the dashboard do',
    })
  await assert.rejects(importFile(store, Buffer.from('\0a;b;c\xff\n', 'latin1'), { account: 1 }), {
    errors: [{ line: 1, reason: 'is not valid UTF-8' }],
  })
  await assert.rejects(importFile(store, trainingTable(good)), { name: 'UnclearOwnerError' })
})
