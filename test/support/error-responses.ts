import assert from 'node:assert/strict'
import { type ErrorCode, errors, type FieldError } from '../../src/contract/errors.ts'
import { header, type RawAnswer } from './raw.ts'
import { MARK } from './requests.ts'

/** The exact responses of all errors. */

const REQUEST_ID = /^[A-Za-z0-9._-]{16,}$/
const DATE =
  /^(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d (Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d{4} \d\d:\d\d:\d\d GMT$/

/** Headers of every response of the API, and of every error wherever it is thrown. */
const EVERYWHERE: Readonly<Record<string, string>> = {
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
}

export interface Promised {
  readonly code: ErrorCode
  /** Another code of the same status that is accepted: the parser may refuse a target before the service does. */
  readonly or?: ErrorCode
  readonly error?: string
  readonly fieldErrors?: readonly FieldError[]
  /** Headers of this error in addition to those of all. */
  readonly headers?: Readonly<Record<string, string>>
  /** Whether the connection ends; undefined if not specified. */
  readonly closes?: boolean
  /** Whether the limit of the token is shown. */
  readonly limited?: boolean
  /** Whether it is the response to a HEAD request. */
  readonly head?: boolean
}

/** Checks an error completely: status, exactly these headers, and the bytes of the body. */
export function assertPromised(answer: RawAnswer, promised: Promised) {
  const { code, or, error, fieldErrors, headers = {}, closes, limited = false, head = false } = promised
  const { status } = errors[code]
  assert.equal(answer.status, status, `${answer.status} instead of ${status} ${code}: ${answer.body}`)

  const requestId = header(answer, 'X-Request-Id') ?? ''
  assert.match(requestId, REQUEST_ID)
  assert.match(header(answer, 'Date') ?? '', DATE)
  for (const [name, value] of Object.entries({ ...EVERYWHERE, ...headers }))
    assert.equal(header(answer, name), value, name)
  const connection = header(answer, 'Connection')
  if (closes !== undefined) assert.equal(connection, closes ? 'close' : 'keep-alive')
  assert.deepEqual(
    answer.headers.map(([name]) => name).toSorted(),
    [
      'Connection',
      'Content-Length',
      'Content-Type',
      'Date',
      'X-Request-Id',
      ...Object.keys(EVERYWHERE),
      ...Object.keys(headers),
      ...(connection === 'keep-alive' ? ['Keep-Alive'] : []),
      ...(limited ? ['RateLimit', 'RateLimit-Policy'] : []),
    ].toSorted(),
  )
  assert.equal(header(answer, 'Content-Type'), 'application/json; charset=utf-8')

  if (head) assert.equal(answer.body, '')
  else {
    const { error: text, code: sent } = JSON.parse(answer.body) as { error: string; code: string }
    const body = { ok: false, error: error ?? text, code: sent === or ? or : code, status, requestId, fieldErrors }
    assert.equal(answer.body, JSON.stringify(body))
    assert.equal(header(answer, 'Content-Length'), String(Buffer.byteLength(answer.body)))
    assert.ok(text.length > 0)
  }
  // The identifier of the request is random, so it may contain anything.
  const everything = JSON.stringify([answer.reason, answer.headers, answer.body]).replaceAll(requestId, '')
  assert.ok(!everything.includes(MARK) && !everything.includes('lks_'), 'nothing of the request is repeated')
}

/** Errors of authenticated callers, whose limit is shown. */
export const AFTER_CREDENTIALS: ReadonlySet<ErrorCode> = new Set([
  'subscription_required',
  'insufficient_scope',
  'unknown_parameter',
  'repeated_parameter',
  'invalid_parameter',
  'owner_not_accessible',
  'not_found',
])
