// engine: any

/** The tests of paging.test.ts, with more random lists. */
process.env['PAGING_RUNS'] ??= '500'
await import('./paging.test.ts')
