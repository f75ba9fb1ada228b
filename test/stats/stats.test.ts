import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { lockIntervals, lockEnd, type LockEvent } from '../../src/stats/intervals.ts'
import { gradeRank } from '../../src/stats/bests.ts'
import { type SessionStats, matching, summarize } from '../../src/stats/training.ts'

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
    { start: 0, end: 10, locked: true, type: 'start' },
    { start: 10, end: 15, locked: false, type: 'break' },
    { start: 15, end: 30, locked: true, type: 'locked' },
    { start: 30, end: 40, locked: false, type: 'break' },
    { start: 40, end: 50, locked: false, type: 'unlocked' },
  ])
  assert.deepEqual(lockIntervals(events.slice(0, 1), null, 50), [{ start: 0, end: 50, locked: true, type: 'start' }])
  assert.deepEqual(lockIntervals([], 40, 50), [])
  assert.deepEqual(lockIntervals(events, 12, 50).at(-1), { start: 10, end: 12, locked: false, type: 'break' })
  assert.deepEqual(lockIntervals(events, 40, 5), [{ start: 0, end: 5, locked: true, type: 'start' }])
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

/** A session with one segment of each of these types. */
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
    isTyped: false,
    types: [kindOf('training', [80], 1)],
    ...more,
  }
}

/** Segments of one type, each with its grade. */
function kindOf(type: string, grades: readonly number[], passed: number) {
  const sums = { reps: 10, distance: null, duration: 60, points: 5 }
  return { type, segments: grades.length, grades, gradedPassed: passed, ...sums }
}

test('a mean is rounded half up, and the mean of no values is null', () => {
  const two = session(1, 0, { types: [kindOf('bounce', [80, 81], 1)] })
  assert.equal(matching(two, { type: 'bounce' })?.grade, 81)
  assert.equal(matching(session(1, 0, { types: [kindOf('bounce', [], 1)] }), { type: 'bounce' })?.grade, null)
})

test('a grade has a place among the ten or more of its program, if it is one of the first three and few share it', () => {
  const grades = [90, 80, 97, 70, 97, 60, 95, 50, 40, 30]
  const all = grades.map((grade, id) => session(id, id, { grade, program: 1 }))
  const rankOf = (grade: number, sessions = all, now = 100) => gradeRank(sessions, { program: 1, grade }, now)
  assert.deepEqual(rankOf(97), { better: 0, equals: 1, of: 10 })
  assert.deepEqual(rankOf(95), { better: 2, equals: 0, of: 10 })
  assert.equal(rankOf(90), undefined)
  assert.equal(rankOf(97, all, 8), undefined, 'what has not begun does not count')
  assert.equal(rankOf(97, all.slice(1)), undefined)
  const many = [session(11, 11, { grade: 97, program: 1 }), session(12, 12, { grade: 97, program: 1 })]
  assert.equal(rankOf(97, [...all, ...many]), undefined)
  assert.deepEqual(rankOf(97, [...all, session(11, 11, { grade: 97, program: 2 })]), { better: 0, equals: 1, of: 10 })
})

test('statistics by type count segments, and a filter by type keeps the sessions that have such segments', async () => {
  const first = session(1, 0, {
    types: [kindOf('warmup', [100], 1), kindOf('training', [60, 60, 80], 1)],
  })
  const second = session(2, 0, {
    passed: false,
    program: 2,
    types: [kindOf('training', [41], 0)],
  })
  assert.deepEqual((await summarize([first, second])).types, [
    { type: 'training', segments: 4, grade: { sessions: 2, low: 41, median: 54, high: 67 } },
    { type: 'warmup', segments: 1, grade: { sessions: 1, low: 100, median: 100, high: 100 } },
  ])
  const idsOf = (filters: object) => [first, second].flatMap(session => matching(session, filters)?.id ?? [])
  assert.deepEqual(idsOf({ type: 'warmup' }), [1])
  assert.deepEqual(idsOf({ type: 'training' }), [1, 2])
  assert.deepEqual(idsOf({ type: 'training', passed: false }), [2])
  assert.deepEqual(idsOf({ program: 1 }), [1])
  assert.deepEqual(idsOf({ type: 'bounce' }), [])
})
