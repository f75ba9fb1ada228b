// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forEachPausing } from '../../src/fairness.ts'

test('other requests are handled during a long computation, which handles every item once', async () => {
  using others = new Others()
  const numbers = Array.from({ length: 1000 }, (_, index) => index)
  const handled: number[] = []
  await forEachPausing(numbers, number => {
    if (number % 500 === 0) takeLong()
    handled.push(number)
  })
  assert.deepEqual(handled, numbers)
  assert.ok(others.turns >= 2, `${others.turns} turns`)
})

/** Counts the turns of the event loop that other requests get. */
class Others {
  turns = 0
  #next = setImmediate(() => this.#count())

  #count() {
    this.turns += 1
    this.#next = setImmediate(() => this.#count())
  }

  [Symbol.dispose]() {
    clearImmediate(this.#next)
  }
}

/** Longer than computations may take before other requests are handled. */
function takeLong() {
  const start = performance.now()
  while (performance.now() - start < 20);
}
