// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { api } from '../../src/contract/index.ts'
import { formatTimestamp } from '../../src/contract/time.ts'
import { handlers } from '../../src/resources/index.ts'
import { setPreferences } from '../../src/accounts/preferences.ts'
import { trainingHistory } from '../../src/stats/training-history.ts'
import { grantOf } from '../support/parameters.ts'
import { lockSegment, lockSession, lockTemplate, trainerSegment, trainingSession, world } from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { checkRandomStores, replaceRecords } from '../support/status-stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const ago = (milliseconds: number) => formatTimestamp(Math.floor((Date.now() - milliseconds) / 1000) * 1000)

const keys = Object.keys(api.getStatus.data.properties)
const relative = ['lockedSeconds', 'remainingSeconds', 'asOfSeconds']
const PATH = '/api/v1/status'

/** A service whose records are known up to now. */
async function startCurrent(lines: readonly object[]): Promise<TestService> {
  const service = await startService(lines, unlimited)
  await service.store.db.updateTable('account').set({ as_of: Date.now() }).execute()
  return service
}

async function statusOf(service: TestService, query = '', username = 'ann') {
  const { status, body, text } = await service.fetch(PATH + query, await tokenOf(service, username))
  assert.equal(status, 200, text)
  return body.data
}

const tokens = new WeakMap<TestService, Map<string, Promise<string>>>()

function tokenOf(service: TestService, username: string): Promise<string> {
  return tokens
    .getOrInsertComputed(service, () => new Map())
    .getOrInsertComputed(username, () => service.token(username))
}

test('the status has every field, in the order of the contract, even if nothing is known', async () => {
  await using service = await startService(world, unlimited)
  const data = await statusOf(service)
  assert.deepEqual(
    Object.keys(data),
    keys.filter(key => !relative.includes(key)),
  )
  assert.deepEqual(Object.keys(await statusOf(service, '?relative=seconds')), keys)
  assert.deepEqual(data, {
    ownerId: 1,
    timeZone: 'UTC',
    asOf: null,
    locked: false,
    lockState: 'idle',
    lockedSince: null,
    stateSince: null,
    plannedEnd: null,
    plannedEndPassed: null,
    timeHidden: false,
    practiceLock: false,
    lastSessionAt: null,
    lastSessionPassed: null,
    lastSessionGradePercent: null,
    lastSessionReps: null,
    lastSessionMeters: null,
    sessionsToday: 0,
    sessionsThisWeek: 0,
    repsThisWeek: 0,
    metersThisWeek: 0,
    streakDays: 0,
    longestStreakDays: 0,
    bestGradePercent: null,
  })
})

const events = [
  { title: 'locked', rows: [['start', 3 * HOUR, true]], locked: true, since: 3 * HOUR },
  {
    title: 'on a break',
    rows: [
      ['start', 3 * HOUR, true],
      ['break', HOUR, false],
    ],
    locked: false,
    since: HOUR,
  },
  {
    title: 'locked again',
    rows: [
      ['start', 3 * HOUR, true],
      ['break', HOUR, false],
      ['locked', MINUTE, true],
    ],
    locked: true,
    since: MINUTE,
  },
  { title: 'without events', rows: [], locked: true, since: null },
] as const

const templates = [
  {
    title: 'a template that shows the time',
    lines: [lockTemplate(1, 1)],
    envelope: { templateId: 1 },
    hides: false,
    practice: false,
  },
  {
    title: 'a template that hides the time',
    lines: [lockTemplate(1, 1, { isTimeDisplayed: false })],
    envelope: { templateId: 1 },
    hides: true,
    practice: false,
  },
  {
    title: 'a practice template',
    lines: [lockTemplate(1, 1, { isTestLock: true })],
    envelope: { templateId: 1 },
    hides: false,
    practice: true,
  },
  {
    title: "somebody else's template that hides the time",
    lines: [lockTemplate(1, 3, { isTimeDisplayed: false })],
    envelope: { templateId: 1 },
    hides: true,
    practice: false,
  },
  { title: 'a template that is not there', lines: [], envelope: { templateId: 9 }, hides: false, practice: null },
  { title: 'no template', lines: [], envelope: {}, hides: false, practice: null },
] as const

for (const { title, rows, locked, since } of events) {
  test(`a lock that is ${title} is shown as such to its owner and to others with access, and hidden from its owner alone`, async () => {
    await using service = await startService(world, unlimited)
    for (const template of templates) {
      const started = ago(3 * HOUR)
      const planned = ago(-2 * HOUR)
      const LockSegment = rows.map(([type, before, isLocked], index) =>
        lockSegment(index + 1, type, ago(before), isLocked),
      )
      const running = { isActive: true, lockState: 'locked', startDate: started, endDate: planned, LockSegment }
      const session = lockSession(5, 1, running, template.envelope)
      await replaceRecords(service, [...template.lines, session])
      for (const [username, query, isOwner] of [
        ['ann', '', true],
        ['ann', '?ownerId=me', true],
        ['ben', '?ownerId=1', false],
        ['ben', '?targetUserId=1', false],
      ] as const) {
        const hidden = isOwner && template.hides
        const data = await statusOf(service, query, username)
        assert.deepEqual(
          {
            locked: data.locked,
            lockState: data.lockState,
            lockedSince: data.lockedSince,
            plannedEnd: data.plannedEnd,
            plannedEndPassed: data.plannedEndPassed,
            timeHidden: data.timeHidden,
            practiceLock: data.practiceLock,
            knowsState: data.stateSince !== null,
          },
          {
            locked,
            lockState: 'locked',
            lockedSince: started,
            plannedEnd: hidden ? null : planned,
            plannedEndPassed: hidden ? null : false,
            timeHidden: hidden,
            practiceLock: template.practice,
            knowsState: since !== null,
          },
          `${template.title} ${username}`,
        )
        const seconds = await statusOf(service, `${query === '' ? '?' : `${query}&`}relative=seconds`, username)
        assert.ok(Math.abs(seconds.lockedSeconds - 3 * 3600) < 60)
        if (hidden) assert.equal(seconds.remainingSeconds, null)
        else assert.ok(Math.abs(seconds.remainingSeconds - 2 * 3600) < 60)
      }
    }
  })
}

test('the newest of several active locks counts, and a planned end that has passed does not end it', async () => {
  const lock = (id: number, startDate: string, endDate: string) =>
    lockSession(id, 1, {
      isActive: true,
      lockState: 'locked',
      startDate,
      endDate,
      LockSegment: [lockSegment(id, 'start', startDate, true)],
    })
  const lines = [lock(5, ago(9 * HOUR), ago(HOUR)), lock(6, ago(8 * HOUR), ago(HOUR))]
  await using service = await startCurrent([...world, ...lines])
  const data = await statusOf(service, '?relative=seconds')
  assert.equal(data.lockedSince, lines[1]?.data.startDate)
  assert.deepEqual(
    [data.locked, data.lockState, data.plannedEndPassed, data.remainingSeconds],
    [true, 'locked', true, null],
  )
})

test('a freeze stops the countdown of a lock: its seconds stand still, also after the planned end', async () => {
  for (const [lockState, rows, passed, left] of [
    ['locked', [['freeze', HOUR]], false, 3600],
    ['locked', [['freeze', 3 * HOUR]], false, 3 * 3600],
    [
      'locked',
      [
        ['freeze', 3 * HOUR],
        ['unfreeze', 2 * HOUR],
      ],
      true,
      null,
    ],
    ['frozen', [], null, null],
  ] as const) {
    const events = [['start', 9 * HOUR] as const, ...rows]
    await using service = await startCurrent([
      ...world,
      lockSession(5, 1, {
        isActive: true,
        lockState,
        startDate: ago(9 * HOUR),
        endDate: ago(0),
        LockSegment: events.map(([type, before], index) => lockSegment(index + 1, type, ago(before), true)),
      }),
    ])
    const { plannedEndPassed, remainingSeconds } = await statusOf(service, '?relative=seconds')
    assert.equal(plannedEndPassed, passed)
    if (left === null) assert.equal(remainingSeconds, null)
    else assert.ok(Math.abs(remainingSeconds - left) < 60)
  }
})

test('a change of the lock, the time zone or up to when the records are known shows in the next answer', async () => {
  const lock = lockSession(5, 1, { isActive: true, startDate: ago(HOUR), lockState: 'locked' })
  await using service = await startCurrent([...world, lock])
  const { db } = service.store
  const before = await statusOf(service)
  assert.deepEqual(await statusOf(service), before)
  assert.equal(before.lockState, 'locked')

  await setPreferences(service.store, 1, {
    timeZone: 'Asia/Kathmandu',
    units: 'metric',
    weeklyGoal: null,
  })
  assert.equal((await statusOf(service)).timeZone, 'Asia/Kathmandu')
  await db
    .updateTable('account')
    .set({ as_of: Date.parse('2026-01-01T10:20:00Z') })
    .where('id', '=', 1)
    .execute()
  assert.equal((await statusOf(service)).asOf, '2026-01-01T10:00:00Z')
  await db.updateTable('lock_session').set({ lock_state: 'unlocked' }).where('id', '=', 5).execute()
  assert.equal((await statusOf(service)).lockState, 'unlocked')
  await db.updateTable('lock_session').set({ is_active: 0 }).where('id', '=', 5).execute()
  assert.equal((await statusOf(service)).lockState, 'idle')
})

test('training is counted by the day and week of the zone that was sent, else of the caller', async () => {
  // A Monday, at half past midnight in Berlin.
  const lines = [
    trainingSession(1, 1, { created_at: '2026-03-15T22:30:00Z', distanceTravelled: 2.5 }),
    trainingSession(2, 1, { created_at: '2026-03-15T23:10:00Z', passed: false, distanceTravelled: 1.000001 }),
    trainingSession(3, 1, {
      created_at: '2026-03-13T12:00:00Z',
      TrainerSegment: [trainerSegment(1, { percentGrade: 91 }), trainerSegment(2, { percentGrade: 92 })],
    }),
  ]
  await using service = await startService([...world, ...lines], unlimited)
  const now = Date.parse('2026-03-15T23:30:00Z')
  const history = await trainingHistory(service.store, { owner: 1, start: Number.MIN_SAFE_INTEGER })
  const { last, ...berlin } = await history.status('Europe/Berlin', now)
  assert.equal(last?.id, 2)
  assert.deepEqual(berlin, {
    sessionsToday: 1,
    sessionsThisWeek: 1,
    repsThisWeek: 19,
    distanceThisWeek: 1_000_001,
    streakDays: 2,
    longestStreakDays: 2,
    bestGrade: 92,
  })
  const { last: _, ...utc } = await history.status('UTC', now)
  assert.deepEqual(utc, {
    ...berlin,
    sessionsToday: 2,
    sessionsThisWeek: 3,
    repsThisWeek: 76,
    distanceThisWeek: 3_500_001,
    streakDays: 1,
    longestStreakDays: 1,
  })
})

test('the time zone is the one that was sent, else that of the caller, also for the records of somebody else', async () => {
  await using service = await startService(world, unlimited)
  await setPreferences(service.store, 2, {
    timeZone: 'Asia/Kathmandu',
    units: 'metric',
    weeklyGoal: null,
  })
  assert.equal((await statusOf(service, '?ownerId=1', 'ben')).timeZone, 'Asia/Kathmandu')
  assert.equal((await statusOf(service, '?ownerId=1&tz=America/Havana', 'ben')).timeZone, 'America/Havana')
  assert.equal((await statusOf(service)).timeZone, 'UTC')
})

test('the values of the newest session are its own, and null if not known', async () => {
  await using service = await startService([...world, trainingSession(1, 1, { TrainerSegment: [] })], unlimited)
  const data = await statusOf(service)
  assert.deepEqual(
    [data.lastSessionPassed, data.lastSessionGradePercent, data.lastSessionReps, data.lastSessionMeters],
    [true, null, 0, null],
  )
  await service.import([
    trainingSession(2, 1, {
      created_at: '2026-02-17T18:00:00Z',
      passed: false,
      TrainerSegment: [
        trainerSegment(1, { percentGrade: 90 }),
        trainerSegment(2, { percentGrade: 91, distanceTravelled: 0.5 }),
      ],
    }),
  ])
  const later = await statusOf(service)
  assert.deepEqual(
    [
      later.lastSessionAt,
      later.lastSessionPassed,
      later.lastSessionGradePercent,
      later.lastSessionReps,
      later.lastSessionMeters,
    ],
    ['2026-02-17T18:00:00Z', false, 91, 38, 0.5],
  )
  assert.equal(later.bestGradePercent, 91)
  assert.equal(later.longestStreakDays, 2)
})

test('the time up to which records are known is returned by the hour, and exactly in seconds; older states stop counting', async () => {
  const started = ago(30 * HOUR)
  const lock = lockSession(5, 1, {
    isActive: true,
    startDate: started,
    LockSegment: [lockSegment(1, 'start', started, true)],
  })
  await using service = await startService([...world, lock], unlimited)
  const asOf = Date.now() - 3 * HOUR
  await service.store.db.updateTable('account').set({ as_of: asOf }).where('id', '=', 1).execute()
  const data = await statusOf(service, '?relative=seconds')
  assert.equal(data.asOf, formatTimestamp(Math.floor(asOf / HOUR) * HOUR))
  assert.ok(Math.abs(data.asOfSeconds - 3 * 3600) < 60)
  assert.ok(Math.abs(data.lockedSeconds - 27 * 3600) < 60)
  assert.equal(data.locked, true)
})

test('in random stores no status contains a name, an identifier of a record, or a hidden end', () =>
  checkRandomStores(25, 1))

test('polled every minute for a day with a pull every five minutes, at least 95 % of the responses are 304', async () => {
  const line = trainingSession(1, 1, { created_at: ago(3 * DAY) })
  await using service = await startService([...world, line], unlimited)
  // The handler is called directly, because the clock of a server cannot be set.
  const minutes = Array.from({ length: 24 * 60 }, (_, minute) => Date.parse('2026-03-18T09:30:00Z') + minute * MINUTE)
  let etag = ''
  let unchanged = 0
  for (const [minute, now] of minutes.entries()) {
    if (minute % 5 === 0)
      await service.store.db.updateTable('account').set({ as_of: now }).where('id', '=', 1).execute()
    const params = { ownerId: undefined, tz: 'Europe/Berlin', relative: undefined }
    const result = await handlers.getStatus({ store: service.store, grant: grantOf(1), now }, params)
    if (result?.etag === etag) unchanged += 1
    etag = result?.etag ?? ''
  }
  assert.ok(unchanged / minutes.length >= 0.95, `${unchanged} of ${minutes.length}`)
})
