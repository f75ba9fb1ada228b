import { isDeepStrictEqual } from 'node:util'
import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

/** Waits for something that must happen, however slow the machine is; fails if it does not happen within a long time. */
export function until(holds: () => Promise<boolean>): Promise<void> {
  return within(180_000, holds)
}

/** Waits for something that is promised within a time: a check that starts after that time must succeed. */
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

/** What both return at the same moment. Results that contain times may differ: then both are read again, until the first did not change in between. */
export async function atOneTime<Value>(
  first: () => Promise<Value>,
  second: () => Promise<Value>,
): Promise<[first: Value, second: Value]> {
  let [one, other] = await Promise.all([first(), second()])
  for (let attempt = 0; attempt < 20 && !isDeepStrictEqual(one, other); attempt += 1) {
    const before = await first()
    other = await second()
    one = await first()
    if (isDeepStrictEqual(before, one)) break
  }
  return [one, other]
}
