// engine: any

/** The test of read-tally.test.ts, with many more reads. */
process.env['READS'] ??= '10000'
await import('./read-tally.test.ts')
