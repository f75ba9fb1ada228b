export interface Overload {
  /** Whether the event loop is so far behind that a new request would wait too long. */
  isOverloaded(): boolean
  close(): void
}

/**
 * Notices when the event loop falls behind, by a timer that is due every `TICK_MS`. A request is refused if the timer is
 * more than `limitMs` late when the request is handled. If the timer was late twice in a row, all requests are refused
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
    isOverloaded: () => lateTicks > 1 || isLate(performance.now()),
    close: () => clearInterval(timer),
  }
}

const TICK_MS = 20
