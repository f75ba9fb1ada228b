import { setImmediate as nextTurn } from 'node:timers/promises'

/** A computation over a list that stops after each part of it, of `PART` items. */
export type Parts<Result> = Generator<undefined, Result>

/** Over so many, a computation of a page takes up to ten milliseconds. */
export const PART = 10_000

/** The result of all parts at once. */
export function atOnce<Result>(parts: Parts<Result>): Result {
  for (;;) {
    const { done, value } = parts.next()
    if (done === true) return value
  }
}

/**
 * The results of computations over a list of sessions. If it is long, each of them, or each of its parts, has a turn of the event
 * loop of its own, so that other requests are handled between them.
 */
export async function inTurns<Results extends readonly unknown[]>(
  list: readonly unknown[],
  computations: { readonly [Index in keyof Results]: () => Results[Index] | Parts<Results[Index]> },
): Promise<Results> {
  const results: unknown[] = []
  for (const compute of computations) {
    if (list.length > MANY) await nextTurn()
    const result = compute()
    results.push(isParts(result) ? await partByPart(result) : result)
  }
  if (list.length > MANY) await nextTurn()
  // One result for each computation, in their order.
  return results as unknown as Results
}

async function partByPart(parts: Parts<unknown>): Promise<unknown> {
  for (;;) {
    const { done, value } = parts.next()
    if (done === true) return value
    await nextTurn()
  }
}

function isParts(result: unknown): result is Parts<unknown> {
  return typeof result === 'object' && result !== null && 'next' in result
}

/** Over so many, a computation takes a few milliseconds. */
const MANY = 5000
