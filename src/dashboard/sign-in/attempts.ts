import { limits } from '../../http/limits.ts'
import { type RateWindow, RateWindows } from '../../http/rate-limits.ts'
import { countText } from '../text/text.ts'

/** An attempt to prove who somebody is. */
export interface Attempt {
  /** How long to wait before the next one, in milliseconds; 0 if this one may be made. */
  readonly waitMs: number
  /** Uncounts the attempt: it succeeded, or could not be checked. */
  refund(): void
}

/** Limits attempts to prove who somebody is, by keys such as an account and a network. */
export class Attempts {
  readonly #windows = new RateWindows<string>(WINDOW_MS)

  /**
   * Counts an attempt for each key. Call it before the proof is checked, or many concurrent attempts would all pass. Keys after one
   * whose limit is reached are not counted, so that a caller that is refused already cannot evict the windows of others.
   */
  begin(...keys: readonly string[]): Attempt {
    const now = performance.now()
    const windows: RateWindow[] = []
    for (const key of keys) {
      const window = this.#windows.get(key, now)
      if (window.used >= limits.attempts.max) return { waitMs: Math.max(0, window.endsAt - now), refund() {} }
      windows.push(window)
    }
    for (const window of windows) window.used += 1
    return {
      waitMs: 0,
      refund: () => {
        for (const window of windows) this.#windows.refund(window, now)
      },
    }
  }
}

/** The message for somebody who has to wait. */
export function tooManyAttempts({ waitMs }: Attempt): string {
  return `Too many attempts. Try again in ${countText(Math.ceil(waitMs / 60_000), 'minute')}.`
}

const WINDOW_MS = 15 * 60_000
