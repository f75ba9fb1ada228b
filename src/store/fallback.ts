import { type PrimaryHealth, type Store, StoreUnavailableError } from './store.ts'

/**
 * The result of work on the primary, or of `fallback` if the primary is down. Then slow work is not awaited, because `fallback` needs
 * the rest of the time that a response may take. Work that only reads: what failed soon is done again if the primary responds, because
 * another server may have become the primary meanwhile.
 */
export async function withFallback<Result>(
  primary: PrimaryHealth,
  work: () => Promise<Result>,
  fallback: () => Result | Promise<Result>,
): Promise<Result> {
  if (primary.isDown) return fallback()
  const start = performance.now()
  const result = work()
  let isDown = false
  try {
    isDown = (await isSlow(result)) && (await primary.checkIsDown())
    if (!isDown) return await result
  } catch (error) {
    if (!(error instanceof StoreUnavailableError)) throw error
    const failedSoon = performance.now() - start < SLOW_MS
    if (!(await primary.checkIsDown())) {
      if (!failedSoon) throw error
      // The last connection to respond may be that of the check, just before the primary goes down.
      return work().catch(async (again: unknown) => {
        if (again instanceof StoreUnavailableError && (await primary.checkIsDown())) return fallback()
        throw again
      })
    }
  }
  return fallback()
}

/**
 * Reads from the primary; while that is down, from a replica that has everything the primary had when it last responded, at most
 * `withinMs` ago. If there is none, or it fails, reads as usual: records may still come from another replica.
 */
export function readAnywhere<Result>(
  store: Store,
  withinMs: number,
  read: (store: Store) => Promise<Result>,
): Promise<Result> {
  const { primary, findReplica } = store
  if (primary === undefined || findReplica === undefined) return read(store)
  const fallback = async () => {
    const replica = await findReplica(withinMs)
    if (replica === undefined) return read(store)
    try {
      return await read(replica.store)
    } catch (error) {
      if (!(error instanceof StoreUnavailableError)) throw error
      return read(store)
    }
  }
  return withFallback(primary, () => read(store), fallback)
}

/** After this time work counts as slow, and the primary is checked. */
const SLOW_MS = 300

async function isSlow(work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const slow = new Promise<boolean>(resolve => {
    timer = setTimeout(resolve, SLOW_MS, true)
  })
  try {
    return await Promise.race([work.then(() => false), slow])
  } finally {
    clearTimeout(timer)
  }
}
