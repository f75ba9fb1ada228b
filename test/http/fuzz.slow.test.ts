// engine: any

/** The test of fuzz.test.ts, for longer. */
process.env['FUZZ_SECONDS'] ??= '60'
await import('./fuzz.test.ts')
