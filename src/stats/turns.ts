import { setImmediate as nextTurn } from 'node:timers/promises'

/**
 * The results of computations over a list of sessions. If it is long, each has a turn of the event loop of its own, so that other
 * requests are handled between them.
 */
export async function inTurns<Results extends readonly unknown[]>(
  list: readonly unknown[],
  computations: { readonly [Index in keyof Results]: () => Results[Index] },
): Promise<Results> {
  const results: unknown[] = []
  for (const compute of computations) {
    if (list.length > MANY) await nextTurn()
    results.push(compute())
  }
  if (list.length > MANY) await nextTurn()
  // One result for each computation, in their order.
  return results as unknown as Results
}

/** Over so many, a computation takes a few milliseconds. */
const MANY = 5000
