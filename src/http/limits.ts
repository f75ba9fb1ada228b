import { MAX_CHECKS, TooManyPasswordsError } from '../accounts/passwords.ts'
import { type Config, MAX_CHECKS_PER_HOUR, settings } from '../config.ts'
import { type ErrorCode, errors, HttpError } from '../contract/errors.ts'
import { RESPONSE_TIMEOUT_MS } from '../contract/responses.ts'
import { MIN_OVERLOAD_REQUESTS } from '../fairness.ts'

const CLOSED = 'A new one is closed at once'
const LATE = '408; the connection closes'
const TOO_LARGE = '413; the connection closes after two seconds'
const WAITING = 'Others wait (not counted)'
const PERIOD = `\`${settings.requestTimeout.env}\``

/**
 * All limits of whoever connects, of the API, pages and forms alike: a number, or the setting that has it. Each process counts for
 * itself. `npm run docs` writes them to docs/settings.md. The name is the label of the metric that counts how often a limit was reached.
 */
export const limits = {
  connections: limit(4096, 'open connections', CLOSED),
  addressConnections: limit('addressConnections', 'open connections, by address, except of trusted proxies', CLOSED),
  headerBytes: limit(16 * 1024, 'bytes of a URL and headers', '431; the connection closes'),
  headersTimeout: limit('headersTimeout', 'until the headers have arrived', LATE),
  bodyTimeout: limit('requestTimeout', 'until a form has arrived, from its headers', LATE),
  formBytes: limit(64 * 1024, 'bytes of a form', TOO_LARGE),
  uploadBytes: limit('uploadMax', 'bytes of an upload', TOO_LARGE),
  uploadRate: limit(16 * 1024, `bytes of an upload a second, as the least in each ${PERIOD}`, LATE),
  uploadTime: limit(3_600_000, 'milliseconds until an upload has arrived', LATE),
  uploadFiles: limit(100, 'files of an upload', '400; the connection closes after two seconds (not counted)'),
  uploadsInWork: limit(4, 'uploads checked or stored at once: one, and checks longer than a minute', WAITING),
  uploads: limit(1, 'uploads at once, by account', '429; the connection closes after two seconds'),
  idleTimeout: limit('keepAlive', 'without a request', 'The connection closes (not counted)'),
  unreadTimeout: limit('requestTimeout', 'without a client reading its response', 'The connection closes'),
  responseTimeout: limit(RESPONSE_TIMEOUT_MS, 'milliseconds until a response from PostgreSQL', '503'),
  lag: limit(
    'overloadLag',
    `of overload: delay of the event loop, with over ${MIN_OVERLOAD_REQUESTS} requests in work`,
    '503',
  ),
  rate: limit('rateLimit', 'requests in 60 seconds, by API key', '429'),
  concurrency: limit('concurrencyLimit', 'requests at the same time, by API key', '429'),
  statistics: limit(2, 'statistics in work, by account', WAITING),
  failures: limit('failureLimit', 'wrong API keys in 60 seconds, by address', '429'),
  sessionPages: limit('pageLimit', 'pages in 60 seconds, by browser session', '429'),
  addressPages: limit('addressPageLimit', 'pages in 60 seconds, by address', '429'),
  attempts: limit(
    10,
    'failed sign-ins and wrong current passwords in 15 minutes, by account, address or browser',
    '429',
  ),
  exports: limit(1, 'exports of everything at once, by account', '429'),
  passwordChecks: limit(MAX_CHECKS, 'passwords to check at the same time', '503'),
  sourceChecks: limit(MAX_CHECKS_PER_HOUR, 'checks of a source in an hour, by account', '429'),
  windows: limit(100_000, 'keys, addresses and accounts that are counted', 'The older half is forgotten (not counted)'),
} as const

export type LimitName = keyof typeof limits

/** What bounds whoever connects: how much, of what, and what happens beyond. */
export type Limit = (typeof limits)[LimitName]

/** A request that is refused because a limit is reached. The API accepts no bodies, so that one is too large is no error of its table. */
export class LimitError extends HttpError {
  override readonly name = 'LimitError'
  readonly limit: LimitName

  constructor(limit: LimitName, code: ErrorCode | 'body_too_large', retryAfter?: number, message?: string) {
    const { status, text } = code === 'body_too_large' ? tooLarge(limit) : errors[code]
    super(code, status, message ?? text, retryAfter === undefined ? {} : { retryAfter })
    this.limit = limit
  }
}

const tooLarge = (limit: LimitName) => ({
  status: 413,
  text: `The ${limit === 'formBytes' ? 'form' : 'upload'} is larger than allowed`,
})

export function limitOf(error: unknown): LimitName | undefined {
  if (error instanceof LimitError) return error.limit
  return error instanceof TooManyPasswordsError ? 'passwordChecks' : undefined
}

function limit<const Max extends number | keyof Config>(max: Max, of: string, beyond: string) {
  return { max, of, beyond }
}
