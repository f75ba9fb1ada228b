export interface Overload {
  /** Whether a request has waited too long already, or the event loop is so far behind that a new one would. */
  isOverloaded(startedAt: number): boolean
  close(): void
}

/**
 * Notices when the event loop falls behind, by a timer that is due every `TICK_MS`. A request is refused if the timer is
 * more than `limitMs` late when the request is handled, or the request has waited for its turn that long. If the timer was late twice in a row, all requests are refused
 * until it is in time. 0 never refuses.
 */
export function watchLoop(limitMs: number): Overload {
  if (limitMs === 0) return { isOverloaded: () => false, close: () => {} }
  let lastTick = performance.now()
  let lateTicks = 0
  const isLate = (now: number) => now - lastTick > TICK_MS + limitMs
  const timer = setInterval(() => {
    const now = performance.now()
    lateTicks = isLate(now) ? lateTicks + 1 : 0
    lastTick = now
  }, TICK_MS)
  timer.unref()
  return {
    isOverloaded(startedAt) {
      if (lateTicks > 1) return true
      const now = performance.now()
      return isLate(now) || now - startedAt > limitMs
    },
    close: () => clearInterval(timer),
  }
}

const TICK_MS = 20
