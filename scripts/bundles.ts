import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { rollup, type Plugin } from '@rollup/browser'
import { minify, type MinifyOptions } from 'terser'

/**
 * The parts of packages that are used, as one module each, beside a list of them: a file of declarations. They are kept in the
 * repository, so that an installation needs no build. The first lines of each name the packages in it.
 */
export async function generateBundles(): Promise<{ readonly path: string; readonly text: string }[]> {
  return [
    // Charts of the dashboard, with d3 below it.
    await bundle('src/dashboard/assets/plot.d.ts', {
      start: COMPILE_HINT,
      packages: ['@observablehq/plot', 'd3'],
      options: { ecma: 2020, format: { comments: false } },
    }),
    // What pages need for passkeys, before and after the sign-in.
    ...(await Promise.all(
      ['get', 'create'].map(name =>
        bundle(`src/dashboard/assets/webauthn-${name}.d.ts`, {
          packages: ['@simplewebauthn/browser'],
          options: { ecma: 2020, format: { comments: false } },
        }),
      ),
    )),
    // Hundreds of modules each, which would take most of the time and memory of the start of a command.
    await bundle('src/vendor/kysely.d.ts', { packages: ['kysely'], options: WITHOUT_COMMENTS }),
    await bundle('src/vendor/typebox.d.ts', { packages: ['typebox'], options: WITHOUT_COMMENTS }),
  ]
}

/** Lets Chromium compile all of it while it loads, and not function by function while charts are drawn. */
const COMPILE_HINT = '//# allFunctionsCalledOnLoad\n'

/** The source stays in memory. Names of functions stay, for stacks of errors. */
const WITHOUT_COMMENTS: MinifyOptions = {
  compress: false,
  mangle: false,
  format: { comments: false, max_line_len: 120 },
}

interface BundleOptions {
  readonly start?: string
  /** Whose licences it quotes. */
  readonly packages: readonly string[]
  readonly options: MinifyOptions
}

async function bundle(list: string, { start = '', packages: names, options }: BundleOptions) {
  const input = join(import.meta.dirname, '..', list)
  const built = await rollup({ input, plugins: [packages], treeshake: { moduleSideEffects: false }, onLog: () => {} })
  const { output } = await built.generate({ format: 'es' })
  const { code = '' } = await minify(output[0].code, { module: true, ...options })
  const licences = names.map(name => `${name}\n\n${licenceOf(name)}`).join('\n\n')
  // An integrity cannot be compressed, so bundles for browsers do without.
  const sources = sourcesOf(output[0].moduleIds, !list.startsWith('src/dashboard')).join('\n')
  return { path: input.replace('.d.ts', '.js'), text: `${start}/*\n${sources}\n\n${licences}\n*/\n${code}\n` }
}

/** The packages that modules come from. */
function sourcesOf(modules: readonly string[], withIntegrity: boolean): string[] {
  const folders = modules.map(id => /^.*(node_modules\/(?:@[^/]+\/)?[^/]+)/.exec(id)?.[1] ?? '')
  return [...new Set(folders)]
    .filter(folder => folder !== '')
    .toSorted()
    .map(folder => lockedPackage(folder, withIntegrity))
}

/** A package as it is in the lock file: `node_modules/kysely 0.29.9 sha512-…`. Throws if it has none in this folder. */
export function lockedPackage(folder: string, withIntegrity: boolean): string {
  const locked = lock.packages[folder]
  if (locked === undefined) throw new Error(`package-lock.json has no ${folder}`)
  return withIntegrity ? `${folder} ${locked.version} ${locked.integrity}` : `${folder} ${locked.version}`
}

const lock = JSON.parse(readFileSync(join(import.meta.dirname, '../package-lock.json'), 'utf8')) as {
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>
}

/** What no chart uses, and Plot refers to all the same: maps, colour schemes, and arranging dots side by side. */
const unused = new Set(['d3-geo', 'd3-scale-chromatic', 'interval-tree-1d'])

/** Finds modules in installed packages, as Node does; those without use have functions that do nothing instead. */
const packages: Plugin = {
  name: 'packages',
  resolveId(id, importer) {
    if (importer === undefined) return id
    if (id.startsWith('.')) return join(dirname(importer), id)
    // A list names packages that may have a build for each kind of module.
    return importer.endsWith('.d.ts') ? fileURLToPath(import.meta.resolve(id)) : resolvePackage(id, importer)
  },
  async load(id) {
    if (id.endsWith('.d.ts')) return readFileSync(id, 'utf8').replaceAll(/^export type .*/gm, '')
    const name = /node_modules\/([^/]+)\//.exec(id)?.[1] ?? ''
    if (!unused.has(name)) return readFileSync(id, 'utf8')
    const names = Object.keys((await import(pathToFileURL(id).href)) as object).filter(key => /^[a-z]\w*$/i.test(key))
    return names
      .filter(key => key !== 'module')
      .map(key => (key === 'default' ? 'export default undefined' : `export const ${key} = () => {}`))
      .join('\n')
  },
}

function resolvePackage(name: string, importer: string): string {
  return createRequire(importer).resolve(name)
}

function licenceOf(name: string): string {
  const entry = resolvePackage(name, import.meta.filename)
  const folder = entry.slice(0, entry.lastIndexOf(`node_modules/${name}/`) + `node_modules/${name}/`.length)
  const file = readdirSync(folder).find(file => /^licen[cs]e/i.test(file))
  if (file === undefined) throw new Error(`${name} has no licence`)
  return readFileSync(join(folder, file), 'utf8').trim()
}
