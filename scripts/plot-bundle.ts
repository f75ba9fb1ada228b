import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { rollup, type Plugin } from '@rollup/browser'
import { minify } from 'terser'

/**
 * The parts of Plot, and of d3 below it, that the charts of the dashboard use, as one module. It is kept in the repository, so
 * that an installation needs neither package nor a build.
 */
export async function generatePlot(): Promise<{ readonly path: string; readonly text: string }[]> {
  const bundle = await rollup({ input: LIST, plugins: [packages], treeshake: { moduleSideEffects: false } })
  const { output } = await bundle.generate({ format: 'es' })
  const { code = '' } = await minify(output[0].code, { module: true, ecma: 2020, format: { comments: false } })
  return [{ path: join(assets, 'plot.js'), text: `${COMPILE_HINT}\n/*\n${licences()}\n*/\n${code}\n` }]
}

/** Lets Chromium compile all of it while it loads, and not function by function while charts are drawn. */
const COMPILE_HINT = '//# allFunctionsCalledOnLoad'

const assets = join(import.meta.dirname, '../src/dashboard/assets')
const LIST = join(assets, 'plot.d.ts')

/** What no chart uses, and Plot refers to all the same: maps, colour schemes, and arranging dots side by side. */
const unused = new Set(['d3-geo', 'd3-scale-chromatic', 'interval-tree-1d'])

/** Finds modules in installed packages, as Node does; those without use have functions that do nothing instead. */
const packages: Plugin = {
  name: 'packages',
  resolveId(id, importer) {
    if (importer === undefined) return id
    return id.startsWith('.') ? join(dirname(importer), id) : createRequire(importer).resolve(id)
  },
  async load(id) {
    const name = /node_modules\/([^/]+)\//.exec(id)?.[1] ?? ''
    if (!unused.has(name)) return readFileSync(id, 'utf8')
    const names = Object.keys((await import(pathToFileURL(id).href)) as object).filter(key => /^[a-z]\w*$/i.test(key))
    return names
      .filter(key => key !== 'module')
      .map(key => (key === 'default' ? 'export default undefined' : `export const ${key} = () => {}`))
      .join('\n')
  },
}

function licences(): string {
  const { resolve } = createRequire(LIST)
  return ['@observablehq/plot', 'd3']
    .map(name => `${name}\n\n${readFileSync(join(dirname(resolve(name)), '../LICENSE'), 'utf8').trim()}`)
    .join('\n\n')
}
