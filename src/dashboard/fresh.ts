import type { BrowserSession } from '../accounts/browser-sessions.ts'

/** Whether it was proved in the last ten minutes whose a session is. */
export function isFreshSession({ confirmedAt }: Pick<BrowserSession, 'confirmedAt'>, now: number): boolean {
  // A clock that is set back does not make it last longer.
  return Math.abs(now - confirmedAt) < FRESH_MS
}

const FRESH_MS = 10 * 60_000
