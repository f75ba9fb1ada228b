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
