import type { BrowserSession } from '../accounts/browser-sessions.ts'

/** Whether the person behind a session proved who they are in the last ten minutes. */
export function isFreshSession({ confirmedAt }: Pick<BrowserSession, 'confirmedAt'>, now: number): boolean {
  // Setting the clock back does not extend it.
  return Math.abs(now - confirmedAt) < FRESH_MS
}

const FRESH_MS = 10 * 60_000
