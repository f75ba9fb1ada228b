/** Runs a flush each second, and never two at once. `close` runs a last one. */
export function flushEachSecond(flush: () => Promise<void>): { close(): Promise<void> } {
  let running: Promise<void> | undefined
  const timer = setInterval(() => {
    running ??= flush().finally(() => (running = undefined))
  }, FLUSH_INTERVAL_MS)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      await running
      await flush()
    },
  }
}

const FLUSH_INTERVAL_MS = 1000
