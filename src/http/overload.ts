export interface Overload {
  /** Whether the event loop has been busy for so long that a new request would wait too long for its turn. */
  isOverloaded(): boolean
  close(): void
}

/**
 * Tells when the event loop falls behind: a timer notes each turn. When one has taken more than `limit` milliseconds,
 * requests that come late in it are better refused at once than queued; when two in a row have, so are those that come
 * before it is in time again. 0 never refuses.
 */
export function watchLoop(limit: number): Overload {
  if (limit === 0) return { isOverloaded: () => false, close: () => {} }
  let turned = performance.now()
  let late = 0
  const isLate = (now: number) => now - turned > TURN + limit
  const timer = setInterval(() => {
    const now = performance.now()
    late = isLate(now) ? late + 1 : 0
    turned = now
  }, TURN)
  timer.unref()
  return {
    isOverloaded: () => late > 1 || isLate(performance.now()),
    close: () => clearInterval(timer),
  }
}

/** How often the turn of the loop is noted, in milliseconds. */
const TURN = 20
