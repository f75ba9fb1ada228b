import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'node:test'
import { SourceError } from '../../src/pull/source.ts'
import { sourceRow, type SourceRow } from '../../src/pull/lists.ts'
import { walkList } from '../../src/pull/walk.ts'

// engine: any

/** A list that changes while it is walked: `change` is called before each page is read. */
function makeList(ids: readonly number[], change: (list: number[], read: number) => void = () => {}, limit = 100) {
  const list = [...ids]
  const offsets: number[] = []
  const visited: SourceRow[] = []
  const seen = new Set<number>()
  return {
    list,
    offsets,
    visited,
    seen,
    walk: (isEnough: (rows: readonly SourceRow[], page: number) => boolean = () => false) =>
      walkList(
        async position => {
          assert.ok('offset' in position)
          change(list, offsets.length)
          offsets.push(position.offset)
          const rows = list.slice(position.offset, position.offset + limit).map(id => sourceRow({ id }))
          return { rows, limit, nextCursor: undefined }
        },
        async rows => {
          const hasNews = rows.some(({ id }) => id !== undefined && !seen.has(id))
          for (const row of rows) {
            visited.push(row)
            if (row.id !== undefined) seen.add(row.id)
          }
          return { hasNews, canStop: isEnough(rows, offsets.length) }
        },
      ),
  }
}

const range = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index)

test('each page after the first begins ten rows early, and the first is read again at the end', async () => {
  const list = makeList(range(250))
  const walk = await list.walk()
  assert.deepEqual(list.offsets, [0, 90, 180, 0])
  assert.deepEqual(walk, { pages: 3, steppedBack: false, stoppedEarly: false })
  assert.deepEqual([...list.seen], range(250))
})

test('a walk that stops at its second page is not read again, one that stops later is', async () => {
  const second = makeList(range(500))
  await second.walk((_, page) => page === 2)
  assert.deepEqual(second.offsets, [0, 90])
  const third = makeList(range(500))
  await third.walk((_, page) => page === 3)
  assert.deepEqual(third.offsets, [0, 90, 180, 0])
})

test('a list that keeps changing, and one that ignores the offset, end the walk with an error', async () => {
  let next = 1000
  const restless = makeList(range(400), rows => rows.unshift(...range(150, (next += 200))))
  await assert.rejects(restless.walk(), SourceError)
  const stuck = walkList(
    async () => ({ rows: range(100).map(id => sourceRow({ id })), limit: 100, nextCursor: undefined }),
    async () => ({ hasNews: false, canStop: false }),
  )
  await assert.rejects(stuck, /every offset of a list with the same page/)
})

test('a row that stays is never missed, whatever is added and removed during the walk', async () => {
  const changes = fc.array(
    fc.record({
      read: fc.integer({ min: 0, max: 12 }),
      adds: fc.boolean(),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
      count: fc.integer({ min: 1, max: 45 }),
    }),
    { maxLength: 6 },
  )
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 0, max: 420 }), changes, async (length, schedule) => {
      let next = 10_000
      const removed = new Set<number>()
      const list = makeList(range(length), (rows, read) => {
        for (const change of schedule.filter(({ read: when }) => when === read)) {
          // Rows are added at the front and removed anywhere.
          if (change.adds) rows.unshift(...range(change.count, (next += 100)).reverse())
          else for (const id of rows.splice(Math.floor(change.at * rows.length), change.count)) removed.add(id)
        }
      })
      await list.walk()
      const missed = range(length).filter(id => !removed.has(id) && !list.seen.has(id))
      assert.deepEqual(missed, [])
    }),
    { numRuns: 300 },
  )
})

test('cursors are followed to their end', async () => {
  const seen: (number | undefined)[] = []
  const asked: object[] = []
  await walkList(
    async position => {
      asked.push(position)
      const start = 'cursor' in position ? Number(position.cursor) : 0
      const rows = range(250).slice(start, start + 100)
      return {
        rows: rows.map(id => sourceRow({ id })),
        limit: 100,
        nextCursor: start + 100 < 250 ? String(start + 100) : null,
      }
    },
    async rows => {
      seen.push(...rows.map(({ id }) => id))
      return { hasNews: asked.length < 4, canStop: false }
    },
  )
  assert.deepEqual(seen.slice(0, 250), range(250))
  assert.deepEqual(asked, [{ offset: 0 }, { cursor: '100' }, { cursor: '200' }, { offset: 0 }])
})
