import { hash } from 'node:crypto'
import { etagsIn } from '../../contract/responses.ts'

/**
 * Validators of pages that are computed from the revisions of a list, not from its rows. A validator begins with what the `Link`
 * header says, because that depends on the rows: so a 304 does not need to read them.
 */

/** Identifies a page: everything that its text depends on, apart from the records. */
export type PageKey = string

/** Which other pages there are. */
export interface PageLinks {
  readonly hasNext: boolean
  readonly hasPrevious: boolean
  /** With a cursor, the position that the next page starts after. */
  readonly lastRow?: { readonly at: number; readonly id: number }
}

/** As a text of letters, digits, a dot and a minus sign. */
export function formatLinks({ hasNext, hasPrevious, lastRow }: PageLinks): string {
  if (lastRow !== undefined) return `${lastRow.at}.${lastRow.id}`
  return `${hasNext ? 'n' : ''}${hasPrevious ? 'p' : ''}`
}

function parseLinks(text: string): PageLinks {
  const [at, id] = text.split('.')
  if (id !== undefined) return { hasNext: true, hasPrevious: false, lastRow: { at: Number(at), id: Number(id) } }
  return { hasNext: text.includes('n'), hasPrevious: text.includes('p') }
}

export function pageEtag(key: PageKey, revisions: string, links: PageLinks): string {
  return etagWith(key, revisions, formatLinks(links))
}

function etagWith(key: PageKey, revisions: string, links: string): string {
  const inOneOrder = revisions.includes(',') ? revisions.split(',').toSorted().join() : revisions
  return links + hash('sha1', `${key} ${inOneOrder} ${links}`, 'base64url')
}

/** The validator in an If-None-Match header that the page has with these revisions, and what it says of links. Undefined if there is none. */
export function knownPage(
  header: string,
  key: PageKey,
  revisions: string,
): { etag: string; links: PageLinks } | undefined {
  for (const quoted of etagsIn(header)) {
    const etag = quoted.slice(1, -1)
    const links = etag.slice(0, -HASH_LENGTH)
    if (etag.length >= HASH_LENGTH && etagWith(key, revisions, links) === etag) {
      return { etag, links: parseLinks(links) }
    }
  }
  return undefined
}

/** Of SHA-1 in base64url. */
const HASH_LENGTH = 27
