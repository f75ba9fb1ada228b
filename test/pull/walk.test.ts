import assert from 'node:assert/strict'
import fc from 'fast-check'
import { test } from 'node:test'
import { SourceError } from '../../src/pull/source.ts'
import { sourceRow } from '../../src/pull/lists.ts'
import { walkList } from '../../src/pull/walk.ts'

// engine: any

const LIMIT = 100

/** A list that changes while it is walked: `change` is called before each page is read. */
function makeList(ids: readonly number[], change: (list: number[], read: number) => void) {
  const list = [...ids]
  const seen = new Set<number>()
  let reads = 0
  const walk = () =>
    walkList(
      async position => {
        assert.ok('offset' in position)
        change(list, reads)
        reads += 1
        const rows = list.slice(position.offset, position.offset + LIMIT).map(id => sourceRow({ id }))
        return { rows, limit: LIMIT, nextCursor: undefined }
      },
      async rows => {
        const found = rows.flatMap(({ id }) => id ?? [])
        const hasNews = found.some(id => !seen.has(id))
        for (const id of found) seen.add(id)
        return { hasNews, canStop: false }
      },
    )
  return { seen, walk }
}

const range = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index)

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
