// engine: any

/** The test of fuzz.test.ts, for longer. */
process.env['FUZZ_SECONDS'] ??= '20'
await import('./fuzz.test.ts')
