import assert from 'node:assert/strict'
import { test } from 'node:test'
import { importArchive } from '../../src/archive/import.ts'
import { open } from '../../src/store/index.ts'
import { setPassword } from '../../src/accounts/passwords.ts'
import { PASSWORD, sampleService, visitor, visitorAs } from '../support/dashboard.ts'
import { connect, runSql, startPostgres, testOnPostgres } from '../support/postgres.ts'
import { world } from '../support/records.ts'
import { archiveOf, startService } from '../support/service.ts'
import { serve } from '../support/serving.ts'
import { until } from '../support/waiting.ts'

// engine: any

testOnPostgres('a page whose database is lost says so, and when to try again', async () => {
  using server = await startPostgres()
  const store = await open(server.url, { busyTimeoutMs: 5000 })
  await importArchive(store, archiveOf(world))
  await setPassword(store, { accountId: 1, password: PASSWORD }, Date.now())
  await store.close()
  await using service = await serve(server.url)
  const ann = await visitorAs(service.url, 'ann')

  /** Ends the connection of a request while its statement waits for a table. */
  const loseWhile = async <Seen>(table: string, asking: () => Promise<Seen>): Promise<Seen> => {
    await using locking = await connect(server.url)
    await locking.query(`begin; lock table ${table} in access exclusive mode`)
    const seen = asking()
    // On other connections: within one transaction the server shows the same connections again.
    await until(async () => (await runSql(server.url, `select pid ${WAITING}`)).length > 0)
    await runSql(server.url, `select pg_terminate_backend(pid, 2000) ${WAITING}`)
    return await seen
  }

  const page = await loseWhile('token', () => ann.get('/keys'))
  assert.deepEqual([page.status, page.headers.get('Retry-After')], [503, '1'])
  assert.match(page.headers.get('Content-Type') ?? '', /^text\/html/)
  assert.match(page.text, /That did not work/)
  assert.equal((await ann.get('/keys')).status, 200)

  const form = await loseWhile('token', () => ann.post('/keys', { name: 'Lost', scope: 'dtt:read', expires: '30d' }))
  assert.deepEqual([form.status, form.headers.get('Retry-After')], [503, '1'])
  assert.doesNotMatch((await ann.get('/keys')).text, /Lost/)

  const asked = await loseWhile('token', () => ann.get('/keys', { Accept: '*/*' }))
  assert.deepEqual([asked.status, asked.headers.get('Retry-After')], [503, '1'])
  assert.equal(JSON.parse(asked.text).code, 'unavailable')

  await server.stop('fast')
  for (const path of ['/', '/training', '/locks', '/keys', '/settings']) {
    const { status, headers } = await ann.get(path)
    assert.deepEqual([status, headers.get('Retry-After')], [503, '1'], path)
  }
})

const WAITING = `from pg_stat_activity where application_name = 'lockstep' and wait_event_type = 'Lock'`

test('for an unknown path a browser gets a page that says so, a program gets JSON', async () => {
  await using service = await startService(world)
  const somebody = visitor(service.url)
  for (const path of ['/nowhere', '/Training', '//', '/docs/x', '/locks/', '/training/']) {
    const { status, headers, text } = await somebody.get(path)
    assert.equal(status, 404, path)
    assert.match(headers.get('Content-Type') ?? '', /^text\/html/)
    assert.match(headers.get('Content-Security-Policy') ?? '', /^default-src 'none'; script-src 'self'; /)
    assert.equal(headers.get('Cache-Control'), 'no-store')
    assert.match(text, /There is nothing here/)
    assert.doesNotMatch(text, /nowhere/)
    assert.equal(JSON.parse((await somebody.get(path, { Accept: '*/*' })).text).code, 'no_route', path)
  }
  for (const path of ['/api', '/api/', '/api/v1/nothing', '/api/v1/me/']) {
    assert.equal(JSON.parse((await somebody.get(path)).text).code, 'no_route', path)
  }
  assert.equal(JSON.parse((await somebody.post('/nowhere', { a: 'b' })).text).code, 'no_route')
})

test('the address of a form, opened in a browser, gets a page as well, a program learns that the method is wrong', async () => {
  await using service = await startService(world)
  const somebody = visitor(service.url)
  const page = await somebody.get('/settings/sessions')
  assert.equal(page.status, 404)
  assert.match(page.text, /There is nothing here/)
  const answer = await somebody.get('/settings/sessions', { Accept: '*/*' })
  assert.deepEqual([answer.status, JSON.parse(answer.text).code], [405, 'method_not_allowed'])
})

test('a page that fails keeps its header, says where the log has the cause, and can be tried again', async () => {
  await using service = await sampleService()
  const alex = await visitorAs(service.url, 'alex')
  const { schema } = service.store.db
  await schema.alterTable('lock_template').renameTo('put_aside').execute()
  const { status, headers, text } = await alex.get('/lock-templates?from=here')
  assert.equal(status, 500)
  assert.equal(headers.get('Cache-Control'), 'no-store')
  assert.match(text, /<nav class="strip" aria-label="Main sections">/)
  assert.match(text, /<h1>That did not work<\/h1>/)
  assert.match(text, /<a class="button primary" href="\/lock-templates\?from=here">Try again<\/a>/)
  const [, id = ''] = /Something broke on the server\.[^]*Reference: <code>([^<]+)</.exec(text) ?? []
  await until(async () => service.log.some(line => line.includes(id) && line.includes('lock_template')))
  await schema.alterTable('put_aside').renameTo('lock_template').execute()
  assert.equal((await alex.get('/lock-templates?from=here')).status, 200)
})
