import { setImmediate as nextTurn } from 'node:timers/promises'

/** A computation over a long list that can be interrupted after each part of the list. */
export type Parts<Result> = Generator<undefined, Result>

/** Handles each item; can be interrupted. */
export function* forEachInParts<Item>(items: Iterable<Item>, handle: (item: Item) => void): Parts<void> {
  let handled = 0
  for (const item of items) {
    if ((handled += 1) % ITEMS_IN_PART === 0) yield
    handle(item)
  }
}

/** So few that a part takes less than a millisecond. */
const ITEMS_IN_PART = 200

/** The result of all parts, without an interruption. */
export function atOnce<Result>(parts: Parts<Result>): Result {
  for (;;) {
    const { done, value } = parts.next()
    if (done === true) return value
  }
}

/**
 * The results of computations, one after the other. After every `TURN_MS` other requests are handled: between two computations, and
 * between the parts of one.
 */
export async function inTurns<Results extends readonly unknown[]>(
  ...computations: { readonly [Index in keyof Results]: () => Results[Index] | Parts<Results[Index]> }
): Promise<Results> {
  let start = performance.now()
  const handleOthers = async () => {
    if (performance.now() - start < TURN_MS) return
    await nextTurn()
    start = performance.now()
  }
  const results: unknown[] = []
  for (const compute of computations) {
    let result = compute()
    if (result instanceof Iterator) {
      const parts = result
      let part = parts.next()
      for (; part.done !== true; part = parts.next()) await handleOthers()
      result = part.value
    }
    results.push(result)
    await handleOthers()
  }
  // One result for each computation, in their order.
  return results as unknown as Results
}

const TURN_MS = 5

/** The result that is kept for a key; if there is none, it is computed, and kept as long as the key exists. */
export function* kept<Key extends object, Result>(
  results: WeakMap<Key, Result>,
  key: Key,
  compute: () => Parts<Result>,
): Parts<Result> {
  const known = results.get(key)
  if (known !== undefined) return known
  const result = yield* compute()
  results.set(key, result)
  return result
}
