/** Whether an If-None-Match header holds the validator, compared weakly. Unquoted text never matches. */
export function matchesEtag(header: string, etag: string): boolean {
  if (header === etag || header.trim() === '*') return true
  return etagsIn(header).includes(etag)
}

/** The validators in an If-None-Match header, with their quotes. */
export function etagsIn(header: string): string[] {
  return Array.from(header.matchAll(ENTITY_TAG), ([, opaque = '']) => opaque)
}

const ENTITY_TAG = /(?:^|,)[ \t]*(?:W\/)?("[\x21\x23-\x7e\x80-\xff]*")(?=[ \t]*(?:,|$))/g
