// engine: any
import { sweep } from '../support/sweeps.ts'

/** The test of fuzz.test.ts, for longer. */
process.env['FUZZ_SECONDS'] ??= String(sweep(10, 1800))
await import('./fuzz.test.ts')
