import { type GetOptions, LockstepError, makeClient, NoResponseError } from '../client.ts'
import { checkJsonSize, readBody, ResponseTooLargeError } from '../contract/received-json.ts'
import { MINUTE_MS } from '../contract/time.ts'
import { USER_AGENT } from '../version.ts'
import { setTimeout as sleep } from 'node:timers/promises'

/** The source refused a request or is unavailable; the message is one line. */
export class SourceError extends Error {
  override readonly name: string = 'SourceError'
}

/** The source refused the API key (401 or 403). */
export class SourceRefusedError extends SourceError {
  override readonly name = 'SourceRefusedError'
}

/** The source responded neither to a request nor to its retries, or with too much. */
export class SourceUnavailableError extends SourceError {
  override readonly name = 'SourceUnavailableError'
}

/** What sends requests could not connect, and does not tell why. */
export class UnreachableError extends Error {
  override readonly name = 'UnreachableError'
}

export class StoppedError extends Error {
  override readonly name = 'StoppedError'
}

export interface SourceOptions {
  /** Scheme, host and port, and the path before `/api/v1`, if any. */
  readonly address: string
  readonly key: string
  /** Requests a minute; 0 for no limit. */
  readonly rate: number
  /** When requests were or will be sent, by all who keep to the rate together; of this source alone if absent. */
  readonly sent?: number[]
  readonly clock: Clock
  /** Aborted when the pull should stop: the request under way is completed, and no further one is sent. */
  readonly stop: AbortSignal
  /** Called before each pause after a failure, with what is wrong. */
  readonly onFailure?: (failure: string, waitMs: number) => void
  /** Called before each pause because no more requests are allowed now, by the source or by the rate. */
  readonly onLimit?: (waitMs: number) => void
  /** Sends a request; `fetch` if there is none. */
  readonly send?: Send
  /** How often a request is sent that gets no response: six times if there is no number. */
  readonly attempts?: number
}

export type Send = (url: string, init: RequestInit) => Promise<Response>

/** A response of the source: the `data` of a 200, or the status of a refusal (400, 404, 405, …). */
export type SourceResponse =
  | { readonly status: 200; readonly data: unknown }
  | { readonly status: number; readonly data: undefined }

export type QueryValues = Readonly<Record<string, string | number>>

/** The server that records are pulled from: sends one GET at a time, keeps to the rate, and retries. */
export class Source {
  readonly #options: SourceOptions
  readonly #client: AnyClient
  readonly #sent: number[]
  requests = 0

  constructor(options: SourceOptions) {
    this.#options = options
    const { address: baseUrl, key: token, send = fetch } = options
    this.#client = makeClient({
      baseUrl,
      token,
      retries: 0,
      fetch: (url, init) => {
        const headers = new Headers(init.headers)
        headers.set('User-Agent', USER_AGENT)
        return send(url, { ...init, headers })
      },
      read: async response => {
        const text = await readBody(response, MAX_BODY_MIB)
        checkJsonSize(text)
        return text
      },
    })
    this.#sent = options.sent ?? []
  }

  /** The address without `/api/v1`. */
  get address(): string {
    return this.#options.address
  }

  get clock(): Clock {
    return this.#options.clock
  }

  throwIfStopped() {
    if (this.#options.stop.aborted) throw new StoppedError('the pull was stopped')
  }

  /**
   * Requests a path below `/api/v1`. Throws SourceUnavailableError after the last attempt or if the response is too large,
   * SourceRefusedError for 401 and 403, SourceError for a response that is not of this API, StoppedError when the pull should
   * stop.
   */
  async get(path: string, query: QueryValues = {}): Promise<SourceResponse> {
    let failures = 0
    for (;;) {
      const result = await this.#attempt(path, query)
      if ('status' in result) return result
      if ('retryAfterMs' in result) {
        this.#options.onLimit?.(result.retryAfterMs)
        await this.wait(result.retryAfterMs)
        continue
      }
      failures += 1
      const delay = RETRY_DELAYS_MS[failures - 1]
      if (delay === undefined || failures === this.#options.attempts)
        throw new SourceUnavailableError(`${this.address} ${result.failure}`)
      this.#options.onFailure?.(`${this.address} ${result.failure}`, delay)
      await this.wait(delay)
    }
  }

  async #attempt(path: string, query: QueryValues): Promise<Attempt> {
    await this.#pace()
    this.throwIfStopped()
    this.requests += 1
    try {
      const { data } = await this.#client.call(`/api/v1${path}`, query, {
        signal: AbortSignal.timeout(REQUEST_TIMEOUT_MS),
      })
      return { status: 200, data }
    } catch (error) {
      if (error instanceof LockstepError || error instanceof NoResponseError) return this.#refusal(error, path)
      if (error instanceof SourceError) throw error
      if (error instanceof ResponseTooLargeError)
        throw new SourceUnavailableError(`${this.address} responds to ${path} with ${error.message}`)
      return this.#failureOf(error)
    }
  }

  #failureOf(error: unknown): Attempt {
    const code = failureCode(error)
    if (TLS_ERROR.test(code)) {
      throw new SourceError(`${this.address} does not accept an https connection (${code}): is this the right address?`)
    }
    if (CERTIFICATE_ERROR.test(code))
      throw new SourceError(`the certificate of ${this.address} is not accepted (${code})`)
    if (code === 'TimeoutError') return { failure: `did not respond within ${REQUEST_TIMEOUT_MS / 1000} seconds` }
    return { failure: `cannot be reached (${MEANINGS[code] ?? code})` }
  }

  #refusal(error: LockstepError | NoResponseError, path: string): Attempt {
    const { status } = error
    if (status === 429) return { retryAfterMs: waitMs(error.retryAfter) }
    // Only something in front of a server of this API sends these.
    const isPage = error instanceof NoResponseError && error.content === 'page'
    if (status >= 500) return { failure: `responds with status ${status}${isPage ? ' and a web page' : ''}` }
    if (status >= 300 && status < 400) {
      throw new SourceError(
        `${this.address} redirects to another address, which is not followed: use that address instead`,
      )
    }
    if (isPage && (status === 401 || status === 403)) {
      throw new SourceError(
        `${this.address} responds with a web page and status ${status}: something in front of it, such as a bot check or a sign-in, keeps programs out`,
      )
    }
    const code = error instanceof LockstepError && /^[a-z_]{1,64}$/.test(error.code) ? `, ${error.code}` : ''
    if (status === 401) throw new SourceRefusedError(`${this.address} refuses the API key (401${code})`)
    if (status === 403)
      throw new SourceRefusedError(`${this.address} does not allow ${path} to this API key (403${code})`)
    if (status !== 200) return { status, data: undefined }
    if (isPage)
      throw new SourceError(`${this.address} responds with HTML instead of JSON: is this the address of the API?`)
    if (error instanceof NoResponseError && error.content === 'other')
      return { failure: 'responds with incomplete JSON' }
    throw new SourceError(`${this.address} responds with JSON that is not of this API: is this the right address?`)
  }

  /** Waits until the rate allows one more request. */
  async #pace() {
    const { rate, clock, onLimit } = this.#options
    if (rate === 0) return
    const now = clock.now()
    const oldest = this.#sent.length < rate ? undefined : this.#sent.shift()
    // The clock may have been set back.
    const at = oldest === undefined ? now : Math.min(Math.max(now, oldest + MINUTE_MS), now + MINUTE_MS)
    // Noted before the wait, so that others wait for their own turn.
    this.#sent.push(at)
    if (at > now) onLimit?.(at - now)
    await this.wait(at - now)
  }

  /** Throws StoppedError when the pull should stop. */
  async wait(ms: number) {
    if (ms <= 0) return this.throwIfStopped()
    try {
      await this.clock.wait(ms, this.#options.stop)
    } catch {
      // Only the signal rejects a wait.
    }
    this.throwIfStopped()
  }
}

/** The client of the API, without its types: a source need not have what the contract promises. */
interface AnyClient {
  call(path: string, query: QueryValues, options: GetOptions): Promise<{ readonly data: unknown }>
}

type Attempt = SourceResponse | { readonly failure: string } | { readonly retryAfterMs: number }

const REQUEST_TIMEOUT_MS = 30_000
/** The delays before the second and each further attempt. */
const RETRY_DELAYS_MS = [0, 1000, 2000, 4000, 8000]
const DEFAULT_RETRY_AFTER_MS = 5000
/** A source that names no time, or one that is past, must not be asked without end. */
const MIN_RETRY_AFTER_MS = 1000
const MAX_RETRY_AFTER_MS = 300_000

/** Far more than a page of the largest records that are sent. */
const MAX_BODY_MIB = 64

/** The connection cannot be encrypted, for example because the server is one for plain HTTP. */
export const TLS_ERROR = /^(ERR_SSL_|EPROTO)/
export const CERTIFICATE_ERROR = /CERT|SELF_SIGNED|UNABLE_TO_|HOSTNAME_MISMATCH|INVALID_CA|INVALID_PURPOSE|ERR_TLS/

function waitMs(seconds: number | undefined): number {
  const ms = seconds === undefined ? DEFAULT_RETRY_AFTER_MS : seconds * 1000
  return Math.min(Math.max(ms, MIN_RETRY_AFTER_MS), MAX_RETRY_AFTER_MS)
}

function failureCode(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown error'
  if (error.name === 'TimeoutError' || error instanceof UnreachableError) return error.name
  const { cause } = error
  const reason: unknown = cause instanceof AggregateError ? cause.errors[0] : cause
  return reason instanceof Error && 'code' in reason ? String(reason.code) : 'the connection was cut'
}

const MEANINGS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'nothing listens there: ECONNREFUSED',
  ENOTFOUND: 'there is no server of this name: ENOTFOUND',
  ECONNRESET: 'the connection was cut: ECONNRESET',
  UnreachableError: 'no https connection: check the name and the port, and that it is a public address',
}

/** The time and a timer, which tests replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after this time; rejects when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: Date.now,
  wait: (ms, signal) => sleep(ms, undefined, { signal }),
}
