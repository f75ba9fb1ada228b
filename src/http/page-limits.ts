import type { Config } from '../config.ts'
import { Places } from '../fairness.ts'
import { networkOf } from './addresses.ts'
import { LimitError, limits } from './limits.ts'
import { RateWindows } from './rate-limits.ts'

/** The limits of pages in this process, by browser session and by address; other processes count for themselves. */
export class PageLimits {
  readonly #config: Pick<Config, 'pageLimit' | 'addressPageLimit'>
  readonly #sessions = new RateWindows<string>()
  readonly #addresses = new RateWindows<string>()
  readonly #confirmed = new Set<string>()
  readonly #pages = new Places<string>(limits.pagesInWork.max)

  constructor(config: Pick<Config, 'pageLimit' | 'addressPageLimit'>) {
    this.#config = config
  }

  /**
   * Counts a page against its session if that is known to exist, else against the address, so that strangers at an address cannot use up the
   * limit of those who are signed in there. Throws rate_limited if there were too many.
   */
  count(session: string | undefined, address: string, now: number) {
    const { pageLimit, addressPageLimit } = this.#config
    if (session !== undefined && this.#confirmed.has(session))
      this.#sessions.use(session, 'sessionPages', pageLimit, now)
    else this.#addresses.use(networkOf(address), 'addressPages', addressPageLimit, now)
  }

  /** Waits until fewer pages of the session are in work than may be. Throws rate_limited if too many wait already. */
  async begin(session: string) {
    if (this.#pages.waiting(session) >= limits.waitingPages.max) throw new LimitError('waitingPages', 'rate_limited', 1)
    const place = await this.#pages.take(session)
    return {
      /** Says that the session exists. */
      confirm: () => {
        if (this.#confirmed.size >= limits.windows.max) this.#confirmed.clear()
        this.#confirmed.add(session)
      },
      /** Says that the page is made, or its reader gone. */
      end: () => place[Symbol.dispose](),
    }
  }
}

/** A page that is in work, for a session that its request names. */
export type PageInWork = Awaited<ReturnType<PageLimits['begin']>>
