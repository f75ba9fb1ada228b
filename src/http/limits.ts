import { networkOf } from '../accounts/addresses.ts'
import { type RateWindow, RateWindows } from '../accounts/windows.ts'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'

/**
 * The limits of this process; other processes count for themselves. Times are milliseconds of `performance.now()`, so
 * that a clock that is set back does not extend a window.
 */
export interface Limits {
  /** Counts a request of a token. Throws rate_limited. The window must be released after the request. */
  admit(tokenId: number, now: number): RateWindow
  /** Uncounts a request that was counted at `countedAt`, for a response that cost next to nothing. */
  refund(window: RateWindow, countedAt: number): void
  release(window: RateWindow): void
  /** Header lines with the remaining requests; empty if there is no limit. */
  lines(window: RateWindow, now: number): string
  /** Counts a failed authentication. Throws rate_limited if there were too many from this network. */
  countFailure(address: string, now: number): void
}

/** The limits are of requests in a window, requests at the same time and failures in a window; 0 for none. */
export function makeLimits({
  rateLimit,
  concurrencyLimit,
  failureLimit,
}: Pick<Config, 'rateLimit' | 'concurrencyLimit' | 'failureLimit'>): Limits {
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
    refund: (window, countedAt) => tokens.refund(window, countedAt),
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

/** Never longer than a window: sums of these times are not exact. */
function secondsUntil(instant: number, now: number): number {
  return Math.min(WINDOW_MS / 1000, Math.max(1, Math.ceil((instant - now) / 1000)))
}
