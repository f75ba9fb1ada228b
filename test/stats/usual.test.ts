// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { beyondUsual, usualGrade } from '../../src/stats/usual.ts'

const session = (program: number, grade: number | null) => ({ program, grade })
const sessions = (...grades: (number | null)[]) => grades.map(grade => session(1, grade))

test('usual is the middle half of the grades with the same program before a session', () => {
  const before = [...sessions(90, 94, 10, 92, 91), session(2, 1), ...sessions(93, 100, null, 95)]
  // In order: 10, 90, 91, 92, 93, 94, 95, 100.
  assert.deepEqual(usualGrade([...before, session(1, 99)], before.length), { low: 90, high: 94 })
  assert.deepEqual(usualGrade([...before, session(1, 99), ...sessions(0, 0, 0)], before.length), { low: 90, high: 94 })
})

test('the last twenty sessions say what is usual, and fewer than five say nothing', () => {
  assert.equal(usualGrade(sessions(90, 91, 92, 93, 50), 4), undefined)
  assert.deepEqual(usualGrade(sessions(90, 91, 92, 93, 94, 50), 5), { low: 91, high: 93 })
  assert.equal(usualGrade([...sessions(90, 91, 92, 93, 94), session(2, 50)], 5), undefined)
  const old = Array.from({ length: 30 }, () => session(1, 10))
  const late = Array.from({ length: 20 }, () => session(1, 80))
  assert.deepEqual(usualGrade([...old, ...late, session(1, 80)], 50), { low: 80, high: 80 })
})

test('a grade is over, under or within what is usual', () => {
  const usual = { low: 90, high: 94 }
  assert.deepEqual(
    [97, 95, 94, 92, 90, 88].map(grade => beyondUsual(grade, usual)),
    [3, 1, 0, 0, 0, -2],
  )
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 6, maxLength: 60 }), grades => {
      const found = usualGrade(sessions(...grades), grades.length - 1)
      const considered = grades.slice(0, -1).slice(-20)
      assert.ok(found !== undefined && found.low <= found.high)
      const within = considered.filter(grade => beyondUsual(grade, found) === 0)
      assert.ok(within.length * 2 >= considered.length)
    }),
  )
})
