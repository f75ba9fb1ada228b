// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { api } from '../../src/contract/index.ts'
import { assertRefused } from '../support/responses.ts'
import {
  lockSegment,
  lockSession,
  lockTemplate,
  trainerSegment,
  trainingSession,
  world,
  account,
} from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { addAccount } from '../../src/accounts/accounts.ts'
import { removeAccount } from '../../src/accounts/removal.ts'
import { findGone, removeGone } from '../../src/pull/gone.ts'
import { addGoneSession, addKnownSource, byOperator } from '../support/sources/pulls.ts'

const TRAINING = '/api/v1/dtt/stats'
const LOCKS = '/api/v1/lkbx/stats'

/** As much of a bucket as is looked at here. */
interface Bucket {
  readonly date: string
  readonly start: string
  readonly end: string
  readonly partial: boolean
  readonly sessions: number
  readonly days: number
}

async function dataOf(service: TestService, address: string, username = 'ann') {
  const { status, body, text } = await service.fetch(
    address,
    await service.token(username, { name: address.slice(0, 60) }),
  )
  await service.store.db.deleteFrom('token').execute()
  assert.equal(status, 200, text)
  return body.data
}

const lines: readonly object[] = [
  ...world,
  trainingSession(1, 1, {
    created_at: '2026-03-02T10:00:00Z',
    distanceTravelled: 2.5,
    TrainerSegment: [
      trainerSegment(1, { type: 'warmup', percentGrade: 100 }),
      trainerSegment(2, { percentGrade: 81, passed: false }),
    ],
  }),
  trainingSession(2, 1, { created_at: '2026-03-03T23:30:00Z', passed: false, settings_id: 7 }),
  trainingSession(3, 1, { created_at: '2026-03-09T10:00:00Z', distanceTravelled: 1.25 }, { legacyUpload: true }),
  trainingSession(4, 2, { created_at: '2026-03-09T10:00:00Z' }),
]

test('training statistics have every field, in order, and sum to their total', async () => {
  await using service = await startService(lines, unlimited)
  const data = await dataOf(service, `${TRAINING}?from=2026-03-02&to=2026-03-15`)
  assert.deepEqual(Object.keys(data), Object.keys(api.getTrainingStatistics.data.properties))
  assert.deepEqual(
    { ...data, buckets: undefined, streak: undefined },
    {
      timeZone: 'UTC',
      weekStart: 'monday',
      from: '2026-03-02',
      to: '2026-03-15',
      asOf: '2026-03-09T10:00:00Z',
      sources: { sessions: 3, practiceSessions: 0, unknownTemplate: 0, ungradedSegments: 0 },
      total: {
        sessions: 3,
        passed: 2,
        days: 3,
        repsMeasured: 76,
        distanceMeters: 2.5,
        distanceApproximateMeters: 1.25,
        distanceUnknownSessions: 1,
        durationMeasured: 244,
        points: 48,
        grades: [
          { type: 'repetition', segments: 3, passed: 2, mean: 80.3, median: 80, p90: 81, min: 80, max: 81 },
          { type: 'warmup', segments: 1, passed: 1, mean: 100, median: 100, p90: 100, min: 100, max: 100 },
        ],
      },
      buckets: undefined,
      streak: undefined,
    },
  )
  assert.deepEqual(
    data.buckets.map(({ date, start, end, partial, sessions, days }: Bucket) => [
      date,
      start,
      end,
      partial,
      sessions,
      days,
    ]),
    [
      ['2026-03-02', '2026-03-02T00:00:00Z', '2026-03-09T00:00:00Z', false, 2, 2],
      ['2026-03-09', '2026-03-09T00:00:00Z', '2026-03-16T00:00:00Z', false, 1, 1],
    ],
  )
  assert.deepEqual(data.streak, { currentDays: 0, longestDays: 2, longestFrom: '2026-03-02', longestTo: '2026-03-03' })
})

test('filters by type and program also apply to the streak', async () => {
  await using service = await startService(lines, unlimited)
  const range = 'from=2026-03-02&to=2026-03-15'
  const warmup = await dataOf(service, `${TRAINING}?${range}&type=warmup`)
  assert.deepEqual([warmup.total.sessions, warmup.total.repsMeasured, warmup.total.distanceUnknownSessions], [1, 19, 1])
  assert.equal(warmup.streak.longestDays, 1)
  const program = await dataOf(service, `${TRAINING}?${range}&programId=7`)
  assert.deepEqual([program.total.sessions, program.total.passed, program.streak.longestFrom], [1, 0, '2026-03-03'])
  assert.equal((await dataOf(service, `${TRAINING}?${range}&type=none`)).total.sessions, 0)
})

test('lock statistics count time once, leave out practice locks, and say how much is known', async () => {
  const lock = (id: number, startDate: string, endDate: string, envelope: object) => {
    const first = lockSegment(id * 10, 'start', startDate, true)
    const LockSegment = [first, lockSegment(id * 10 + 1, 'unlocked', endDate, false)]
    return lockSession(id, 1, { startDate, endDate, LockSegment }, envelope)
  }
  await using service = await startService(
    [
      ...world,
      lockTemplate(1, 1),
      lockTemplate(2, 1, { isTestLock: true }),
      lock(1, '2026-03-02T00:00:00Z', '2026-03-02T12:00:00Z', { templateId: 1 }),
      lock(2, '2026-03-02T06:00:00Z', '2026-03-02T18:00:00Z', { templateId: 9 }),
      lock(3, '2026-03-01T00:00:00Z', '2026-03-03T00:00:00Z', { templateId: 2 }),
      lock(4, '2026-01-01T00:00:00Z', '2026-01-03T00:00:00Z', {}),
    ],
    unlimited,
  )
  const data = await dataOf(service, `${LOCKS}?bucket=day&from=2026-03-02&to=2026-03-02`)
  assert.deepEqual(Object.keys(data), Object.keys(api.getLockStatistics.data.properties))
  const figures = {
    started: 2,
    ended: 2,
    lockedSeconds: 18 * 3600,
    breakSeconds: 0,
    openSeconds: 0,
    longestLockedSeconds: 18 * 3600,
    lockedPercent: 75,
  }
  assert.deepEqual(data.sources, { sessions: 2, practiceSessions: 1, unknownTemplate: 1, ungradedSegments: 0 })
  assert.deepEqual(data.total, figures)
  assert.deepEqual(data.buckets, [
    { date: '2026-03-02', start: '2026-03-02T00:00:00Z', end: '2026-03-03T00:00:00Z', partial: false, ...figures },
  ])
})

const field = (field: string, message: string) => ({ field, message })
const BUCKETS = field('from', 'must not make more than 400 buckets')
const ORDER = field('from', 'must not be after to')

test('hours of the local time are counted, 16 days at most, and sum to their days', async () => {
  await using service = await startService(lines, unlimited)
  const zone = 'tz=Asia/Kathmandu&from=2026-02-26&to=2026-03-13'
  for (const path of [TRAINING, LOCKS]) {
    const hours = await dataOf(service, `${path}?bucket=hour&${zone}`)
    const days = await dataOf(service, `${path}?bucket=day&${zone}`)
    assert.equal(hours.buckets.length, 16 * 24)
    assert.deepEqual(hours.total, days.total)
    assert.ok(hours.buckets.every(({ start }: Bucket) => start.endsWith(':15:00Z')))
    assert.deepEqual(
      [hours.buckets[0].date, hours.buckets[0].start, hours.buckets.at(-1).date, hours.buckets.at(-1).end],
      ['2026-02-26', '2026-02-25T18:15:00Z', '2026-03-13', '2026-03-13T18:15:00Z'],
    )
  }
  const { buckets } = await dataOf(service, `${TRAINING}?bucket=hour&${zone}`)
  const starts = buckets.filter(({ sessions }: Bucket) => sessions > 0).map(({ start }: Bucket) => start)
  assert.deepEqual(starts, ['2026-03-02T09:15:00Z', '2026-03-03T23:15:00Z', '2026-03-09T09:15:00Z'])
})

test('a range out of bounds is refused together with all other errors', async () => {
  await using service = await startService(world, unlimited)
  const zone = field('tz', api.getLockStatistics.query.tz.rule)
  for (const [query, errors] of [
    ['bucket=day&from=2025-01-01&to=2026-02-05', [BUCKETS]],
    ['bucket=hour&from=2026-02-01&to=2026-02-17', [BUCKETS]],
    ['from=2026-02-05&to=2026-02-04', [ORDER]],
    ['from=1990-01-01', [BUCKETS]],
    ['from=9000-01-01', [ORDER]],
    ['from=1990-01-01&tz=europe/berlin', [zone, BUCKETS]],
    ['from=2026-02-05&to=2026-02-04&tz=%2B01:00&weekStart=sunday', [zone, ORDER]],
    ['from=2026-02-05&to=2026-02-04&tz=Nowhere&ownerId=3', [zone, ORDER]],
    ['from=2026-02-30', [field('from', api.getLockStatistics.query.from.rule)]],
    ['to=0000-02-03', [field('to', api.getLockStatistics.query.to.rule)]],
    ['from=9999-02-03', [field('from', api.getLockStatistics.query.from.rule)]],
  ] as const) {
    for (const path of [TRAINING, LOCKS]) {
      assertRefused(await service.fetch(`${path}?${query}`, 'ann'), 400, 'invalid_parameter', { fieldErrors: errors })
    }
  }
  for (const path of [TRAINING, LOCKS]) {
    assert.equal((await service.fetch(`${path}?bucket=day&from=2025-01-01&to=2026-02-04`, 'ann')).status, 200)
    assertRefused(await service.fetch(`${path}?ownerId=3`, 'ann'), 403, 'owner_not_accessible')
    assert.equal(
      (await service.fetch(`${path}?from=0001-01-01&to=0001-01-02&tz=Pacific/Kiritimati`, 'ann')).status,
      200,
    )
    assert.equal((await service.fetch(`${path}?from=9998-12-30&to=9998-12-31&tz=Pacific/Midway`, 'ann')).status, 200)
  }
})

test('nothing about an account is read for somebody who may not see it', async () => {
  await using service = await startService(lines, unlimited)
  const { store } = service
  for (const path of [TRAINING, LOCKS, '/api/v1/status']) {
    assert.equal((await service.fetch(`${path}?ownerId=1`, 'ann')).status, 200)
    const reading = store.read.bind(store)
    let reads = 0
    store.read = (...query) => {
      reads += 1
      return reading(...query)
    }
    assertRefused(await service.fetch(`${path}?ownerId=3`, 'ann'), 403, 'owner_not_accessible')
    assert.equal(reads, 0, path)
    store.read = reading
  }
})

const at = (day: number) => ({ created_at: `2026-03-${String(day).padStart(2, '0')}T12:00:00Z` })
const ann = [account(1, 'ann'), account(2, 'ben'), trainingSession(1, 1, at(3)), trainingSession(2, 1, at(4))]

/** How many training sessions an account has by its statistics, and its newest one by the status. */
async function seenBy(service: TestService, username: string) {
  const token = await service.token(username)
  const statistics = await service.fetch('/api/v1/dtt/stats?from=2026-03-01&to=2026-03-31', token)
  const status = await service.fetch('/api/v1/status', token)
  return [statistics.body.data.total.sessions, status.body.data.lastSessionAt]
}

const newest = (day: number) => `2026-03-${String(day).padStart(2, '0')}T12:00:00Z`

test('records that another program adds, changes or moves to another account count in the next answer', async () => {
  await using service = await startService(ann, unlimited)
  await using other = await startService([], unlimited, service)
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  assert.deepEqual(await seenBy(service, 'ben'), [0, null])

  await other.import([trainingSession(3, 1, at(5))])
  assert.deepEqual(await seenBy(service, 'ann'), [3, newest(5)])
  await other.import([trainingSession(3, 1, at(6))], { onConflict: 'replace' })
  assert.deepEqual(await seenBy(service, 'ann'), [3, newest(6)])
  await other.import([trainingSession(3, 2, at(6))], { onConflict: 'replace' })
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  assert.deepEqual(await seenBy(service, 'ben'), [1, newest(6)])
})

test('records that are pruned count no more', async () => {
  await using service = await startService(ann, unlimited)
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  await addGoneSession(service.store, await addKnownSource(service.store), 2)
  assert.equal(await removeGone(service.store, await findGone(service.store), byOperator), 1)
  assert.deepEqual(await seenBy(service, 'ann'), [1, newest(3)])
})

test('an account that was removed and comes back does not get its old statistics', async () => {
  await using service = await startService(ann, unlimited)
  assert.deepEqual(await seenBy(service, 'ann'), [2, newest(4)])
  await removeAccount(service.store, 1, Date.now())
  await addAccount(service.store, { id: 1, username: 'ann', tier: 'ultra' })
  assert.deepEqual(await seenBy(service, 'ann'), [0, null])
  await service.import([trainingSession(4, 1, at(7))])
  assert.deepEqual(await seenBy(service, 'ann'), [1, newest(7)])
})
