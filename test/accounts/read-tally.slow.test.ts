// engine: any
import { sweep } from '../support/sweeps.ts'

/** The test of read-tally.test.ts, with many more reads. */
process.env['READS'] ??= String(sweep(2000, 10_000))
await import('./read-tally.test.ts')
