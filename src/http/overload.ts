export interface Overload {
  /** Whether the event loop is so far behind that a new request would wait too long. */
  isOverloaded(): boolean
  close(): void
}

/**
 * Tells when the event loop falls behind, by a timer that is due every turn. Once a turn has taken more than `limitMs`,
 * requests that arrive late in it are refused instead of queued; after two such turns in a row, all are until a turn is
 * in time. 0 never refuses.
 */
export function watchLoop(limitMs: number): Overload {
  if (limitMs === 0) return { isOverloaded: () => false, close: () => {} }
  let lastTurn = performance.now()
  let lateTurns = 0
  const isLate = (now: number) => now - lastTurn > TURN_MS + limitMs
  const timer = setInterval(() => {
    const now = performance.now()
    lateTurns = isLate(now) ? lateTurns + 1 : 0
    lastTurn = now
  }, TURN_MS)
  timer.unref()
  return {
    isOverloaded: () => lateTurns > 1 || isLate(performance.now()),
    close: () => clearInterval(timer),
  }
}

const TURN_MS = 20
