import { rowsOf } from './identity.ts'
import { isObject, rowOf, type SourceData } from './rows.ts'
import type { Source } from './source.ts'
import { walkList } from './walk.ts'

/** The people that the source shows to the token; none where it has no such list. */
export async function readPeople(source: Source): Promise<readonly SourceData[]> {
  const people = new Map<number | string, SourceData>()
  await walkList(
    async position => {
      const { data } = await source.get('/users', { limit: PAGE_SIZE, ...position })
      const rows = (rowsOf(data) ?? []).filter(isObject).map(rowOf)
      return { rows, limit: PAGE_SIZE, nextCursor: undefined }
    },
    async rows => {
      for (const { id, form, data } of rows) people.set(id ?? form, data)
      return { hasNews: false, mayStop: false }
    },
  )
  return [...people.values()]
}

const PAGE_SIZE = 100
