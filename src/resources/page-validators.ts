import { hash } from 'node:crypto'
import { etagsIn } from '../contract/etags.ts'

/**
 * Validators of pages that follow from the revisions of a list, not from its rows. A validator begins with what the `Link` header
 * says, which only the rows tell, so that a 304 needs none of them.
 */

/** Which page: what decides its text, apart from the records. */
export type PageKey = string

/** The validator of a page. `links` has no characters but letters, digits, dots and minus signs. */
export function pageEtag(key: PageKey, revisions: string, links: string): string {
  const inOneOrder = revisions.includes(',') ? revisions.split(',').toSorted().join() : revisions
  return links + hash('sha1', `${key} ${inOneOrder} ${links}`, 'base64url')
}

/** Of an If-None-Match header, the validator that the page has with these revisions, and its `links`. */
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
