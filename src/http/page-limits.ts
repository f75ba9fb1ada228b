import type { Config } from '../config.ts'
import { Places } from '../fairness.ts'
import { networkOf } from './addresses.ts'
import { LimitError, type LimitName, limits } from './limits.ts'
import { secondsUntil, WINDOW_MS, type RateWindow, RateWindows } from './rate-limits.ts'

/** A page that is in work, for a session that its request names. */
export interface PageInWork {
  /** Says that the session exists. */
  confirm(): void
  /** Says that the page is made, or its reader gone. */
  end(): void
}

/** The limits of pages in this process, by browser session and by address; other processes count for themselves. */
export class PageLimits {
  readonly #ofSession: number
  readonly #ofAddress: number
  readonly #sessions = new RateWindows<string>(WINDOW_MS)
  readonly #addresses = new RateWindows<string>(WINDOW_MS)
  readonly #confirmed = new Set<string>()
  readonly #pages = new Places<string>(limits.pagesInWork.max)

  /** The limits are of pages in a window; 0 for none. */
  constructor({ pageLimit, addressPageLimit }: Pick<Config, 'pageLimit' | 'addressPageLimit'>) {
    this.#ofSession = pageLimit
    this.#ofAddress = addressPageLimit
  }

  /**
   * Counts a page against its session if that is known to exist, else against the address, so that strangers at an address cannot use up the
   * limit of those who are signed in there. Throws rate_limited if there were too many; what is refused is not counted.
   */
  count(session: string | undefined, address: string, now: number) {
    if (session !== undefined && this.#confirmed.has(session)) {
      use(this.#sessions.get(session, now), 'sessionPages', this.#ofSession, now)
    } else use(this.#addresses.get(networkOf(address), now), 'addressPages', this.#ofAddress, now)
  }

  /** Waits until fewer pages of the session are in work than may be. Throws rate_limited if too many wait already. */
  async begin(session: string): Promise<PageInWork> {
    if (this.#pages.waiting(session) >= limits.waitingPages.max) throw new LimitError('waitingPages', 'rate_limited', 1)
    const place = await this.#pages.take(session)
    return {
      confirm: () => {
        if (this.#confirmed.size >= limits.windows.max) this.#confirmed.clear()
        this.#confirmed.add(session)
      },
      end: () => place[Symbol.dispose](),
    }
  }
}

function use(window: RateWindow, name: LimitName, max: number, now: number) {
  if (max > 0 && window.used >= max) throw new LimitError(name, 'rate_limited', secondsUntil(window.endsAt, now))
  window.used += 1
}
