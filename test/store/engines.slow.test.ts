// engine: any

/** The tests of engines.test.ts, and the same for PGlite. */
process.env['WITH_PGLITE'] ??= '1'
await import('./engines.test.ts')
