import { PAGE_SIZE, toPage } from './reader.ts'
import type { SourceData } from './rows.ts'
import { type Source, SourceError } from './source.ts'
import { walkList } from './walk.ts'

/** The people whom the source lists to the API key; none if it has no such list. */
export async function readPeople(source: Source): Promise<readonly SourceData[]> {
  const people = new Map<number | string, SourceData>()
  await walkList(
    async position => {
      const { status, data } = await source.get('/users', { limit: PAGE_SIZE, ...position })
      const page = toPage(data)
      if (page !== undefined) return { ...page, nextCursor: undefined }
      // People who are not listed lose access, so an incomplete list must not count.
      if (!('offset' in position) || position.offset > 0) {
        throw new SourceError(`${source.address} responds to a page of /users without a list (${status})`)
      }
      return { rows: [], limit: PAGE_SIZE, nextCursor: undefined }
    },
    async rows => {
      for (const { id, form, data } of rows) people.set(id ?? form, data)
      return { hasNews: false, canStop: false }
    },
  )
  return [...people.values()]
}
