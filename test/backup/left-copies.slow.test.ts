// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, mkdtempSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { removeLeftWorkFolders } from '../../src/backup/files.ts'
import { lockFile } from '../../src/store/index.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { world } from '../support/records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'

test('`pull --out all.ndjson` that was killed is started again while others sweep, is not refused, and leaves nothing else', async () => {
  await using scene = await pullScene()
  const { folder, env } = scene
  await scene.leaveUnfinished()
  const { code, stderr } = await whileSweeping(folder, env, () =>
    folder.launch(['pull', '--out', 'all.ndjson'], { env }),
  )
  assert.equal(code, 0, stderr)
  const others = filesIn(folder).filter(name => name !== 'data/lockstep.db')
  assert.deepEqual(others, ['all.ndjson'])
  assert.deepEqual(workFoldersIn(folder.file('tmp')), [])
})

test('a copy that a process works with stays, also after that process has looked for those that others left', async () => {
  await using folder = await makeFolder()
  await folder.succeeds(['migrate'])
  const parent = mkdtempSync(join(folder.path, 'tmp-'))
  const copy = join(parent, '.lockstep-0123456789abcdef')
  const release = lockFile(`${copy}.lock`)
  mkdirSync(copy)
  await removeLeftWorkFolders(parent)
  await folder.succeeds(['account', 'list'], { env: { TMPDIR: parent } })
  assert.ok(existsSync(copy))
  await release?.()
  await folder.run(['account', 'list'], { env: { TMPDIR: parent } })
  assert.deepEqual(readdirSync(parent), [])
})

/** A folder into whose file `all.ndjson` another server can be read. */
async function pullScene() {
  const folder = await makeFolder()
  mkdirSync(folder.file('tmp'))
  const source = await startSource({ world: new SourceWorld().add(...world), identity: '/users/me' })
  const env = {
    TMPDIR: folder.file('tmp'),
    LOCKSTEP_SOURCE_URL: source.url,
    LOCKSTEP_SOURCE_TOKEN: SOURCE_TOKEN,
    LOCKSTEP_PULL_RATE: '0',
  }
  return {
    folder,
    env,
    /** Kills a pull while it waits for the source. */
    async leaveUnfinished() {
      source.fault = (_, index) => (index > 3 ? { status: 429, headers: { 'Retry-After': '60' } } : undefined)
      await using running = folder.start(['pull', '--out', 'all.ndjson'], { env })
      await until(async () => source.requests.length > 4)
      running.process.kill('SIGKILL')
      await running.ended
      source.fault = undefined
    },
    async [Symbol.asyncDispose]() {
      await source[Symbol.asyncDispose]()
      await folder[Symbol.asyncDispose]()
    },
  }
}

/** Runs work while other commands look for what killed ones have left, and while this process does that again and again. */
async function whileSweeping<Result>(folder: Folder, env: Record<string, string>, work: () => Promise<Result>) {
  const over = new AbortController()
  const sweep = async (parent: string) => {
    for (; !over.signal.aborted; await sleep(1)) await removeLeftWorkFolders(parent)
  }
  const sweeping = ['data', 'tmp'].map(name => sweep(folder.file(name)))
  const commands = [1, 2].map(() => folder.launch(['migrate'], { env }))
  try {
    const result = await work()
    for (const { code, stderr } of await Promise.all(commands)) assert.equal(code, 0, stderr)
    return result
  } finally {
    over.abort()
    await Promise.all(sweeping)
  }
}

/** All files, but for those that the engine keeps beside its database. */
function filesIn(folder: Folder): string[] {
  return readdirSync(folder.path, { recursive: true, withFileTypes: true })
    .filter(entry => !entry.isDirectory())
    .map(entry => relative(folder.path, join(entry.parentPath, entry.name)))
    .filter(name => !name.startsWith('data/lockstep.db-'))
    .toSorted()
}

function workFoldersIn(parent: string): string[] {
  return readdirSync(parent).filter(name => name.startsWith('.lockstep'))
}
