import { hash } from 'node:crypto'
import { etagsIn } from '../contract/etags.ts'

/**
 * Validators of pages that are computed from the revisions of a list, not from its rows. A validator begins with what the `Link`
 * header says, because that depends on the rows: so a 304 does not need to read them.
 */

/** Identifies a page: everything that its text depends on, apart from the records. */
export type PageKey = string

/** The validator of a page. `links` has no characters but letters, digits, dots and minus signs. */
export function pageEtag(key: PageKey, revisions: string, links: string): string {
  const inOneOrder = revisions.includes(',') ? revisions.split(',').toSorted().join() : revisions
  return links + hash('sha1', `${key} ${inOneOrder} ${links}`, 'base64url')
}

/** The validator in an If-None-Match header that the page has with these revisions, and its `links`. Undefined if there is none. */
export function knownPage(
  header: string,
  key: PageKey,
  revisions: string,
): { etag: string; links: string } | undefined {
  for (const quoted of etagsIn(header)) {
    const etag = quoted.slice(1, -1)
    const links = etag.slice(0, -HASH_LENGTH)
    if (etag.length >= HASH_LENGTH && pageEtag(key, revisions, links) === etag) return { etag, links }
  }
  return undefined
}

/** Of SHA-1 in base64url. */
const HASH_LENGTH = 27
