/** How busy this process is. */
export interface Load {
  /** Requests that have arrived and are not answered. */
  inWork: number
  /** Whether a request that arrived at `startedAt` is better refused: many are in work, and it has waited long, or would. */
  isOverloaded(startedAt: number): boolean
  close(): void
}

/** A process with fewer requests in work answers late instead of refusing. */
export const MIN_OVERLOAD_REQUESTS = 100

/** Notices by a timer when the event loop is more than `limitMs` late; 0 never refuses. */
export function watchLoad(limitMs: number): Load {
  let lastTick = performance.now()
  const timer = setInterval(() => {
    lastTick = performance.now()
  }, TICK_MS).unref()
  return {
    inWork: 0,
    isOverloaded(startedAt) {
      if (limitMs === 0 || this.inWork <= MIN_OVERLOAD_REQUESTS) return false
      return performance.now() - Math.min(lastTick + TICK_MS, startedAt) > limitMs
    },
    close: () => clearInterval(timer),
  }
}

const TICK_MS = 20
