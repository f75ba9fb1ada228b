import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SourceError } from '../../src/pull/source.ts'
import { sourceRow } from '../../src/pull/lists.ts'
import { walkList } from '../../src/pull/walk.ts'

// engine: any

const LIMIT = 100

/** A walk of a list that changes: `change` is called before each page is read. */
function walkOf(ids: readonly number[], change: (list: number[]) => void) {
  const list = [...ids]
  const seen = new Set<number>()
  return () =>
    walkList(
      async position => {
        assert.ok('offset' in position)
        change(list)
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
}

const range = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index)

test('a list that keeps changing, and one that ignores the offset, end the walk with an error', async () => {
  let next = 1000
  const restless = walkOf(range(400), rows => rows.unshift(...range(150, (next += 200))))
  await assert.rejects(restless(), SourceError)
  const stuck = walkList(
    async () => ({ rows: range(100).map(id => sourceRow({ id })), limit: 100, nextCursor: undefined }),
    async () => ({ hasNews: false, canStop: false }),
  )
  await assert.rejects(stuck, /every offset of a list with the same page/)
})
