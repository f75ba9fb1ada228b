import { setTimeout as sleep } from 'node:timers/promises'

/** The time and a timer, which tests replace. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
  /** Milliseconds since some moment, by a monotonic clock. */
  elapsed(): number
  /** Resolves after this time; rejects when the signal is aborted. */
  wait(ms: number, signal: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: Date.now,
  elapsed: () => performance.now(),
  wait: (ms, signal) => sleep(ms, undefined, { signal }),
}
