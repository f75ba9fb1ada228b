import { ApiError } from '../contract/errors.ts'
import { networkOf } from './addresses.ts'

/** What one token, or one network, used of its window. */
export interface Allowance {
  /** When the window ends, in milliseconds since 1970. */
  ends: number
  used: number
  /** Requests that are not answered yet. */
  active: number
}

export interface LimitSettings {
  /** Requests of a token in a window; 0 for any number. */
  readonly rateLimit: number
  /** Requests of a token at once; 0 for any number. */
  readonly concurrencyLimit: number
  /** Refused credentials of an address in a window; 0 for any number. */
  readonly failureLimit: number
}

/** The limits of this process: other processes count for themselves. Memory is bounded, whoever calls. */
export interface Limits {
  /** Charges a request to its token. Throws rate_limited. What was charged must be released. */
  admit(tokenId: number, now: number): Allowance
  /** Takes the charge of a request made at `now` back, for an answer that cost next to nothing. */
  refund(allowance: Allowance, now: number): void
  release(allowance: Allowance): void
  /** What is left, as header lines; empty where there is no limit. */
  lines(allowance: Allowance, now: number): string
  /** Counts refused credentials. Throws rate_limited once there were too many from this network. */
  countFailure(address: string, now: number): void
}

export function makeLimits({ rateLimit, concurrencyLimit, failureLimit }: LimitSettings): Limits {
  const allowances = new Windows<number>()
  const failures = new Windows<string>()
  const policy = `RateLimit-Policy: "default";q=${rateLimit};w=${WINDOW / 1000}\r\n`

  return {
    admit(tokenId, now) {
      const allowance = allowances.get(tokenId, now)
      if (rateLimit > 0 && allowance.used >= rateLimit) {
        throw new RateLimitedError('rate', secondsUntil(allowance.ends, now), allowance)
      }
      allowance.used += 1
      if (concurrencyLimit > 0 && allowance.active >= concurrencyLimit)
        throw new RateLimitedError('concurrency', 1, allowance)
      allowance.active += 1
      return allowance
    },
    refund(allowance, now) {
      // Unless the window in which it was charged is over.
      if (allowance.ends - now <= WINDOW && allowance.used > 0) allowance.used -= 1
    },
    release(allowance) {
      allowance.active -= 1
    },
    lines(allowance, now) {
      if (rateLimit === 0) return ''
      const left = Math.max(0, rateLimit - allowance.used)
      return `${policy}RateLimit: "default";r=${left};t=${secondsUntil(allowance.ends, now)}\r\n`
    },
    countFailure(address, now) {
      if (failureLimit === 0) return
      const failed = failures.get(networkOf(address), now)
      failed.used += 1
      if (failed.used > failureLimit) throw new RateLimitedError('failures', secondsUntil(failed.ends, now))
    },
  }
}

/** A request over a limit; `allowance` is the one of its token, where it has one. */
export class RateLimitedError extends ApiError {
  readonly limit: 'rate' | 'concurrency' | 'failures'
  readonly allowance: Allowance | undefined
  constructor(limit: RateLimitedError['limit'], retryAfter: number, allowance?: Allowance) {
    super('rate_limited', undefined, { retryAfter })
    this.limit = limit
    this.allowance = allowance
  }
}

const WINDOW = 60_000
const MAX_WINDOWS = 100_000

/**
 * Fixed windows by key, each from the first time it is asked for. What was not asked for lately is forgotten as a whole:
 * a map from which the oldest are taken one by one gets slower with each.
 */
class Windows<Key> {
  #recent = new Map<Key, Allowance>()
  #older = new Map<Key, Allowance>()
  #turnsAt = 0

  get(key: Key, now: number): Allowance {
    if (now >= this.#turnsAt || this.#recent.size >= MAX_WINDOWS / 2) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#turnsAt = now + WINDOW
    }
    let window = this.#recent.get(key)
    if (window === undefined) {
      window = this.#older.get(key) ?? { ends: 0, used: 0, active: 0 }
      this.#recent.set(key, window)
    }
    // The same one goes on, because its requests that are not answered yet still count.
    if (window.ends <= now) {
      window.ends = now + WINDOW
      window.used = 0
    }
    return window
  }
}

function secondsUntil(instant: number, now: number): number {
  return Math.max(1, Math.ceil((instant - now) / 1000))
}
