/** Whether an If-None-Match header holds the validator, compared weakly. Unquoted text never matches. */
export function matchesEtag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true
  for (const [, opaque] of header.matchAll(ENTITY_TAG)) if (opaque === etag) return true
  return false
}

const ENTITY_TAG = /(?:^|,)[ \t]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")(?=[ \t]*(?:,|$))/g
