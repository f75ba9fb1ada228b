/** Whether an If-None-Match header holds the validator, compared weakly. Unquoted text never matches. */
export function matchesEtag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true
  return etagsIn(header).includes(etag)
}

/** The validators in an If-None-Match header, with their quotes, and without what a proxy that compresses appends. */
export function etagsIn(header: string): string[] {
  // What most clients send.
  const tags = ONE_TAG.test(header) ? [header] : Array.from(header.matchAll(ENTITY_TAG), ([, opaque = '']) => opaque)
  return tags.map(tag => tag.replace(/-(?:gzip|br)"$/, '"'))
}

const ONE_TAG = /^"[\x21\x23-\x7e\x80-\xff]*"$/
const ENTITY_TAG = /(?:^|,)[ \t]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")(?=[ \t]*(?:,|$))/g
