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

  constructor(lengthMs: number) {
    this.#lengthMs = lengthMs
  }

  /** The window of a key; a new one if the last one is over. */
  get(key: Key, now: number): RateWindow {
    if (now >= this.#rotatesAt || this.#recent.size >= MAX_WINDOWS / 2) {
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

  /** Takes back what was used at `usedAt`, unless that window is over. */
  refund(window: RateWindow, usedAt: number) {
    if (window.endsAt - usedAt <= this.#lengthMs && window.used > 0) window.used -= 1
  }
}

const MAX_WINDOWS = 100_000
