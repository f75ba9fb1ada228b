// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'node:test'
import { generateIdentity, identityToRecipient } from 'age-encryption'
import { removeLeftWorkFolders, withUnfinished, writeDigest } from '../../src/backup/files.ts'
import { lockFile } from '../../src/store/index.ts'
import { type Folder, makeFolder } from '../support/command.ts'
import { postgresUrl } from '../support/databases.ts'
import { fillFolder } from '../support/every-table.ts'
import { world } from '../support/records.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'

test('an unencrypted copy that a killed backup left is removed by the next command of any kind', async () => {
  await using folder = await makeFolder()
  await fillFolder(folder)
  const parent = folder.file(postgresUrl === undefined ? 'data' : 'tmp')
  mkdirSync(parent, { recursive: true })
  const env = { TMPDIR: parent }
  await leaveCopy(folder, parent, env)
  await folder.run(['account', 'list'], { env })
  assert.deepEqual(workFoldersIn(parent), [])
})

for (const args of [
  ['backup', '--to', 'backups'],
  ['export', '--out', 'all.ndjson'],
]) {
  test(`what a killed \`${args.join(' ')}\` had written is removed by the next command of any kind`, async () => {
    await using folder = await makeFolder()
    await fillFolder(folder)
    mkdirSync(folder.file('tmp'))
    mkdirSync(folder.file('backups'))
    const env = { TMPDIR: folder.file('tmp') }
    const parent = args.includes('--to') ? folder.file('backups') : folder.path
    await leaveUnfinished(folder, args, env, parent)
    await folder.succeeds(['account', 'list'], { env })
    assert.deepEqual(filesIn(folder), postgresUrl === undefined ? ['data/lockstep.db'] : [])
  })
}

test('what a killed `pull --out` had written is removed by the next command of any kind', async () => {
  await using scene = await pullScene()
  await scene.leaveUnfinished()
  await scene.folder.run(['migrate'], { env: scene.env })
  assert.deepEqual(filesIn(scene.folder), postgresUrl === undefined ? ['data/lockstep.db'] : [])
})

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

test('a digest that got its name before its killed backup did is removed by the next command', async () => {
  await using folder = await makeFolder()
  const work = folder.file('.lockstep-0123456789abcdef')
  mkdirSync(work)
  writeFileSync(`${work}.lock`, '')
  symlinkSync(folder.file('copy.db.0123456789abcdef.unfinished'), join(work, 'writes'))
  for (const name of ['copy.db.sha256', 'copy.db.0123456789abcdef.unfinished-journal'])
    writeFileSync(folder.file(name), 'x')
  await removeLeftWorkFolders(folder.path)
  assert.deepEqual(readdirSync(folder.path), [])
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

/** Kills an encrypted backup while its copy is there. */
async function leaveCopy(folder: Folder, parent: string, env: Record<string, string>) {
  const args = ['backup', 'copy.db.age', '--recipient', await identityToRecipient(await generateIdentity())]
  for (;;) {
    await using running = folder.start(args, { env })
    while (running.process.exitCode === null && !hasCopy(parent)) await sleep(1)
    running.process.kill('SIGKILL')
    const { code } = await running.ended
    if (hasCopy(parent)) return
    assert.equal(code, 0, 'it had ended before it could be killed')
    execFileSync('rm', [folder.file('copy.db.age')])
  }
}

/** Kills a backup while it writes its file into a folder. */
async function leaveUnfinished(folder: Folder, args: readonly string[], env: Record<string, string>, parent: string) {
  const isWriting = () => readdirSync(parent).some(name => name.endsWith('.unfinished'))
  for (;;) {
    await using running = folder.start(args, { env })
    while (running.process.exitCode === null && !isWriting()) await sleep(1)
    running.process.kill('SIGKILL')
    const { code } = await running.ended
    if (isWriting()) return
    assert.equal(code, 0, 'it had ended before it could be killed')
    for (const name of filesIn(folder)) if (!name.startsWith('data/')) rmSync(folder.file(name))
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

function hasCopy(parent: string): boolean {
  return workFoldersIn(parent).some(name => existsSync(join(parent, name, 'backup.db')))
}

function workFoldersIn(parent: string): string[] {
  return readdirSync(parent).filter(name => name.startsWith('.lockstep'))
}

test('a backup whose digest cannot be stored leaves nothing', async () => {
  await using folder = await makeFolder()
  const path = folder.file('copy.db')
  mkdirSync(`${path}.sha256`)
  const work = async (unfinished: string) => {
    writeFileSync(unfinished, 'copy')
    writeDigest(path, 'a'.repeat(64))
  }
  await assert.rejects(withUnfinished(path, folder.path, work), /EISDIR/)
  assert.deepEqual(readdirSync(folder.path), ['copy.db.sha256'])
})
