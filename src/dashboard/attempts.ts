import { RateWindows } from '../accounts/windows.ts'

/** An attempt to give a password. */
interface Attempt {
  /** How long to wait before the next one, in milliseconds; 0 if this one may be made. */
  readonly waitMs: number
  /** Takes the attempt back, because it was no guess. */
  refund(): void
}

/** Limits attempts to give a password, for each account and each network. */
export class Attempts {
  readonly #windows = new RateWindows<string>(WINDOW_MS)

  /** Counts an attempt for each key before the password is checked: otherwise many at once would all pass. */
  begin(...keys: readonly string[]): Attempt {
    const now = performance.now()
    const windows = keys.map(key => this.#windows.get(key, now))
    const full = windows.filter(({ used }) => used >= MAX_ATTEMPTS)
    if (full.length === 0) for (const window of windows) window.used += 1
    return {
      waitMs: Math.max(0, ...full.map(({ endsAt }) => endsAt - now)),
      refund: () => {
        for (const window of windows) this.#windows.refund(window, now)
      },
    }
  }
}

const MAX_ATTEMPTS = 10
const WINDOW_MS = 15 * 60_000
