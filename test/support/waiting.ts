import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Asks until something holds, and fails when it does not although it was asked so long after the start. */
export async function within(milliseconds: number, holds: () => Promise<boolean>) {
  const start = performance.now()
  for (;;) {
    const elapsed = performance.now() - start
    if (await holds()) return
    assert.ok(elapsed < milliseconds, `it took more than ${milliseconds} ms`)
    await sleep(20)
  }
}
