export interface Overload {
  /** Whether the event loop has been busy for so long that a new request would wait too long for its turn. */
  isOverloaded(): boolean
  close(): void
}

/**
 * Tells when the event loop falls behind: a timer notes each turn, and requests that come late in a turn that has taken
 * longer than `limit` milliseconds are better refused at once than queued. 0 never refuses.
 */
export function watchLoop(limit: number): Overload {
  if (limit === 0) return { isOverloaded: () => false, close: () => {} }
  let turned = performance.now()
  const timer = setInterval(() => {
    turned = performance.now()
  }, TURN)
  timer.unref()
  return {
    isOverloaded: () => performance.now() - turned > TURN + limit,
    close: () => clearInterval(timer),
  }
}

/** How often the turn of the loop is noted, in milliseconds. */
const TURN = 20
