import { setTimeout as sleep } from 'node:timers/promises'

/** The time, and a way to let it pass. Tests bring their own. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Resolves after so many milliseconds; rejects when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: Date.now,
  wait: (ms, signal) => sleep(ms, undefined, { signal }),
}
