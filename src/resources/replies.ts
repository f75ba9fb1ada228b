import { hash } from 'node:crypto'
import { encodeCursor, type Position } from '../contract/cursor.ts'
import { BETWEEN_DOCUMENTS, type Found, type Joined } from './access.ts'

/** What an answer is: the JSON text of `data`, and a strong validator of it. */
export interface Reply {
  readonly data: string
  readonly etag: string
  /** The parameters that lead to the next and the previous page, in place of those that led here. */
  readonly next?: Turn | undefined
  readonly previous?: Turn | undefined
}

export type Turn = { readonly offset: number } | { readonly cursor: string }

/** One record as it is stored. */
export function one({ document, etag }: Pick<Found, 'document' | 'etag'>): Reply {
  return { data: document, etag }
}

/** There is nothing to show, which is an answer too. */
export const none: Reply = { data: 'null', etag: 'null' }

/** Data made for this answer. */
export function made(data: string): Reply {
  return { data, etag: etagOf(data) }
}

/** Which page of a list was asked for. */
export interface Asked {
  readonly limit: number
  readonly offset: number | undefined
  readonly cursor: Position | 'start' | undefined
}

/**
 * A page of rows. They are one more than it holds where another page follows; `list` names the list that a cursor
 * belongs to.
 */
export function pageOf(joined: Joined | undefined, asked: Asked, list: string): Reply {
  const { limit, offset = 0, cursor } = asked
  let { documents, etags, places } = { ...NO_ROWS, ...joined }
  const more = places !== null && countOf(places) > limit
  if (more) {
    documents = beforeLast(documents, BETWEEN_DOCUMENTS)
    etags = beforeLast(etags, ',')
    places = beforeLast(places, ',')
  }
  let next: Turn | undefined
  let previous: Turn | undefined
  let pagination: string
  if (cursor === undefined) {
    // Past this no offset is exact; nobody has so many rows.
    if (more && offset + limit <= Number.MAX_SAFE_INTEGER) next = { offset: offset + limit }
    if (offset > 0) previous = { offset: Math.max(0, offset - limit) }
    pagination = `{"limit":${limit},"offset":${offset}}`
  } else {
    const [at, id] = (places ?? '').slice((places ?? '').lastIndexOf(',') + 1).split('.')
    const nextCursor = more ? encodeCursor(Number(at), Number(id), list) : null
    if (nextCursor !== null) next = { cursor: nextCursor }
    pagination = `{"limit":${limit},"nextCursor":${JSON.stringify(nextCursor)}}`
  }
  return {
    data: `{"data":[${documents ?? ''}],"pagination":${pagination}}`,
    etag: etagOf(`${pagination},${etags ?? ''}`),
    next,
    previous,
  }
}

const NO_ROWS: Joined = { documents: null, etags: null, places: null }

function countOf(places: string): number {
  let count = 1
  for (let comma = places.indexOf(','); comma !== -1; comma = places.indexOf(',', comma + 1)) count += 1
  return count
}

function beforeLast(text: string | null, separator: string): string | null {
  return text === null ? null : text.slice(0, text.lastIndexOf(separator))
}

function etagOf(text: string): string {
  return hash('sha1', text, 'base64url')
}
