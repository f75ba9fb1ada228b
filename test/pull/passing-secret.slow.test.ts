import assert from 'node:assert/strict'
import { setPassword } from '../../src/accounts/passwords.ts'
import { importArchive } from '../../src/archive/import.ts'
import { readConnection } from '../../src/pull/connections.ts'
import { open } from '../../src/store/index.ts'
import { run } from '../support/command.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { sharedServer, testOnPostgres } from '../support/postgres.ts'
import { account, trainingSession } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { until } from '../support/waiting.ts'

// engine: any

testOnPostgres('without a file for the secret a source is copied once; a restart asks for the key again', async () => {
  const { url: databaseUrl } = await sharedServer()
  await using opened = new AsyncDisposableStack()
  const store = opened.adopt(await open(databaseUrl, { busyTimeoutMs: 5000 }), one => one.close())
  await importArchive(store, archiveOf([account(1, 'ann')]))
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  const world = new SourceWorld().add(account(1, 'ann'), trainingSession(1, 1))
  await using source = await startSource({ world, identity: '/users/me' })
  const settings = { LOCKSTEP_SOURCE_ORIGINS: source.url, LOCKSTEP_PULL_RATE: '0' }
  const served = () => serve(databaseUrl, { args: ['--workers', '2'], settings })
  const enter = async (ann: ReturnType<typeof visitor>, path: string) =>
    (await ann.post(path, { origin: source.url, key: SOURCE_TOKEN, every: '5' })).to
  {
    await using first = await served()
    const ann = visitor(first.url)
    await ann.signIn('ann')
    const { text } = await ann.get('/source/connect')
    assert.match(text, /LOCKSTEP_SECRET_FILE/)
    assert.deepEqual(text.match(/<option value="\d+"/g), ['<option value="0"'])
    assert.equal(await enter(ann, '/source/connect'), '/source/start')
    source.fault = path => (path === '/dtt/sessions' ? { status: 429, headers: { 'Retry-After': '300' } } : undefined)
    assert.equal((await ann.post('/source/start')).to, '/source')
    await until(async () => (await readConnection(store, 1))?.state === 'running')
    const { stdout } = await run(['pull', 'status', '--database', databaseUrl])
    assert.doesNotMatch(stdout, /must be given again/)
  }
  source.fault = undefined
  await using second = await served()
  const ann = visitor(second.url)
  await ann.signIn('ann')
  assert.match((await ann.get('/source')).text, /The stored key cannot be read any more/)
  assert.equal(await enter(ann, '/source/key'), '/source')
  await until(async () => (await readConnection(store, 1))?.state === 'done')
  const connection = await readConnection(store, 1)
  assert.deepEqual([connection?.every_minutes, connection?.sealed_key, connection?.failure], [0, null, null])
})
