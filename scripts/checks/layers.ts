import { readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { filesIn, read, root } from './files.ts'

/** The names in the tree of docs/architecture.md, by how far they are indented. */
const inTree = (indent: number) => {
  const tree = /^## The tree\n\n((?: {4}.*\n)+)/m.exec(read('docs/architecture.md'))?.[1]
  return Array.from((tree ?? '').matchAll(new RegExp(`^ {${indent}}([\\w.-]+)`, 'gm')), ([, name = '']) => name)
}

/** The folders of src, and the files directly in it, from the ground up: each imports only from those above it. */
const layers = inTree(6)

/** Stricter than the order: what a folder imports, where that is less than all above it. */
const onlyFrom: Readonly<Record<string, readonly string[]>> = {
  contract: [],
  'config.ts': ['contract'],
  'fairness.ts': [],
  'version.ts': [],
  // The store knows no records and no tokens. What it refuses, it refuses as everything does.
  store: ['contract/refusal.ts'],
  demo: ['contract'],
  openapi: [],
  // A client of the service, which may be on another machine.
  mcp: ['contract', 'client.ts'],
  homeassistant: ['contract', 'client.ts'],
  // The client runs in the program of its caller, without the service, so it imports only types.
  'client.ts': ['contract'],
}

/** What a folder does not import although the order would allow it: the command line hands it in. */
const handedIn: Readonly<Record<string, readonly string[]>> = { http: ['archive', 'backup', 'pull'] }

const querying = [
  'store',
  'archive',
  'jobs',
  'stats',
  'accounts',
  'backup',
  'resources',
  'pull',
  'uploads',
  'dashboard',
]

/** Packages and modules of Node that only some folders may import. */
const packages: Readonly<Record<string, readonly string[]>> = {
  commander: ['cli', 'cli.ts'],
  '@clack/prompts': ['cli'],
  'close-with-grace': ['cli'],
  '@modelcontextprotocol/server': ['mcp'],
  mqtt: ['homeassistant'],
  fastify: ['openapi', 'http', 'uploads', 'dashboard'],
  'node:http': ['pull', 'http', 'dashboard', 'openapi'],
  'node:sqlite': ['store'],
  pg: ['store'],
  kysely: querying,
  'age-encryption': ['backup'],
  'csv-parse': ['archive'],
  'csv-parse/sync': ['archive'],
  '@simplewebauthn/server': ['accounts'],
  'openid-client': ['accounts'],
}

interface Import {
  readonly from: string
  readonly to: string
}

const files = filesIn('src').filter(file => /\.[jt]s$/.test(file))
const textOf = (file: string) => read(`src/${file}`)
const imports = files.flatMap(importsOf)

/** Where code uses what is not below it, or what belongs to another folder. */
export function layerFaults(): string[] {
  return [...orderFaults(), ...packageFaults(), ...resourceFaults(), ...treeFaults(), ...files.flatMap(textFaults)]
}

/** A folder imports only from those above it in the order of layers. */
function orderFaults(): string[] {
  const unplaced = [...new Set(files.map(unitOf))].filter(unit => !layers.includes(unit))
  const forbidden = imports
    .filter(({ to }) => to.startsWith('.') || files.includes(to))
    // It starts the program as a process.
    .filter(({ from, to }) => from !== 'cli/child.ts' || to !== 'cli.ts')
    .filter(({ from, to }) => unitOf(from) !== unitOf(to) && !to.endsWith('package.json'))
    .filter(({ from, to }) => {
      const [user, used] = [unitOf(from), unitOf(to)]
      const listed = onlyFrom[user]
      if (listed !== undefined) return !listed.some(allowed => to === allowed || used === allowed)
      if (handedIn[user]?.includes(used) === true) return true
      return !layers.includes(used) || layers.indexOf(used) >= layers.indexOf(user)
    })
  return [
    ...unplaced.map(unit => `src/${unit} has no place in the tree of docs/architecture.md`),
    ...forbidden.map(({ from, to }) => `src/${from} may not import ${to}`),
  ]
}

/** A restricted package is imported only where it is allowed; the contract imports only pure ones, and the client none. */
function packageFaults(): string[] {
  const outside = imports.filter(({ to }) => !to.startsWith('.') && !files.includes(to))
  // Hashing for cursors is a pure function.
  const pure: Readonly<Record<string, readonly string[]>> = { contract: ['node:crypto', 'typebox'], 'client.ts': [] }
  const isAllowed = ({ from, to }: Import) =>
    (packages[to]?.includes(unitOf(from)) ?? true) && (pure[unitOf(from)]?.includes(to) ?? true)
  const faults = outside.filter(one => !isAllowed(one)).map(({ from, to }) => `src/${from} may not import ${to}`)
  // Its types come without the service.
  const isLoading = /^import (?!type\b)|\bimport\(/m.test(textOf('client.ts'))
  return isLoading ? [...faults, 'src/client.ts imports more than types'] : faults
}

/** A resource is two files of one name, which the indexes list: its endpoints in contract, its handlers in resources. */
function resourceFaults(): string[] {
  const named = (unit: string, content: RegExp) =>
    files.filter(file => unitOf(file) === unit && file !== `${unit}/index.ts` && content.test(textOf(file)))
  const promised = named('contract', /\b(?:get|listEndpoint)\('\/api\//)
  const handled = named('resources', /^export const handlers\b/m)
  const listed = imports.filter(({ from }) => from.endsWith('/index.ts')).map(({ to }) => to)
  const otherOf = (file: string) =>
    file.startsWith('contract/') ? file.replace('contract', 'resources') : file.replace('resources', 'contract')
  const all = [...promised, ...handled]
  return [
    ...(promised.length === 0 ? ['no file of src/contract promises anything'] : []),
    ...all.filter(file => !all.includes(otherOf(file))).map(file => `src/${file} has no src/${otherOf(file)}`),
    ...all.filter(file => !listed.includes(file)).map(file => `src/${unitOf(file)}/index.ts does not list ${file}`),
  ]
}

/** The tree of docs/architecture.md has every folder of the project, and no other. */
function treeFaults(): string[] {
  const ignored = read('.gitignore').split('\n')
  const foldersIn = (at: string) =>
    readdirSync(join(root, at), { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(({ name }) => name)
      // Most folders with a dot belong to tools.
      .filter(name => !ignored.includes(`${name}/`) && (!name.startsWith('.') || name === '.ci'))
  const compare = (there: readonly string[], drawn: readonly string[]) => [
    ...there.filter(name => !drawn.includes(name)).map(name => `the tree of docs/architecture.md lacks ${name}`),
    ...drawn.filter(name => !there.includes(name)).map(name => `the tree of docs/architecture.md has ${name}`),
  ]
  const folders = layers.filter(name => !name.endsWith('.ts'))
  return [...compare(foldersIn('.'), inTree(4)), ...compare(foldersIn('src'), folders)]
}

/** One function writes the documents of records, and nothing is cast to a type that fits everywhere. */
function textFaults(file: string): string[] {
  const text = textOf(file)
  const writes = text.includes('recordWriter(')
  const mayWrite = /^archive\/(?:canonical|.*kinds)\.ts$/.test(file)
  return [
    ...(writes === mayWrite ? [] : [`src/${file} ${writes ? 'writes documents of records' : 'writes no document'}`]),
    ...(/\bas never\b/.test(text) ? [`src/${file} casts to never`] : []),
    ...(/\bimport\((?!\s*')/.test(text) ? [`src/${file}: an import must name its file`] : []),
  ]
}

/** What a file imports, also with its types only, and the files that it starts as programs. Paths are relative to src. */
function importsOf(from: string): Import[] {
  const named = textOf(from).matchAll(/(?:\bfrom |^import |\bimport\(\s*|\bnew URL\()'([^'\n]+)'/gm)
  return Array.from(named, ([, name = '']) => ({ from, to: name.startsWith('.') ? join(dirname(from), name) : name }))
}

/** The folder, or the file directly in src. */
function unitOf(path: string): string {
  return path.split('/')[0] ?? path
}
