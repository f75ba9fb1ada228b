import assert from 'node:assert/strict'
import { setPassword } from '../../src/accounts/passwords.ts'
import { importArchive } from '../../src/archive/import.ts'
import { readConfig } from '../../src/config.ts'
import { listRounds, whyNotOffered } from '../../src/pull/connections.ts'
import { open } from '../../src/store/index.ts'
import { makeFolder, run } from '../support/command.ts'
import { PASSWORD, visitor } from '../support/dashboard.ts'
import { documentedSql } from '../support/documented-sql.ts'
import { runSql, sharedServer, testOnPostgres } from '../support/postgres.ts'
import { account, trainingSession } from '../support/records.ts'
import { archiveOf } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { SOURCE_TOKEN, SourceWorld, startSource } from '../support/sources/source-server.ts'
import { decide, settledPage, upload } from '../support/uploads.ts'
import { until } from '../support/waiting.ts'

// engine: any

testOnPostgres('a service whose role cannot write records pulls and stores files with another one', async () => {
  const [server = [], grants = []] = documentedSql('Least privilege')
  const { url: superuser } = await sharedServer()
  for (const statement of server) await runSql(superuser, statement)
  const as = (role: string) => superuser.replace('postgres@', `${role}@`).replace(/postgres$/, 'lockstep')
  const [owner, service] = [as('lockstep_owner'), as('lockstep_service')]
  assert.equal((await run(['migrate', '--database', owner])).code, 0)
  for (const statement of grants) await runSql(owner, statement)
  const owned = await open(owner, { busyTimeoutMs: 5000 })
  await importArchive(owned, archiveOf([account(1, 'ann')]))
  assert.equal(
    await whyNotOffered(owned, readConfig({ LOCKSTEP_SECRET_FILE: '/of/the/service' })),
    undefined,
    'a role that writes records needs no other',
  )
  await setPassword(owned, { accountId: 1, password: PASSWORD }, Date.now())
  await owned.close()

  await using folder = await makeFolder()
  const secretFile = folder.file('secret')
  const config = { ...readConfig({ LOCKSTEP_SECRET_FILE: secretFile }), databaseUrl: service }
  const store = await open(service, { busyTimeoutMs: 5000, schema: 'current' })
  const why = (changed: Partial<typeof config>) => whyNotOffered(store, { ...config, ...changed })
  assert.deepEqual(await why({}), { reason: 'role', setting: 'LOCKSTEP_PULL_DATABASE_URL' })
  assert.deepEqual(await why({ pull: false }), { reason: 'off', setting: 'LOCKSTEP_PULL' })
  assert.equal(await why({ pullDatabaseUrl: owner }), undefined)

  const world = new SourceWorld().add(account(1, 'ann'), trainingSession(1, 1))
  await using source = await startSource({ world, identity: '/users/me' })
  const settings = { LOCKSTEP_SECRET_FILE: secretFile, LOCKSTEP_SOURCE_ORIGINS: source.url, LOCKSTEP_PULL_RATE: '0' }
  {
    await using served = await serve(service, { args: ['--no-migrate'], settings })
    const ann = visitor(served.url)
    await ann.signIn('ann')
    const { text } = await ann.get('/source')
    assert.match(text, /LOCKSTEP_PULL_DATABASE_URL/)
    assert.match(text, /--account 1\b/)
    assert.doesNotMatch(text, /name="key"/)
    assert.match((await ann.get('/training/1/delete')).text, /record remove training-session 1 --account 1</)
  }
  {
    await using served = await serve(service, {
      args: ['--no-migrate'],
      settings: { ...settings, LOCKSTEP_PULL_DATABASE_URL: owner },
    })
    const ann = visitor(served.url)
    await ann.signIn('ann')
    await ann.post('/source/connect', { origin: source.url, key: SOURCE_TOKEN })
    assert.equal((await ann.post('/source/start')).to, '/source')
    await until(async () => (await listRounds(store, 1)).length > 0)

    await upload(served.url, ann, { 'records.ndjson': JSON.stringify(trainingSession(2, 1)) })
    await settledPage(ann)
    await decide(ann, 'store')
    assert.match((await settledPage(ann)).replaceAll(/<[^>]*>/g, ' '), /Training sessions: 1 new/)

    assert.equal((await ann.post('/training/1/delete')).status, 303)
    assert.equal((await ann.get('/training/1')).status, 404)
    assert.equal((await ann.post('/training/1/delete')).status, 422, 'what is not there is not deleted')
    const deleted = { kind: 'training-session', id: '1' }
    assert.equal((await ann.post('/settings/deleted', deleted)).status, 303)
    const [, undo = ''] = /href="(\/source\/files\/\d+\/undo)"/.exec((await ann.get('/source')).text) ?? []
    assert.equal((await ann.post(undo)).status, 303)
    assert.equal((await ann.get('/training/2')).status, 404)
    const events = (await ann.get('/settings/events')).text
    for (const event of ['Record deleted', 'Deleted record allowed again', 'Records of a file removed again'])
      assert.ok(events.includes(event), event)
  }
  const [round] = await listRounds(store, 1)
  assert.deepEqual([round?.failure, round?.added], [null, 1])
  await store.close()
})
