import { hash } from 'node:crypto'
import { encodeCursor, type Position } from '../contract/cursor.ts'
import type { RecordRow } from '../accounts/access.ts'
import { BETWEEN_DOCUMENTS, type PageRow, type RowSizes } from './list-queries.ts'

/** What an answer is: the JSON text of `data`, and a strong validator of it. */
export interface Result {
  /** Its parts; joining them here would be one copy more. */
  readonly data: readonly string[] | LongText
  readonly etag: string
  /** The parameters that lead to the next and the previous page, in place of those that led here. */
  readonly next?: Turn | undefined
  readonly previous?: Turn | undefined
}

/** A text that is too long to be held as a whole. */
interface LongText {
  /** All of it, in UTF-8. */
  readonly bytes: number
  /** Can be read once. Ends early, by an error, where the store does not give what it had. */
  readonly parts: AsyncIterable<string>
}

/** What a row is known to be before its text is read. */
interface LongRow {
  readonly etag: string
  readonly bytes: number
}

export type Turn = { readonly offset: number } | { readonly cursor: string }

/** One record as it is stored. */
export function one({ document, etag }: Pick<RecordRow, 'document' | 'etag'>): Result {
  return { data: [document], etag }
}

/** There is nothing to show, which is an answer too. */
export const none: Result = { data: ['null'], etag: 'null' }

/** Data made for this answer. */
export function made(data: string): Result {
  return { data: [data], etag: etagOf(data) }
}

/** Which page of a list was asked for. */
export interface PageParams {
  readonly limit: number
  readonly offset: number | undefined
  readonly cursor: Position | 'start' | undefined
}

/**
 * A page of rows. They are one more than it holds where another page follows; `list` names the list that a cursor
 * belongs to.
 */
export function pageOf(joined: PageRow | undefined, asked: PageParams, list: string): Result {
  const { documents = null, etags = null, positions = null } = joined ?? {}
  const { more, pagination, ...rest } = frameOf({ etags, positions }, asked, list)
  const shown = (more ? beforeLast(documents, BETWEEN_DOCUMENTS) : documents) ?? ''
  return { data: ['{"data":[', shown, `],"pagination":${pagination}}`], ...rest }
}

/** A page whose rows are read piece by piece while it is sent. */
export function longPageOf(
  listed: RowSizes | undefined,
  asked: PageParams,
  list: string,
  read: (id: number, row: LongRow) => AsyncIterable<string>,
): Result {
  const { sizes = null, etags = null, positions = null } = listed ?? {}
  const { more, pagination, ...rest } = frameOf({ etags, positions }, asked, list)
  const [texts, validators, ids] = [sizes, etags, positions].map(column => column?.split(',') ?? [])
  const rows = (validators ?? []).map((etag, index) => ({
    etag,
    bytes: Number(texts?.[index]),
    id: Number(ids?.[index]?.split('.')[1]),
  }))
  if (more) rows.pop()
  const between = (index: number) => (index === 0 ? '' : BETWEEN_DOCUMENTS)
  const before = '{"data":['
  const after = `],"pagination":${pagination}}`
  const bytes = rows.reduce((sum, row, index) => sum + between(index).length + row.bytes, before.length + after.length)
  async function* parts() {
    yield before
    for (const [index, { id, ...row }] of rows.entries()) {
      yield between(index)
      yield* read(id, row)
    }
    yield after
  }
  return { data: { bytes, parts: parts() }, ...rest }
}

/** What stands around the rows of a page. */
function frameOf({ etags, positions }: Pick<PageRow, 'etags' | 'positions'>, asked: PageParams, list: string) {
  const { limit, offset = 0, cursor } = asked
  const more = etags !== null && countOf(etags) > limit
  const shown = more ? beforeLast(etags, ',') : etags
  let next: Turn | undefined
  let previous: Turn | undefined
  let pagination: string
  if (cursor === undefined) {
    // Past this no offset is exact; nobody has so many rows.
    if (more && offset + limit <= Number.MAX_SAFE_INTEGER) next = { offset: offset + limit }
    if (offset > 0) previous = { offset: Math.max(0, offset - limit) }
    pagination = `{"limit":${limit},"offset":${offset}}`
  } else {
    const nextCursor = more ? cursorAfter(positions, list) : null
    if (nextCursor !== null) next = { cursor: nextCursor }
    pagination = `{"limit":${limit},"nextCursor":${JSON.stringify(nextCursor)}}`
  }
  return { more, pagination, etag: etagOf(`${pagination},${shown ?? ''}`), next, previous }
}

/** The cursor of the last row but one, which is the last that is shown. */
function cursorAfter(positions: string | null, list: string): string {
  const shown = beforeLast(positions, ',') ?? ''
  const [at, id] = shown.slice(shown.lastIndexOf(',') + 1).split('.')
  return encodeCursor(Number(at), Number(id), list)
}

function countOf(list: string): number {
  let count = 1
  for (let comma = list.indexOf(','); comma !== -1; comma = list.indexOf(',', comma + 1)) count += 1
  return count
}

function beforeLast(text: string | null, separator: string): string | null {
  return text === null ? null : text.slice(0, text.lastIndexOf(separator))
}

function etagOf(text: string): string {
  return hash('sha1', text, 'base64url')
}
