import { type PrimaryHealth, StoreUnavailableError } from './store.ts'

/**
 * The result of work on the primary, or of `instead` if the primary is down. Then slow work is not awaited, because `instead` needs
 * the rest of the time that a response may take. Work that only reads: what failed soon is done again if the primary responds, because
 * another server may have become the primary meanwhile.
 */
export async function unlessDown<Result>(
  primary: PrimaryHealth,
  work: () => Promise<Result>,
  instead: () => Result | Promise<Result>,
): Promise<Result> {
  if (primary.isDown) return instead()
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
      if (failedSoon) return work()
      throw error
    }
  }
  return instead()
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
