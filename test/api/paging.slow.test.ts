// engine: any

/** The tests of paging.test.ts, with more random lists. */
process.env['PAGING_RUNS'] ??= '250'
await import('./paging.test.ts')
