// engine: both
import { test } from 'node:test'
import { checkAccess } from '../support/access-oracle.ts'
import { sweep } from '../support/sweeps.ts'

const { ACCESS_SEED, ACCESS_DAY } = process.env
const CHECKS = sweep(300, 25_000)
/** A failure prints the command that repeats it, with its seed and day. */
const CHECKS_OF_SEED = 1000

test(`${CHECKS} responses, while access and records change, have what their reader may read, and nothing else`, async context => {
  if (ACCESS_SEED !== undefined) {
    await checkAccess(Number(ACCESS_SEED), CHECKS_OF_SEED, ACCESS_DAY === undefined ? undefined : Number(ACCESS_DAY))
    return
  }
  let done = 0
  for (let seed = 1; done < CHECKS; seed += 1) done += await checkAccess(seed, Math.min(CHECKS, CHECKS_OF_SEED))
  context.diagnostic(`${done} checks`)
})
