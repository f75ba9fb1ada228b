/** The methods of every path of the API: nothing can be changed through it. */
export const READ_METHODS: readonly string[] = ['GET', 'HEAD']

export const JSON_TYPE = 'application/json; charset=utf-8'

/** What stands before and after the data in the body of every 200. */
export const ENVELOPE = { before: '{"ok":true,"data":', after: '}' } as const

/** Headers of every response. Pages replace the policies by their own. */
export const SECURITY_HEADERS = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
} as const

/** A response is due within five seconds, also where the timer is late because the process is busy. */
export const RESPONSE_TIMEOUT_MS = 4500

/** PostgreSQL cancels a statement before that, so that the response says it. */
export const STATEMENT_TIMEOUT_MS = 4000

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
