import assert from 'node:assert/strict'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { test } from 'node:test'
import { makeFolder } from '../support/command.ts'

const source = join(import.meta.dirname, '../../src')
const root = join(source, '..')

/** The names in the tree of docs/architecture.md, by how far they are indented. */
const inTree = (indent: number) => {
  const tree = /^## The tree\n\n((?: {4}.*\n)+)/m.exec(readFileSync(join(root, 'docs/architecture.md'), 'utf8'))?.[1]
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
  // The store knows no records and no tokens.
  store: [],
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

const querying = ['store', 'archive', 'stats', 'accounts', 'backup', 'resources', 'pull', 'uploads', 'dashboard']

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
  '@simplewebauthn/server': ['accounts'],
  'openid-client': ['accounts'],
}

interface Import {
  readonly from: string
  readonly to: string
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter(file => /\.[jt]s$/.test(file))
  .map(file => file.split(sep).join('/'))
const textOf = (file: string) => readFileSync(join(source, file), 'utf8')
const imports = files.flatMap(readImports)

test('every folder of src has a place in the order of layers', () => {
  const units = new Set(files.map(unitOf))
  assert.deepEqual(
    [...units].filter(unit => !layers.includes(unit)),
    [],
  )
})

test('a folder imports only from those above it', () => {
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
  assert.deepEqual(
    forbidden.map(({ from, to }) => `${from} -> ${to}`),
    [],
  )
})

test('passkeys, sign-in by an issuer and the programs beside the service are loaded with their first use', async () => {
  await using folder = await makeFolder()
  const list = folder.file('loaded')
  writeFileSync(
    folder.file('list-loaded.mjs'),
    `import { appendFileSync } from 'node:fs'
    import { registerHooks } from 'node:module'
    registerHooks({
      load(url, context, next) {
        appendFileSync(${JSON.stringify(list)}, url + '\\n')
        return next(url, context)
      },
    })`,
  )
  const loads = (part: string) => readFileSync(list, 'utf8').includes(part)
  const env = { NODE_OPTIONS: `--import=${folder.file('list-loaded.mjs')}` }
  await using served = folder.start(['serve', '--port', '0'], { env })
  const [, address] = await served.says(/Listening on (http:[\d./]+:\d+)/)

  assert.equal((await fetch(`${address}/api/v1/me`)).status, 401)
  assert.ok(loads('/src/http/api.ts'))
  assert.equal((await fetch(`${address}/`)).status, 200)
  assert.ok(loads('/src/dashboard/app.ts'))
  for (const part of ['/@simplewebauthn/server/', '/openid-client/']) assert.ok(!loads(part), `${part} for pages`)
  assert.ok(!loads('/src/mcp/') && !loads('/@modelcontextprotocol/'), 'the tools for assistants')
  const homeAssistant = ['/node_modules/mqtt/', '/src/homeassistant/publish.ts', '/src/homeassistant/history.ts']
  for (const part of homeAssistant) assert.ok(!loads(part), `${part} for Home Assistant`)

  // Without a key it ends after it has loaded what it needs.
  await folder.launch(['homeassistant', 'entities', '--broker', 'mqtt://127.0.0.1:1'], { env })
  assert.ok(loads('/node_modules/mqtt/'))
})

test('a resource is two files of one name: its endpoints in contract, its handlers in resources', () => {
  const named = (unit: string, content: RegExp) =>
    files
      .filter(file => unitOf(file) === unit && file !== `${unit}/index.ts` && content.test(textOf(file)))
      .map(file => file.slice(unit.length + 1))
      .toSorted()
  const promised = named('contract', /\b(?:get|listEndpoint)\('\/api\//)
  assert.ok(promised.includes('people.ts'), 'these are the files that promise something')
  assert.deepEqual(named('resources', /^export const handlers\b/m), promised)
  for (const unit of ['contract', 'resources']) {
    const listed = imports.filter(({ from }) => from === `${unit}/index.ts`).map(({ to }) => to)
    for (const name of promised) assert.ok(listed.includes(`${unit}/${name}`), `${unit}/index.ts lists ${name}`)
  }
})

test('the tree of docs/architecture.md has every folder of the project', () => {
  const ignored = readFileSync(join(root, '.gitignore'), 'utf8').split('\n')
  const folders = (at: string) =>
    readdirSync(at, { withFileTypes: true })
      .filter(entry => entry.isDirectory())
      .map(({ name }) => name)
      // Most folders with a dot belong to tools.
      .filter(name => !ignored.includes(`${name}/`) && (!name.startsWith('.') || name === '.ci'))
  assert.deepEqual(inTree(4).toSorted(), folders(root).toSorted())
  assert.deepEqual(layers.filter(name => !name.endsWith('.ts')).toSorted(), folders(source).toSorted())
})

test('a restricted package is imported only where it is allowed, and the contract imports only pure ones', () => {
  const outside = imports.filter(({ to }) => !to.startsWith('.') && !files.includes(to))
  for (const { from, to } of imports) {
    const allowed = packages[to]
    if (allowed !== undefined) assert.ok(allowed.includes(unitOf(from)), `${from} imports ${to}`)
  }
  const used = (unit: string) => new Set(outside.filter(({ from }) => unitOf(from) === unit).map(({ to }) => to))
  // Hashing for cursors is a pure function.
  assert.deepEqual([...used('contract')].toSorted(), ['node:crypto', 'typebox'])
  assert.deepEqual([...used('client.ts')], [], 'a client needs nothing but fetch')
  assert.doesNotMatch(textOf('client.ts'), /^import (?!type\b)|\bimport\(/m, 'its types come without the service')
})

test('one function writes the documents of records', () => {
  const writers = files.filter(file => textOf(file).includes('recordWriter('))
  assert.deepEqual(writers.toSorted(), ['archive/canonical.ts', 'archive/record-writers.ts'])
})

test('nothing is cast to a type that fits everywhere', () => {
  for (const file of files) assert.doesNotMatch(textOf(file), /\bas never\b/, file)
})

/** What a file imports, also with its types only, and the files that it starts as programs. Paths are relative to src. */
function readImports(from: string): Import[] {
  const text = textOf(from)
  assert.doesNotMatch(text, /\bimport\((?!\s*')/, `${from}: an import must name its file`)
  const named = text.matchAll(/(?:\bfrom |^import |\bimport\(\s*|\bnew URL\()'([^'\n]+)'/gm)
  return Array.from(named, ([, name = '']) => ({ from, to: name.startsWith('.') ? join(dirname(from), name) : name }))
}

/** The folder, or the file directly in src. */
function unitOf(path: string): string {
  return path.split('/')[0] ?? path
}
