import { networkOf } from './addresses.ts'
import type { Config } from '../config.ts'
import { LimitError, type LimitName, limits } from './limits.ts'

/**
 * The limits of requests with one API key, and of wrong keys from one address, in this process; other processes count for themselves.
 * Times are milliseconds of `performance.now()`, so that a clock that is set back does not extend a window.
 */
export class RateLimits {
  readonly #config: Pick<Config, 'rateLimit' | 'concurrencyLimit' | 'failureLimit'>
  readonly #keys = new RateWindows<number>()
  readonly #failures = new RateWindows<string>()

  /** The limits are of requests in a window, requests at the same time and failures in a window; 0 for none. */
  constructor(config: Pick<Config, 'rateLimit' | 'concurrencyLimit' | 'failureLimit'>) {
    this.#config = config
  }

  /** Counts a request, and notes its window in it. Throws rate_limited. It must be released after the request. */
  admit(keyId: number, request: { readonly startedAt: number; window?: RateWindow | undefined }): RateWindow {
    const { rateLimit, concurrencyLimit } = this.#config
    const window = this.#keys.get(keyId, request.startedAt)
    request.window = window
    checkWindow(window, 'rate', rateLimit, request.startedAt)
    window.used += 1
    if (concurrencyLimit > 0 && window.active >= concurrencyLimit)
      throw new LimitError('concurrency', 'rate_limited', 1)
    window.active += 1
    return window
  }

  /** Uncounts a request that was counted at `countedAt`, for a response that cost next to nothing. */
  refund(window: RateWindow, countedAt: number) {
    this.#keys.refund(window, countedAt)
  }

  release(window: RateWindow) {
    window.active -= 1
  }

  /** The headers with the remaining requests, names and values in turn; none if there is no limit. */
  headers({ used, endsAt }: RateWindow, now: number): readonly string[] {
    const { rateLimit } = this.#config
    if (rateLimit === 0) return []
    const remaining = Math.max(0, rateLimit - used)
    const policy = `"default";q=${rateLimit};w=${WINDOW_MS / 1000}`
    return ['RateLimit-Policy', policy, 'RateLimit', `"default";r=${remaining};t=${secondsUntil(endsAt, now)}`]
  }

  /** Counts a failed authentication. Throws rate_limited if there were too many from this network. */
  countFailure(address: string, now: number) {
    this.#failures.use(networkOf(address), 'failures', this.#config.failureLimit, now)
  }
}

const WINDOW_MS = 60_000

/** Throws rate_limited if the window has had `max`, 0 for any. */
function checkWindow({ used, endsAt }: RateWindow, limit: LimitName, max: number, now: number) {
  if (max > 0 && used >= max) throw new LimitError(limit, 'rate_limited', secondsUntil(endsAt, now))
}

/** Never longer than a window: sums of these times are not exact. */
function secondsUntil(instant: number, now: number): number {
  return Math.min(WINDOW_MS / 1000, Math.max(1, Math.ceil((instant - now) / 1000)))
}

/** The uses of one key in its window. */
export interface RateWindow {
  endsAt: number
  used: number
  /** Uses in progress; they also count in the next window. */
  active: number
}

/**
 * Fixed windows by key; a window starts with the first use of its key. Times are those of the monotonic clock
 * (`performance.now()`). Keys without recent use are dropped together, so that memory is bounded: evicting the oldest
 * entries of a map one by one gets slower with each.
 */
export class RateWindows<Key> {
  readonly #lengthMs: number
  #recent = new Map<Key, RateWindow>()
  #older = new Map<Key, RateWindow>()
  #rotatesAt = 0

  constructor(lengthMs = WINDOW_MS) {
    this.#lengthMs = lengthMs
  }

  /** The window of a key; a new one if the last one is over. */
  get(key: Key, now: number): RateWindow {
    if (now >= this.#rotatesAt || this.#recent.size >= limits.windows.max / 2) {
      this.#older = this.#recent
      this.#recent = new Map()
      this.#rotatesAt = now + this.#lengthMs
    }
    let window = this.#recent.get(key)
    if (window === undefined) {
      window = this.#older.get(key) ?? { endsAt: 0, used: 0, active: 0 }
      this.#recent.set(key, window)
    }
    // The object stays the same, because active uses refer to it.
    if (window.endsAt <= now) {
      window.endsAt = now + this.#lengthMs
      window.used = 0
    }
    return window
  }

  /** Counts a use of a key. Throws rate_limited if its window has had `max`, 0 for any; what is refused is not counted. */
  use(key: Key, limit: LimitName, max: number, now: number) {
    const window = this.get(key, now)
    checkWindow(window, limit, max, now)
    window.used += 1
  }

  /** Takes back what was used at `usedAt`, unless that window is over. */
  refund(window: RateWindow, usedAt: number) {
    if (window.endsAt - usedAt <= this.#lengthMs && window.used > 0) window.used -= 1
  }
}

/** The limits of pages in this process, by browser session and by address; other processes count for themselves. */
export class PageLimits {
  readonly #config: Pick<Config, 'pageLimit' | 'addressPageLimit'>
  readonly #sessions = new RateWindows<string>()
  readonly #addresses = new RateWindows<string>()
  readonly #confirmed = new Set<string>()

  constructor(config: Pick<Config, 'pageLimit' | 'addressPageLimit'>) {
    this.#config = config
  }

  /**
   * Counts a page against its session if that is known to exist, else against the address, so that strangers at an address cannot use up the
   * limit of those who are signed in there. Throws rate_limited if there were too many.
   */
  count(session: string | undefined, addressOf: () => string, now: number) {
    const { pageLimit, addressPageLimit } = this.#config
    if (session !== undefined && this.#confirmed.has(session))
      this.#sessions.use(session, 'sessionPages', pageLimit, now)
    else this.#addresses.use(networkOf(addressOf()), 'addressPages', addressPageLimit, now)
  }

  confirm(session: string) {
    if (this.#confirmed.size >= limits.windows.max) this.#confirmed.clear()
    this.#confirmed.add(session)
  }
}
