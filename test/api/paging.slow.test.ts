// engine: any
import { sweep } from '../support/sweeps.ts'

/** The tests of paging.test.ts, with more random lists. */
process.env['PAGING_RUNS'] ??= String(sweep(60, 2000))
await import('./paging.test.ts')
