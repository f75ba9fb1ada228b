import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countBuckets, formatDate, rangeBetween, isTimeZone } from '../../src/contract/time.ts'
import { bucketsOf } from '../../src/stats/buckets.ts'
import { GradeCounts } from '../../src/stats/grades.ts'
import { lockedTimes, lockStatistics } from '../../src/stats/lock-statistics.ts'
import { streaksOf } from '../../src/stats/streaks.ts'
import { trainingStatistics } from '../../src/stats/training-statistics.ts'
import { zoneClock } from '../../src/stats/zone-clock.ts'
import {
  checkHours,
  checkLocksByMinute,
  checkPartition,
  checkTraining,
  dayOf,
  HARD_ZONES,
  HOUR,
  rangesOver,
  seeded,
  sum,
  transitionsOf,
} from '../support/statistics.ts'

const at = (text: string) => Date.parse(text)
const days = (from: string, to: string) =>
  ({ unit: 'day', weekStart: 'monday', from: dayOf(from), to: dayOf(to) }) as const

test('a zone is an IANA name, never an offset', () => {
  const others = ['UTC', 'Asia/Kathmandu', 'Asia/Katmandu', 'Etc/GMT+5', 'EST']
  for (const name of [...Intl.supportedValuesOf('timeZone'), ...others]) assert.ok(isTimeZone(name), name)
  for (const name of ['', 'utc', 'europe/berlin', 'Europe/Nowhere', '+01:00', '-05', '01:00', 'Europe/Berlin ', 'é']) {
    assert.ok(!isTimeZone(name), name)
  }
})

for (const zone of HARD_ZONES) {
  test(`buckets fill their range and count every minute once in ${zone}`, async () => {
    const random = seeded(7)
    const years = [2016, 2026] as const
    // Ten years are swept in the slow tests.
    for (const range of rangesOver([2022, 2026])) {
      checkPartition(range, zone)
      await checkTraining(range, zone, random)
    }
    for (const transition of transitionsOf(zone, years)) {
      const day = zoneClock(zone).dayOf(transition)
      checkHours(day - 8, day + 7, zone)
    }
    for (const transition of transitionsOf(zone, years).slice(0, 6)) await checkLocksByMinute(transition, zone, random)
    for (const instant of [at('2020-02-29T12:00:00Z'), transitionsOf(zone, years)[0] ?? at('2021-06-01T12:00:00Z')])
      await checkLocksByMinute(instant, zone, random, 8)
  })
}

test('days have the hours that their zone gives them, and a day that it skipped has no bucket', () => {
  const hours = (zone: string, from: string, to: string) =>
    bucketsOf(days(from, to), zoneClock(zone), 0).map(({ day, start, end }) => [formatDate(day), (end - start) / HOUR])
  assert.deepEqual(hours('Europe/Berlin', '2026-03-29', '2026-03-29'), [['2026-03-29', 23]])
  assert.deepEqual(hours('Europe/Berlin', '2026-10-25', '2026-10-26'), [
    ['2026-10-25', 25],
    ['2026-10-26', 24],
  ])
  assert.deepEqual(hours('Australia/Lord_Howe', '2026-04-05', '2026-04-05'), [['2026-04-05', 24.5]])
  assert.deepEqual(hours('Pacific/Apia', '2011-12-29', '2011-12-31'), [
    ['2011-12-29', 24],
    ['2011-12-31', 24],
  ])
  // Clocks went back from one minute past midnight: the day that had begun goes on.
  assert.deepEqual(hours('America/St_Johns', '2010-11-06', '2010-11-07'), [
    ['2010-11-06', 24],
    ['2010-11-07', 25],
  ])
  // There was no midnight: the day began at one o'clock.
  assert.deepEqual(hours('America/Sao_Paulo', '2017-10-15', '2017-10-15'), [['2017-10-15', 23]])
})

test('a week or month that is cut by the range is named by its first day, and starts and ends with the range', () => {
  const range = { unit: 'week', weekStart: 'monday', from: dayOf('2026-03-18'), to: dayOf('2026-03-24') } as const
  const now = at('2026-03-24T12:00:00Z')
  assert.deepEqual(bucketsOf(range, zoneClock('UTC'), now), [
    { day: dayOf('2026-03-16'), start: at('2026-03-18T00:00:00Z'), end: at('2026-03-23T00:00:00Z'), partial: false },
    { day: dayOf('2026-03-23'), start: at('2026-03-23T00:00:00Z'), end: at('2026-03-25T00:00:00Z'), partial: true },
  ])
  const sundays = bucketsOf({ ...range, weekStart: 'sunday' }, zoneClock('UTC'), now)
  const weeks = sundays.map(({ day }) => formatDate(day))
  assert.deepEqual(weeks, ['2026-03-15', '2026-03-22'])
  const months = bucketsOf({ ...range, unit: 'month' }, zoneClock('UTC'), now)
  const starts = months.map(({ day }) => formatDate(day))
  assert.deepEqual(starts, ['2026-03-01'])
})

test('a range without a start has twelve buckets, and one without an end runs to today', () => {
  const today = dayOf('2026-03-18')
  const dates = (unit: 'hour' | 'day' | 'week' | 'month', from: string | undefined, to: string | undefined) => {
    const day = (date: string | undefined) => (date === undefined ? undefined : dayOf(date))
    const range = rangeBetween({ unit, weekStart: 'monday', from: day(from), to: day(to) }, today)
    return [formatDate(range.from), formatDate(range.to), countBuckets(range)]
  }
  assert.deepEqual(dates('week', undefined, undefined), ['2025-12-29', '2026-03-18', 12])
  assert.deepEqual(dates('day', undefined, undefined), ['2026-03-07', '2026-03-18', 12])
  assert.deepEqual(dates('hour', undefined, undefined), ['2026-03-18', '2026-03-18', 24])
  assert.deepEqual(dates('month', undefined, '2026-02-10'), ['2025-03-01', '2026-02-10', 12])
  assert.deepEqual(dates('month', '2026-02-10', undefined), ['2026-02-10', '2026-03-18', 2])
})

test('percentiles are actual grades, by nearest rank', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: -20, max: 120 }), { minLength: 1, maxLength: 60 }), grades => {
      const counts = new GradeCounts()
      for (const grade of grades) counts.add(grade)
      const ascending = grades.toSorted((a, b) => a - b)
      assert.equal(counts.percentile(50), ascending[Math.ceil(grades.length / 2) - 1])
      assert.equal(counts.percentile(90), ascending[Math.ceil((grades.length * 9) / 10) - 1])
      assert.deepEqual([counts.percentile(0), counts.percentile(100)], [ascending[0], ascending.at(-1)])
      assert.equal(counts.mean(), Math.floor((sum(grades) * 20 + grades.length) / (2 * grades.length)) / 10)
    }),
  )
  assert.equal(new GradeCounts().percentile(50), null)
  assert.equal(new GradeCounts().mean(), null)
})

test('a type without graded segments has no grades, and its segments are counted as ungraded', async () => {
  const clock = zoneClock('UTC')
  const part = { segments: 2, reps: 1, distance: null, duration: 1, points: 1 }
  const session = {
    id: 1,
    at: at('2026-03-02T00:00:00Z'),
    passed: true,
    program: 1,
    segments: 4,
    grade: 70,
    reps: 2,
    distance: null,
    approximate: false,
    isTyped: false,
    types: [
      { ...part, type: 'freeform', grades: [], gradedPassed: 0 },
      { ...part, type: 'bounce', grades: [70], gradedPassed: 1 },
    ],
  }
  const buckets = bucketsOf(days('2026-03-01', '2026-03-31'), clock, 0)
  const { total } = await trainingStatistics([session], buckets, clock)
  assert.deepEqual(total.grades, [
    { type: 'bounce', segments: 1, passed: 1, mean: 70, median: 70, p90: 70, min: 70, max: 70 },
  ])
  assert.equal(total.ungradedSegments, 3)
  assert.equal(total.unknownDistances, 1)
})

test('overlapping times under lock count once: locked before break, break before open', async () => {
  const clock = zoneClock('UTC')
  const day = at('2026-03-02T00:00:00Z')
  const hour = (hours: number) => day + hours * HOUR
  const sessions = [
    {
      at: hour(1),
      endAt: hour(10),
      intervals: [
        { start: hour(2), end: hour(4), locked: true, type: 'start' },
        { start: hour(4), end: hour(6), locked: false, type: 'break' },
        { start: hour(6), end: hour(10), locked: false, type: 'unlocked' },
      ],
    },
    { at: hour(3), endAt: null, intervals: [{ start: hour(3), end: hour(5), locked: true, type: 'start' }] },
  ]
  const buckets = bucketsOf(days('2026-03-02', '2026-03-02'), clock, 0)
  const [{ total }] = await lockStatistics(sessions, { since: hour(1), until: hour(10) }, [buckets])
  assert.deepEqual(total, {
    started: 2,
    ended: 1,
    lockedSeconds: 3 * 3600,
    breakSeconds: 3600,
    openSeconds: 5 * 3600,
    longestLockedSeconds: 3 * 3600,
    lockedPercent: 30,
    knownSeconds: 9 * 3600,
    percent: 33.3,
  })
})

test('statistics of many locks that overlap let others have their turns, and count each time once', async () => {
  const random = seeded(3)
  const [from, to] = [at('2024-01-01T00:00:00Z'), at('2026-01-01T00:00:00Z')]
  const sessions = Array.from({ length: 2000 }, (_, index) => {
    const start = from + index * 7 * HOUR + Math.floor(random() * 5 * HOUR)
    const hours = index % 400 === 0 ? 2000 * random() : 30 * random()
    const end = start + Math.floor(hours * HOUR)
    const cuts = [0, 1, 2, 3].map(() => start + Math.floor(random() * (end - start))).toSorted((a, b) => a - b)
    const edges = [start - Math.floor(random() * HOUR), ...cuts, end]
    return {
      at: start,
      endAt: index % 97 === 0 ? null : end,
      intervals: edges.slice(1).map((edge, part) => {
        const type = part % 2 === 0 ? 'locked' : 'break'
        return { start: edges[part] ?? edge, end: edge, locked: type === 'locked', type }
      }),
    }
  })
  const locked = lockedTimes(sessions, to)
  for (const unit of ['day', 'week'] as const) {
    const range = { ...days('2024-02-01', unit === 'day' ? '2024-12-31' : '2025-12-31'), unit }
    const buckets = bucketsOf(range, zoneClock('Europe/Berlin'), to)
    let turns = 0
    const count = () => {
      turns += 1
      next = setImmediate(count)
    }
    let next = setImmediate(count)
    const [{ buckets: found }] = await lockStatistics(sessions, { since: from, until: to }, [buckets])
    clearImmediate(next)
    for (const [index, { start, end }] of buckets.entries()) {
      const within = locked.map(time => Math.max(0, Math.min(time.end, end) - Math.max(time.start, start)) / 1000)
      const expected = [sum(within), Math.max(...within)]
      assert.deepEqual([found[index]?.lockedSeconds, found[index]?.longestLockedSeconds], expected)
    }
    assert.ok(turns >= 2, `${turns} turns`)
  }
})

test('the longest interval is cut to its bucket, and the longest of all buckets is not a sum', async () => {
  const clock = zoneClock('UTC')
  const start = at('2026-03-02T20:00:00Z')
  const end = at('2026-03-03T03:00:00Z')
  const session = { at: start, endAt: end, intervals: [{ start, end, locked: true, type: 'start' }] }
  const now = at('2026-03-03T06:00:00Z')
  const range = bucketsOf(days('2026-03-02', '2026-03-04'), clock, now)
  const [{ total, buckets }] = await lockStatistics([session], { since: start, until: now }, [range])
  const longest = buckets.map(({ longestLockedSeconds }) => longestLockedSeconds / 3600)
  assert.deepEqual(longest, [4, 3, 0])
  assert.equal(total.longestLockedSeconds, 7 * 3600)
  const lockedPercents = buckets.map(({ lockedPercent }) => lockedPercent)
  assert.deepEqual(lockedPercents, [16.7, 50, null])
})

test('a streak is consecutive days, and does not end before today is over', () => {
  const clock = zoneClock('UTC')
  const today = dayOf('2026-03-18')
  const streaks = (...back: number[]) => {
    const days = back.map(days => today - days)
    const { current, longest } = streaksOf(days, today, clock)
    return [current, longest?.best].map(streak => streak && [streak.days, dayOf(streak.from), dayOf(streak.to)])
  }
  const back = (days: number) => today - days
  assert.deepEqual(streaks(), [undefined, undefined])
  assert.deepEqual(streaks(9, 8, 7, 7, 2, 1), [
    [2, back(2), back(1)],
    [3, back(9), back(7)],
  ])
  assert.deepEqual(streaks(3, 1, 0), [
    [2, back(1), today],
    [2, back(1), today],
  ])
  assert.deepEqual(streaks(3, 2), [undefined, [2, back(3), back(2)]])
  assert.deepEqual(streaks(0, -1, -2), [
    [1, today, today],
    [1, today, today],
  ])
})

test('a day that the zone skipped does not end a streak', () => {
  const trained = ['2011-12-28', '2011-12-29', '2011-12-31'].map(dayOf)
  assert.equal(streaksOf(trained, dayOf('2011-12-31'), zoneClock('Pacific/Apia')).current?.days, 3)
  assert.equal(streaksOf(trained.slice(0, 2), dayOf('2011-12-31'), zoneClock('Pacific/Apia')).current?.days, 2)
  assert.equal(streaksOf(trained, dayOf('2011-12-31'), zoneClock('UTC')).current?.days, 1)
})
