// engine: any
import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { errorCode } from '../../src/cli/terminal.ts'
import { listRounds, readConnection } from '../../src/pull/connections.ts'
import { open } from '../../src/store/index.ts'
import { makeFolder } from '../support/command.ts'
import { allowSignIn, visitor } from '../support/dashboard.ts'
import { newPostgres } from '../support/databases.ts'
import { startPostgres, testOnPostgres } from '../support/postgres.ts'
import { childrenOf, needsProc } from '../support/programs.ts'
import { account, lockTemplate, trainingSession } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'

const KEY = 'lks_Q7wE9rT2yU4iO6pA8sD1fG3hJ5kL0zXcVbNm'

test('the key of a source is in no file, page, log, backup, export or process that others see, and nothing of it after it is forgotten', async context => {
  if (needsProc.skip !== false) return context.skip(needsProc.skip)
  await using folder = await makeFolder()
  mkdirSync(folder.file('data'))
  await lookEverywhere(`sqlite:${folder.file('data/lockstep.db')}`, [folder.path])
})

testOnPostgres('the same of PostgreSQL, whose files and write-ahead log have it encrypted only', async () => {
  using server = await startPostgres()
  await lookEverywhere((await newPostgres(server.url)).url, [server.folder])
})

async function lookEverywhere(databaseUrl: string, folders: readonly string[]) {
  await using work = await makeFolder()
  for (const name of ['tmp', 'secret']) mkdirSync(work.file(name))
  const store = await open(databaseUrl, { busyTimeoutMs: 20_000 })
  await importArchive(store, archiveOf([account(1, 'ann')]))
  await allowSignIn({ store }, 'ann')
  const sessions = Array.from({ length: 60 }, (_, index) => trainingSession(index + 1, 1))
  const world = new SourceWorld().add(account(1, 'ann'), lockTemplate(1, 1), ...sessions)
  await using source = await startSource({ world, token: KEY, identity: '/users/me', maxLimit: 20 })
  // The pull waits with its last list.
  let isHeld = false
  source.fault = path =>
    isHeld && path === '/dtt/sessions' ? { status: 429, headers: { 'Retry-After': '2' } } : undefined
  await using service = await serve(databaseUrl, {
    settings: {
      LOCKSTEP_SECRET_FILE: work.file('secret/secret'),
      LOCKSTEP_SOURCE_ORIGINS: source.url,
      LOCKSTEP_PULL_RATE: '0',
      LOCKSTEP_ACCESS_LOG: 'on',
      TMPDIR: work.file('tmp'),
    },
  })
  const seen: { name: string; text: string }[] = []
  const ann = visitor(service.url)
  const look = async (name: string, response: Promise<{ text: string; headers: Headers; to: string | null }>) => {
    const { text, headers, to } = await response
    seen.push({ name, text: `${text} ${to} ${[...headers].join()}` })
  }
  const lookInFiles = (when: string, paths = [work.path, ...folders]) =>
    seen.push(...paths.flatMap(filesIn).map(({ path, text }) => ({ name: `${when}: ${path}`, text })))

  await ann.signIn('ann')
  await look('form', ann.post('/source/connect', { origin: source.url, key: KEY, every: '5' }))
  await look('check', ann.get('/source/start'))
  await look('wrong form', ann.post('/source/connect', { origin: 'https://', key: KEY, every: '5' }))
  isHeld = true
  source.requests.length = 0
  await look('start', ann.post('/source/start'))
  await until(async () => source.requests.some(path => path.startsWith('/dtt/sessions')))
  const served = service.process.pid ?? 0
  const processes = childrenOf(served)
  assert.ok(processes.length > 0)
  for (const pid of [...processes, served]) {
    for (const name of ['environ', 'cmdline'])
      seen.push({ name: `${name} of ${pid}`, text: readFileSync(`/proc/${pid}/${name}`, 'latin1') })
  }
  lookInFiles('while it pulls')
  await look('page of a pull', ann.get('/source'))
  isHeld = false
  await until(async () => (await listRounds(store, 1)).length > 0)
  assert.equal((await readConnection(store, 1))?.failure, null)
  const sealed = (await readConnection(store, 1))?.sealed_key ?? ''
  assert.ok(sealed.length > 40)
  for (const page of ['/source', '/settings', '/source/key', '/source/forget', '/events'])
    await look(page, ann.get(page))
  const where = ['--database', databaseUrl]
  for (const args of [['export'], ['pull', 'status'], ['backup', work.file('backup.db')]]) {
    const { stdout, stderr } = await work.run([...args, ...where])
    seen.push({ name: args.join(' '), text: stdout + stderr })
  }
  lookInFiles('after a round')
  const secret = readFileSync(work.file('secret/secret'), 'latin1').trim()
  const withSecret = seen.filter(({ text }) => text.includes(secret)).map(({ name }) => name.replace(/^.*: /, ''))
  assert.deepEqual([...new Set(withSecret)], [work.file('secret/secret')], 'a backup cannot be read with what is in it')
  await look('forgetting', ann.post('/source/forget'))
  assert.equal(await readConnection(store, 1), undefined)
  if (databaseUrl.startsWith('sqlite:')) {
    await until(async () => folders.flatMap(filesIn).every(({ text }) => !text.includes(sealed)))
  }
  service.process.kill('SIGTERM')
  await service.ended
  seen.push({ name: 'log', text: service.said.stdout + service.said.stderr })
  lookInFiles('at the end')
  await store.close()

  assert.ok(
    seen.some(({ text }) => text.includes(sealed)),
    'it looks where the encrypted key is',
  )
  const forms = ['utf8', 'hex', 'base64', 'base64url', 'utf16le'] as const
  const parts = forms.map(form => Buffer.from(KEY.slice(5, 32)).toString(form))
  // Of base64 the form depends on where in the text the key begins.
  for (const before of ['a', 'ab'])
    parts.push(
      Buffer.from(before + KEY.slice(4))
        .toString('base64')
        .slice(4, 36),
    )
  parts.push(Buffer.from(KEY.slice(5, 32), 'utf16le').toString('latin1'))
  for (const { name, text } of seen) {
    for (const part of parts) assert.ok(!text.includes(part), `${name} has the key`)
    assert.ok(!text.includes(`Bearer ${KEY.slice(0, 4)}`), name)
  }
}

/** The files of a folder with their texts, but those that the service removes meanwhile. */
function filesIn(folder: string): { path: string; text: string }[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).flatMap(name => {
    const path = join(folder, name)
    try {
      return statSync(path).isFile() ? [{ path, text: readFileSync(path, 'latin1') }] : []
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return []
      throw error
    }
  })
}
