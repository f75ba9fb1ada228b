import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { sessionsOf, type SessionRow } from '../../src/stats/session-columns.ts'

const count = fc.oneof(fc.nat(1000), fc.nat(100_000), fc.maxSafeNat())
const orNull = (values: fc.Arbitrary<number>) => fc.option(values, { nil: null })
const integer = fc.oneof(fc.integer({ min: -40_000, max: 40_000 }), fc.maxSafeInteger())

const kind = fc.record({
  kind: fc.string(),
  segments: count,
  passed: count,
  grades: fc.array(integer, { maxLength: 5 }),
  gradedPassed: count,
  reps: count,
  distance: orNull(count),
  duration: fc.oneof(count, fc.double({ noNaN: true, noDefaultInfinity: true })),
  points: integer,
})

const session = fc.record({
  id: count,
  at: integer,
  passed: fc.boolean(),
  program: count,
  segments: count,
  grade: orNull(integer),
  reps: count,
  distance: orNull(count),
  approximate: fc.boolean(),
  kinds: fc.array(kind, { maxLength: 4 }),
})

test('training sessions in columns have the values of their rows', () => {
  fc.assert(
    fc.property(fc.array(session, { maxLength: 20 }), expected => {
      const rows = expected.map(({ passed, program, distance, approximate, kinds, ...same }): SessionRow => {
        const cells = kinds.map(one => {
          const { kind, segments, passed, grades, gradedPassed, reps, distance, duration, points } = one
          return [kind, segments, passed, grades, gradedPassed, reps, distance, duration, points]
        })
        return {
          ...same,
          passed: Number(passed),
          settings_id: program,
          distance_um: distance,
          approximate: Number(approximate),
          kinds: JSON.stringify(cells),
        }
      })
      const found = sessionsOf(rows).map(
        ({ id, at, passed, program, segments, grade, reps, distance, approximate, kinds }) => ({
          id,
          at,
          passed,
          program,
          segments,
          grade,
          reps,
          distance,
          approximate,
          kinds: kinds.map(one => {
            const { kind, segments, passed, grades, gradedPassed, reps, distance, duration, points } = one
            assert.equal(one.graded, grades.length)
            assert.equal(
              one.gradeSum,
              grades.reduce((sum, grade) => sum + grade, 0),
            )
            return { kind, segments, passed, grades: [...grades], gradedPassed, reps, distance, duration, points }
          }),
        }),
      )
      // JSON has no negative zero.
      assert.deepEqual(found, JSON.parse(JSON.stringify(expected)))
    }),
  )
})
