// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { beyondUsual, type UsualPart, usualOfProgram, usualRanges } from '../../src/stats/usual.ts'

const session = (program: number, grade: number | null) => ({ program, grade })
const usualOf = (all: readonly ReturnType<typeof session>[], index: number) =>
  usualOfProgram(all, index, ({ grade }) => grade)
const sessions = (...grades: (number | null)[]) => grades.map(grade => session(1, grade))

test('usual is the middle half of the grades with the same program before a session', () => {
  const before = [...sessions(90, 94, 10, 92, 91), session(2, 1), ...sessions(93, 100, null, 95)]
  // In order: 10, 90, 91, 92, 93, 94, 95, 100.
  assert.deepEqual(usualOf([...before, session(1, 99)], before.length), { low: 90, high: 94 })
  assert.deepEqual(usualOf([...before, session(1, 99), ...sessions(0, 0, 0)], before.length), { low: 90, high: 94 })
})

test('the last twenty sessions say what is usual, and fewer than five say nothing', () => {
  assert.equal(usualOf(sessions(90, 91, 92, 93, 50), 4), undefined)
  assert.deepEqual(usualOf(sessions(90, 91, 92, 93, 94, 50), 5), { low: 91, high: 93 })
  assert.equal(usualOf([...sessions(90, 91, 92, 93, 94), session(2, 50)], 5), undefined)
  const old = Array.from({ length: 30 }, () => session(1, 10))
  const late = Array.from({ length: 20 }, () => session(1, 80))
  assert.deepEqual(usualOf([...old, ...late, session(1, 80)], 50), { low: 80, high: 80 })
})

test('a value is over or under what is usual, or within it', () => {
  const usual = { low: 90, high: 94 }
  const beyond = [97, 96, 95, 94, 92, 90, 89, 88].map(grade => beyondUsual(grade, usual))
  assert.deepEqual(beyond, [3, 2, 1, 0, 0, 0, -1, -2])
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 100 }), { minLength: 6, maxLength: 60 }), grades => {
      const found = usualOf(sessions(...grades), grades.length - 1)
      const considered = grades.slice(0, -1).slice(-20)
      assert.ok(found !== undefined && found.low <= found.high)
      const within = considered.filter(grade => beyondUsual(grade, found) === 0)
      assert.ok(within.length * 2 >= considered.length)
    }),
  )
})

const week = (value: number | null, more: Partial<UsualPart> = {}): UsualPart => {
  return { value, days: 7, isWhole: true, isEmpty: value === 0, ...more }
}

test('of weeks, the middle half of up to twelve whole ones before says what is usual, if there are five', () => {
  const ranges = usualRanges([10, 20, 30, 40, 50, 60].map(value => week(value)))
  assert.deepEqual(ranges.slice(0, 5), Array.from({ length: 5 }))
  assert.deepEqual(ranges[5], { low: 20, high: 40 })
  const many = [...Array.from({ length: 20 }, () => week(1)), ...Array.from({ length: 12 }, () => week(7)), week(9)]
  assert.deepEqual(usualRanges(many).at(-1), { low: 7, high: 7 })
})

test('a week that is not whole is not compared and does not count, nor does one of which nothing is known', () => {
  const five = [10, 20, 30, 40, 50].map(value => week(value))
  assert.equal(usualRanges([...five, week(60, { isWhole: false })]).at(-1), undefined)
  const others = [week(1000, { isWhole: false }), week(null), week(60)]
  assert.deepEqual(usualRanges([...five, ...others]).at(-1), { low: 20, high: 40 })
})

test('an empty week counts as zero, and two of them in a row are a break, which does not count', () => {
  const five = [10, 20, 30, 40, 50].map(value => week(value))
  assert.deepEqual(usualRanges([...five, week(0), week(60)]).at(-1), { low: 10, high: 40 })
  assert.deepEqual(usualRanges([...five, week(0), week(0), week(60)]).at(-1), { low: 20, high: 40 })
  const months = [10, 20, 30, 40, 50, 0, 60].map(value => week(value, { days: 30 }))
  assert.deepEqual(usualRanges(months).at(-1), { low: 20, high: 40 })
})
