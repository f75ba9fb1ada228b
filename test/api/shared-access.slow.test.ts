// engine: any

/** The tests of shared-access.test.ts, with every pair of parameters. */
process.env['EVERY_PAIR'] ??= '1'
await import('./shared-access.test.ts')
