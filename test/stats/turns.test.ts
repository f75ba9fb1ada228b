// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forEachInParts, inTurns, type Parts } from '../../src/stats/turns.ts'

test('other requests are handled between long computations', async () => {
  using others = new Others()
  const seen = await inTurns(
    () => {
      takeLong()
      return others.turns
    },
    () => others.turns,
  )
  assert.deepEqual(seen, [0, 1])
})

test('other requests are handled between the parts of a long computation, and its result is that of all parts', async () => {
  using others = new Others()
  const numbers = Array.from({ length: 1000 }, (_, index) => index)
  const handled: number[] = []
  const [sum] = await inTurns(function* (): Parts<number> {
    yield* forEachInParts(numbers, number => {
      if (number % 500 === 0) takeLong()
      handled.push(number)
    })
    return handled.length
  })
  assert.equal(sum, 1000)
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
