// engine: any
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { Endpoints } from '../../src/contract/index.ts'
import type { ErrorCode, FieldError } from '../../src/contract/errors.ts'
import type * as served from '../../src/openapi/client.js'
import { sampleArchive } from '../../src/demo/sample.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const PUBLIC_URL = 'https://history.example/lockstep'
let service: TestService
let env: NodeJS.ProcessEnv
/** A project with only the two files of the client and the example. */
let project: string

before(async () => {
  service = await startService(
    [...sampleArchive(Date.now())].map(line => JSON.parse(line)),
    { ...unlimited, LOCKSTEP_PUBLIC_URL: PUBLIC_URL },
  )
  // Bundles of the tests are for their own Node.js.
  env = {
    ...process.env,
    NODE_OPTIONS: '',
    LOCKSTEP_URL: service.url,
    LOCKSTEP_TOKEN: await service.token('alex'),
  }
  project = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  for (const name of ['client.js', 'client.d.ts']) {
    writeFileSync(join(project, name), await (await fetch(`${service.url}/${name}`)).text())
  }
  writeFileSync(join(project, 'package.json'), '{ "type": "module" }')
  cpSync(join(root, 'examples/typescript/weeks.ts'), join(project, 'weeks.ts'))
  writeFileSync(join(project, 'process.d.ts'), PROCESS_TYPES)
})

after(async () => {
  await service[Symbol.asyncDispose]()
  rmSync(project, { recursive: true, force: true })
})

type Same<A, B> = [A, B] extends [B, A] ? true : false

test('the declarations that are served have the types of src/client.ts', () => {
  // Not run: that this compiles is the test.
  type Served = served.Endpoints
  type Params = { [P in keyof Endpoints]: Endpoints[P]['params'] }
  type ServedParams = { [P in keyof Served]: Served[P]['params'] }
  const sameParams: Same<Params, ServedParams> = true
  // The declarations may say more: where the contract has a text of a fixed set, they have its values.
  const sameData: [keyof Endpoints, Served] extends [keyof Served, Endpoints] ? true : false = true
  const sameErrors: Same<[ErrorCode, FieldError], [served.ErrorCode, served.FieldError]> = true
  assert.ok(sameParams && sameData && sameErrors)
})

test('the client is served as files that a project may keep, with their types', async () => {
  const types = { 'client.js': 'text/javascript; charset=utf-8', 'client.d.ts': 'text/plain; charset=utf-8' }
  for (const [name, type] of Object.entries(types)) {
    const first = await fetch(`${service.url}/${name}`)
    assert.equal(first.headers.get('Content-Type'), type)
    assert.doesNotMatch(await first.text(), /^import |\bimport\(/m)
    const second = await fetch(`${service.url}/${name}`, {
      headers: { 'If-None-Match': first.headers.get('ETag') ?? '' },
    })
    assert.deepEqual([first.status, second.status], [200, 304])
  }
})

test('a project with only these two files compiles against the API', async () => {
  const tsc = join(root, 'node_modules/typescript/bin/tsc')
  const flags = ['--target', 'es2022', '--module', 'nodenext', '--strict', '--types', '', '--outDir', 'out']
  const { stdout } = await run(process.execPath, [tsc, ...flags, 'weeks.ts', 'process.d.ts'], {
    cwd: project,
  }).catch((error: unknown) => error as { stdout: string })
  assert.equal(stdout, '')
})

/** Every Node of this machine by its major version: the one that runs the tests, and those on the PATH. */
const nodes = new Map(
  [
    process.execPath,
    ...['/usr/local/bin', '/usr/bin', ...(process.env['PATH'] ?? '').split(':')].map(at => `${at}/node`),
  ]
    .toReversed()
    .flatMap(node => {
      try {
        const version = execFileSync(node, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
        return [[Number(/^v(\d+)/.exec(version)?.[1]), node] as const]
      } catch {
        return []
      }
    }),
)

for (const version of [26, 20]) {
  const node = nodes.get(version)
  const skip = node === undefined && `Node ${version} is missing`
  test(`the TypeScript example runs on Node ${version}`, { skip }, async () => {
    cpSync(join(project, 'client.js'), join(project, 'out/client.js'))
    const { stdout } = await run(node ?? '', ['out/weeks.js'], { cwd: project, env })
    const lines = stdout.trim().split('\n')
    assert.equal(lines.length, 13)
    assert.match(lines[0] ?? '', /^\d{4}-\d\d-\d\d\t\d+\t\d+\t[\d.]+$/)
    assert.match(lines.at(-2) ?? '', / \(so far\)\t/)
    assert.match(lines.at(-1) ?? '', /^Weeks in \S+\. Longest streak: \d+ days\.$/)
  })

  test(`the TypeScript example says on Node ${version} what the server refused`, { skip }, async () => {
    const wrong = { ...env, LOCKSTEP_TOKEN: 'none' }
    const ended = await run(node ?? '', ['out/weeks.js'], { cwd: project, env: wrong }).catch((error: unknown) => error)
    assert.match(String(Object(ended).stderr), /^invalid_token: Invalid token\n$/)
    assert.equal(Object(ended).code, 1)
  })
}

/** What the example uses of Node; the project has no types of it. */
const PROCESS_TYPES = 'declare const process: { env: Record<string, string | undefined>; exitCode: number }\n'
