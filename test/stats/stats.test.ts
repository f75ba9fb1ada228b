import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lockIntervals, lockEnd, type LockEvent, plannedEnd } from '../../src/stats/intervals.ts'
import { addBuckets, bucketStart, type Unit } from '../../src/contract/calendar.ts'
import { boundariesOf, bucketsOf } from '../../src/stats/buckets.ts'
import { zoneClock } from '../../src/stats/zone-clock.ts'
import { dayAt, periodOf } from '../../src/stats/periods.ts'
import { gradeRank } from '../../src/stats/bests.ts'
import { gradeOfKind, type SessionStats, matching, summarize } from '../../src/stats/training.ts'
import { gradesOf } from '../support/statistics.ts'

const HOUR = 3_600_000
const at = (text: string) => Date.parse(text)

const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Asia/Kathmandu', 'Pacific/Apia']
const zone = fc.constantFrom(...zones)
const instant = fc.integer({ min: at('2010-01-01T00:00:00Z'), max: at('2030-01-01T00:00:00Z') })
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const length = (intervals: readonly { start: number; end: number }[]) =>
  sum(intervals.map(({ start, end }) => end - start))

const events = fc
  .uniqueArray(fc.integer({ min: 0, max: 1000 }), { maxLength: 30 })
  .chain(times =>
    fc.tuple(
      ...times.map(time =>
        fc.tuple(
          fc.constant(time),
          fc.constantFrom<0 | 1>(0, 1),
          fc.constantFrom('start', 'break', 'locked', 'unlocked'),
        ),
      ),
    ),
  )
const end = fc.option(fc.integer({ min: 0, max: 1200 }), { nil: null })
const now = fc.integer({ min: 0, max: 1200 })

/** The periods from the one of an instant to that of another. */
function periodsBetween(unit: Unit, from: number, to: number, zone: string) {
  const clock = zoneClock(zone)
  const [first, last] = [from, to].map(at => bucketStart(unit, 'monday', clock.dayOf(at)))
  const range = { unit, weekStart: 'monday', from: first ?? 0, to: addBuckets(unit, last ?? 0, 1) - 1 } as const
  return boundariesOf(bucketsOf(range, clock, 0))
}

test('the intervals of a lock session have no gaps and add up to the whole session', () => {
  fc.assert(
    fc.property(events, end, now, (events, end, now) => {
      const intervals = lockIntervals(events, end, now)
      const stop = Math.min(end ?? now, now)
      const first = Math.min(...events.map(([time]) => time), stop)
      assert.equal(length(intervals), stop - first)
      for (const [index, interval] of intervals.entries()) {
        assert.ok(interval.end > interval.start)
        assert.equal(interval.start, index === 0 ? first : intervals[index - 1]?.end)
      }
      if (intervals.length > 0) assert.equal(intervals.at(-1)?.end, stop)
    }),
  )
})

test('the order of events and repeated events do not change the intervals', () => {
  const disordered = events.chain(events =>
    fc.tuple(fc.constant(events), fc.shuffledSubarray([...events, ...events], { minLength: events.length * 2 })),
  )
  fc.assert(
    fc.property(disordered, end, now, ([events, again], end, now) => {
      assert.deepEqual(lockIntervals(again, end, now), lockIntervals(events, end, now))
    }),
  )
})

test('where an event is missing, the state of the lock lasts until the next event', () => {
  const events: LockEvent[] = [
    [0, 1, 'start'],
    [10, 0, 'break'],
    [15, 1, 'locked'],
    [20, 1, 'locked'],
    [30, 0, 'break'],
    [40, 0, 'unlocked'],
  ]
  assert.deepEqual(lockIntervals(events, null, 50), [
    { start: 0, end: 10, locked: true, kind: 'start' },
    { start: 10, end: 15, locked: false, kind: 'break' },
    { start: 15, end: 30, locked: true, kind: 'locked' },
    { start: 30, end: 40, locked: false, kind: 'break' },
    { start: 40, end: 50, locked: false, kind: 'unlocked' },
  ])
  assert.deepEqual(lockIntervals(events.slice(0, 1), null, 50), [{ start: 0, end: 50, locked: true, kind: 'start' }])
  assert.deepEqual(lockIntervals([], 40, 50), [])
  assert.deepEqual(lockIntervals(events, 12, 50).at(-1), { start: 10, end: 12, locked: false, kind: 'break' })
  assert.deepEqual(lockIntervals(events, 40, 5), [{ start: 0, end: 5, locked: true, kind: 'start' }])
})

test('an old lock session without an end ends with its last event', () => {
  const events: LockEvent[] = [
    [5, 0, 'unlocked'],
    [0, 1, 'start'],
  ]
  assert.equal(lockEnd({ at: 0, ended_at: null, is_active: 0 }, events), 5)
  assert.equal(lockEnd({ at: 0, ended_at: null, is_active: 1 }, events), null)
  assert.equal(lockEnd({ at: 0, ended_at: 9, is_active: 0 }, events), 9)
  assert.equal(lockEnd({ at: 3, ended_at: null, is_active: 0 }, []), 3)
})

test('the end of an active lock session is a planned one', () => {
  const session = { at: 0, ended_at: 9, is_active: 1 }
  assert.equal(lockEnd(session, []), null)
  assert.equal(plannedEnd(session), 9)
  assert.equal(plannedEnd({ ...session, is_active: 0 }), null)
})

test('periods have no gaps, include both ends of the range, and begin at midnight of the zone', () => {
  const unit = fc.constantFrom<'day' | 'week' | 'month'>('day', 'week', 'month')
  const span = fc.integer({ min: 0, max: 200 * 24 * HOUR })
  fc.assert(
    fc.property(unit, instant, span, zone, (unit, from, span, zone) => {
      const periods = periodsBetween(unit, from, from + span, zone)
      assert.deepEqual(
        periods,
        periods.toSorted((a, b) => a - b),
      )
      assert.equal(new Set(periods).size, periods.length)
      assert.ok((periods[0] ?? Infinity) <= from && (periods.at(-1) ?? 0) > from + span)
      assert.equal(periodOf(from, periods), 0)
      assert.equal(periodOf(from + span, periods), periods.length - 2)
      for (const start of periods) {
        // No zone here changes its clocks at midnight, so the instant before it is on the day before.
        assert.notEqual(dayAt(start - 1, zone), dayAt(start, zone))
        if (unit === 'week') assert.equal(Temporal.PlainDate.from(dayAt(start, zone)).dayOfWeek, 1)
        if (unit === 'month') assert.match(dayAt(start, zone), /-01$/)
      }
    }),
    { numRuns: 60 },
  )
})

/** A session with one segment of each of these kinds. */
function session(id: number, when: number, more: Partial<SessionStats> = {}): SessionStats {
  return {
    id,
    at: when,
    passed: true,
    program: 1,
    segments: 1,
    grade: 80,
    reps: 10,
    distance: 1_000_000,
    approximate: false,
    kinds: [kindOf('training', [80], 1)],
    ...more,
  }
}

/** Segments of one kind, each with its grade. */
function kindOf(kind: string, grades: readonly number[], passed: number) {
  const sums = { reps: 10, distance: null, duration: 60, points: 5 }
  return { kind, segments: grades.length, passed, ...gradesOf(grades), gradedPassed: passed, ...sums }
}

const sessions = (from: number, days: number) =>
  fc.array(
    fc.record({
      id: fc.nat(),
      at: fc.integer({ min: from, max: from + days * 24 * HOUR }),
      passed: fc.boolean(),
      program: fc.nat(3),
      segments: fc.nat(20),
      grade: fc.option(fc.integer({ min: 0, max: 100 })),
      reps: fc.nat(500),
      distance: fc.option(fc.nat(1e9)),
      approximate: fc.boolean(),
      kinds: fc.constant([]),
    }),
    { maxLength: 40 },
  )

test('weekly and monthly sums of sessions add up to the total', async () => {
  const from = at('2026-02-20T00:00:00Z')
  const unit = fc.constantFrom<'day' | 'week' | 'month'>('day', 'week', 'month')
  await fc.assert(
    fc.asyncProperty(sessions(from, 300), unit, zone, async (sessions, unit, zone) => {
      const periods = periodsBetween(unit, from, from + 300 * 24 * HOUR, zone)
      const { totals: whole, periods: parts } = await summarize(sessions, periods)
      for (const name of ['sessions', 'passed', 'segments', 'reps', 'measured', 'approximate'] as const) {
        assert.equal(sum(parts.map(part => part[name])), whole[name], name)
      }
    }),
    { numRuns: 60 },
  )
})

test('a mean is rounded half up, and the mean of no values is null', () => {
  const two = session(1, 0, { kinds: [kindOf('bounce', [80, 81], 1)] })
  assert.equal(gradeOfKind(two, 'bounce'), 81)
  assert.equal(gradeOfKind(two, 'warmup'), null)
})

test('a grade has a place among the ten or more of its program, if it is one of the first three and few share it', () => {
  const grades = [90, 80, 97, 70, 97, 60, 95, 50, 40, 30]
  const all = grades.map((grade, id) => session(id, id, { grade, program: 1 }))
  const rankOf = (grade: number, sessions = all, now = 100) => gradeRank(sessions, { program: 1, grade }, now)
  assert.deepEqual(rankOf(97), { place: 0, equals: 1, of: 10 })
  assert.deepEqual(rankOf(95), { place: 2, equals: 0, of: 10 })
  assert.equal(rankOf(90), undefined)
  assert.equal(rankOf(97, all, 8), undefined, 'what has not begun does not count')
  assert.equal(rankOf(97, all.slice(1)), undefined)
  const many = [session(11, 11, { grade: 97, program: 1 }), session(12, 12, { grade: 97, program: 1 })]
  assert.equal(rankOf(97, [...all, ...many]), undefined)
  assert.deepEqual(rankOf(97, [...all, session(11, 11, { grade: 97, program: 2 })]), { place: 0, equals: 1, of: 10 })
})

test('statistics by kind count segments, and a filter by kind keeps the sessions that have such segments', async () => {
  const first = session(1, 0, {
    kinds: [kindOf('warmup', [100], 1), kindOf('training', [60, 60, 80], 1)],
  })
  const second = session(2, 0, {
    passed: false,
    program: 2,
    kinds: [kindOf('training', [41], 0)],
  })
  assert.deepEqual((await summarize([first, second])).kinds, [
    { kind: 'training', segments: 4, grade: { sessions: 2, low: 41, median: 41, high: 67 } },
    { kind: 'warmup', segments: 1, grade: { sessions: 1, low: 100, median: 100, high: 100 } },
  ])
  const idsOf = (filters: object) => [first, second].flatMap(session => matching(session, filters)?.id ?? [])
  assert.deepEqual(idsOf({ kind: 'warmup' }), [1])
  assert.deepEqual(idsOf({ kind: 'training' }), [1, 2])
  assert.deepEqual(idsOf({ kind: 'training', passed: false }), [2])
  assert.deepEqual(idsOf({ program: 1 }), [1])
  assert.deepEqual(idsOf({ kind: 'bounce' }), [])
})
