import { hash } from 'node:crypto'
import { encodeCursor, type Position } from '../contract/cursor.ts'
import type { Found } from './access.ts'

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

interface Shown {
  readonly id: number
  readonly document: string
  readonly etag: string
  readonly at?: number
}

/** A page of rows. They are one more than it holds where another page follows; `list` names the list that a cursor belongs to. */
export function pageOf(rows: readonly Shown[], asked: Asked, list: string): Reply {
  const { limit } = asked
  const more = rows.length > limit
  const shown = more ? rows.slice(0, limit) : rows
  const last = shown.at(-1)
  let next: Turn | undefined
  let previous: Turn | undefined
  let pagination: string
  if (asked.cursor === undefined) {
    const offset = asked.offset ?? 0
    // Past this no offset is exact; nobody has so many rows.
    if (more && offset + limit <= Number.MAX_SAFE_INTEGER) next = { offset: offset + limit }
    if (offset > 0) previous = { offset: Math.max(0, offset - limit) }
    pagination = `{"limit":${limit},"offset":${offset}}`
  } else {
    const nextCursor = more && last !== undefined ? encodeCursor(last.at ?? 0, last.id, list) : null
    if (nextCursor !== null) next = { cursor: nextCursor }
    pagination = `{"limit":${limit},"nextCursor":${JSON.stringify(nextCursor)}}`
  }
  let data = ''
  let etags = pagination
  for (const { document, etag } of shown) {
    data += data === '' ? document : `,${document}`
    etags += `,${etag}`
  }
  return { data: `{"data":[${data}],"pagination":${pagination}}`, etag: etagOf(etags), next, previous }
}

function etagOf(text: string): string {
  return hash('sha1', text, 'base64url')
}
