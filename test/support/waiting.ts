import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for something that is certain to come, on a slow machine late; fails when it does not come at all. */
export function until(holds: () => Promise<boolean>): Promise<void> {
  return within(60_000, holds)
}

/** Waits for something that is promised within a time: what is asked after that time must find it. */
export async function within(milliseconds: number, holds: () => Promise<boolean>) {
  const start = performance.now()
  for (;;) {
    const elapsed = performance.now() - start
    if (await holds()) return
    assert.ok(elapsed < milliseconds, `it took more than ${milliseconds} ms`)
    // Asking costs time too, the more the slower the machine is.
    await sleep(Math.min(20 + elapsed / 20, 200))
  }
}
