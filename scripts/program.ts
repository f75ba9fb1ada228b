import {
  closeSync,
  cpSync,
  existsSync,
  ftruncateSync,
  globSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, relative, resolve } from 'node:path'
import { build, type Plugin } from 'rolldown'

/**
 * Makes the program of a release from a checkout with its packages: the modules in a few files, what they read, Node.js, and the
 * licences of all that is in it.
 *
 *     node scripts/program.ts <checkout> <folder> <cpu>
 */
export async function makeProgram(checkout: string, to: string, cpu: string): Promise<void> {
  await makeModules(checkout, to)
  writeFileSync(join(to, 'THIRD-PARTY-LICENSES'), licences(checkout))
  mkdirSync(join(to, 'bin'), { recursive: true })
  cpSync(join(checkout, `node_modules/node-linux-${cpu}/bin/node`), join(to, 'bin/node'))
  removeSymbols(join(to, 'bin/node'))
}

/** The modules of the program in a few files, and what they read. */
export async function makeModules(checkout: string, to: string): Promise<void> {
  const { name, version, license, type, gitHead } = JSON.parse(read(checkout, 'package.json'))
  const manifest = JSON.stringify({ name, version, license, type, gitHead }, null, 2)
  await bundle(checkout, join(to, 'src'), manifest)
  writeFileSync(join(to, 'package.json'), `${manifest}\n`)
  for (const file of readBy('src', checkout)) cpSync(join(checkout, file), join(to, file))
  for (const path of ['LICENSE', 'examples', 'lockstep'])
    cpSync(join(checkout, path), join(to, path), { recursive: true })
}

function read(...path: string[]): string {
  return readFileSync(join(...path), 'utf8')
}

/** What is no module of the program, but read by one. */
function readBy(folder: string, checkout: string): string[] {
  const files = globSync(`${folder}/**/*`, { cwd: checkout, withFileTypes: true }).filter(entry => entry.isFile())
  return files
    .map(({ parentPath, name }) => relative(checkout, join(parentPath, name)))
    .filter(file => !file.endsWith('.ts') || file === 'src/openapi/client.d.ts')
}

/** A module that starts a thread or a process names its file like this. */
const STARTED = /new URL\('([^']+)\.ts', import\.meta\.url\)/g

async function bundle(checkout: string, to: string, manifest: string) {
  const modules = globSync('src/**/*.ts', { cwd: checkout }).filter(file => !file.endsWith('.d.ts'))
  const started = modules.flatMap(file =>
    [...read(checkout, file).matchAll(STARTED)].map(([, name = '']) => join(dirname(file), `${name}.ts`)),
  )
  await build({
    cwd: checkout,
    input: [...new Set(['src/cli.ts', ...started])],
    platform: 'node',
    plugins: [inPlace(join(checkout, 'src'), manifest)],
    // Packages try to load these, and do without.
    external: ['pg-native', 'bufferutil', 'utf-8-validate'],
    logLevel: 'warn',
    output: {
      dir: to,
      entryFileNames: '[name].js',
      chunkFileNames: '[name]-[hash].js',
      // Names stay, for stacks of errors.
      minify: { compress: true, mangle: false, codegen: true },
      comments: false,
    },
  })
}

/** Files are found from where a module was, though all modules are in one folder now. */
function inPlace(folder: string, manifest: string): Plugin {
  return {
    name: 'in place',
    load(path) {
      if (path === join(folder, '../package.json')) return manifest
      if (!path.startsWith(folder)) return null
      const place = relative(folder, path)
      return read(path)
        .replace(/^const require = createRequire\(import\.meta\.url\)$/m, '')
        .replaceAll(STARTED, (_, name: string) => `new URL('./${basename(name)}.js', IMPORTER)`)
        .replaceAll('import.meta.url', `new URL(${JSON.stringify(`./${place}`)}, IMPORTER).href`)
        .replaceAll('import.meta.dirname', `(import.meta.dirname + ${JSON.stringify(`/${dirname(place)}`)})`)
        .replaceAll('IMPORTER', 'import.meta.url')
    },
  }
}

interface Lock {
  readonly packages: Readonly<
    Record<string, { readonly version: string; readonly license?: string; readonly dev?: true }>
  >
}

/** Those of the packages in the lock file that are installed, but for tools of developers. */
function licences(checkout: string): string {
  const { packages } = JSON.parse(read(checkout, 'package-lock.json')) as Lock
  const parts = Object.entries(packages).flatMap(([path, { version, license = 'no licence named', dev = false }]) => {
    const folder = join(checkout, path)
    if (path === '' || dev || !existsSync(folder)) return []
    const texts = readdirSync(folder).filter(file => /^(licen[cs]e|copying|notice)/i.test(file))
    const name = path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length)
    return [
      [`${name} ${version} (${license})`, ...texts.toSorted().map(file => read(folder, file).trim())].join('\n\n'),
    ]
  })
  return `${parts.join(`\n\n${'-'.repeat(80)}\n\n`)}\n`
}

/** Cuts from a 64-bit ELF file what only debuggers read: everything behind its segments, and the table of sections. */
function removeSymbols(path: string) {
  const file = openSync(path, 'r+')
  try {
    const header = Buffer.alloc(HEADER_BYTES)
    readSync(file, header, 0, HEADER_BYTES, 0)
    if (header.readUInt32BE(0) !== ELF_MAGIC) throw new Error(`${path} is no ELF file`)
    const tableAt = Number(header.readBigUInt64LE(32))
    const [entryBytes, entries] = [header.readUInt16LE(54), header.readUInt16LE(56)]
    const table = Buffer.alloc(entryBytes * entries)
    readSync(file, table, 0, table.length, tableAt)
    const ends = Array.from({ length: entries }, (_, index) => {
      const at = index * entryBytes
      return Number(table.readBigUInt64LE(at + 8) + table.readBigUInt64LE(at + 32))
    })
    // Where the table of sections is, how many it has, and which one has their names.
    header.fill(0, 40, 48)
    header.fill(0, 60, 64)
    writeSync(file, header, 0, HEADER_BYTES, 0)
    ftruncateSync(file, Math.max(HEADER_BYTES, tableAt + table.length, ...ends))
  } finally {
    closeSync(file)
  }
}

const HEADER_BYTES = 64
const ELF_MAGIC = 0x7f454c46

const [checkout, folder, cpu] = process.argv.slice(2)
if (import.meta.main && checkout !== undefined && folder !== undefined && cpu !== undefined)
  await makeProgram(resolve(checkout), resolve(folder), cpu)
