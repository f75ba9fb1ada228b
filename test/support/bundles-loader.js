import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

/** Loads the bundles that `bundles.ts` has made: packages, and the program where it is what a process runs. */
const folder = process.env['TEST_BUNDLES'] ?? ''
const bundleOf = name => pathToFileURL(join(folder, name)).href
const packages = {
  kysely: bundleOf('packages/kysely.mjs'),
  typebox: bundleOf('packages/typebox.mjs'),
  'typebox/value': bundleOf('packages/typebox-value.mjs'),
}
const program = new URL('../../src/cli.ts', import.meta.url).href
const runsCommands = new URL('command-worker.ts', import.meta.url).href

registerHooks({
  resolve(specifier, context, next) {
    const url = packages[specifier]
    if (url !== undefined) return { url, format: 'module', shortCircuit: true }
    const found = next(specifier, context)
    const isRun = context.parentURL === undefined || context.parentURL === runsCommands
    return found.url === program && isRun
      ? { url: bundleOf('src/cli.js'), format: 'module', shortCircuit: true }
      : found
  },
})
