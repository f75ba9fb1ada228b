import { networkOf } from '../accounts/addresses.ts'
import { type RateWindow, RateWindows } from '../accounts/windows.ts'
import { ApiError } from '../contract/errors.ts'

export interface LimitSettings {
  /** Requests of a token in a window; 0 for any number. */
  readonly rateLimit: number
  /** Requests of a token at once; 0 for any number. */
  readonly concurrencyLimit: number
  /** Failed authentications of a network in a window; 0 for any number. */
  readonly failureLimit: number
}

/**
 * The limits of this process; other processes count for themselves. Times are milliseconds of `performance.now()`, so
 * that a clock that is set back does not extend a window.
 */
export interface Limits {
  /** Charges a request to its token. Throws rate_limited. What was charged must be released. */
  admit(tokenId: number, now: number): RateWindow
  /** Takes back the charge of a request made at `chargedAt`, for a response that cost next to nothing. */
  refund(window: RateWindow, chargedAt: number): void
  release(window: RateWindow): void
  /** What is left, as header lines; empty if there is no limit. */
  lines(window: RateWindow, now: number): string
  /** Counts a failed authentication. Throws rate_limited once there were too many from this network. */
  countFailure(address: string, now: number): void
}

export function makeLimits({ rateLimit, concurrencyLimit, failureLimit }: LimitSettings): Limits {
  const tokens = new RateWindows<number>(WINDOW_MS)
  const failures = new RateWindows<string>(WINDOW_MS)
  const policy = `RateLimit-Policy: "default";q=${rateLimit};w=${WINDOW_MS / 1000}\r\n`

  return {
    admit(tokenId, now) {
      const window = tokens.get(tokenId, now)
      if (rateLimit > 0 && window.used >= rateLimit) {
        throw new RateLimitedError('rate', secondsUntil(window.endsAt, now), window)
      }
      window.used += 1
      if (concurrencyLimit > 0 && window.active >= concurrencyLimit) {
        throw new RateLimitedError('concurrency', 1, window)
      }
      window.active += 1
      return window
    },
    refund: (window, chargedAt) => tokens.refund(window, chargedAt),
    release(window) {
      window.active -= 1
    },
    lines(window, now) {
      if (rateLimit === 0) return ''
      const left = Math.max(0, rateLimit - window.used)
      return `${policy}RateLimit: "default";r=${left};t=${secondsUntil(window.endsAt, now)}\r\n`
    },
    countFailure(address, now) {
      if (failureLimit === 0) return
      const window = failures.get(networkOf(address), now)
      window.used += 1
      if (window.used > failureLimit) throw new RateLimitedError('failures', secondsUntil(window.endsAt, now))
    },
  }
}

/** A request over a limit; `window` is that of its token, if it has one. */
export class RateLimitedError extends ApiError {
  readonly limit: 'rate' | 'concurrency' | 'failures'
  readonly window: RateWindow | undefined
  constructor(limit: RateLimitedError['limit'], retryAfter: number, window?: RateWindow) {
    super('rate_limited', undefined, { retryAfter })
    this.limit = limit
    this.window = window
  }
}

const WINDOW_MS = 60_000

function secondsUntil(instant: number, now: number): number {
  return Math.max(1, Math.ceil((instant - now) / 1000))
}
