// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { api } from '../../src/contract/index.ts'
import { withoutRequest } from '../support/responses.ts'
import {
  account,
  lockDevice,
  lockSession,
  lockTemplate,
  oneForEachEndpoint,
  trainingDevice,
  trainingSession,
  trainingTemplate,
  world,
} from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'

const annsWorld: readonly object[] = [...world, ...oneForEachEndpoint]

const paths = Object.values<Endpoint>(api).map(({ path }) => path.replace(':id', '1'))

const start = (lines: readonly object[] = annsWorld) => startService(lines, unlimited)

const etagOf = async (service: TestService, path: string, token: string): Promise<string> => {
  const { status, headers } = await service.fetch(path, token)
  assert.equal(status, 200, path)
  return headers.get('ETag') ?? ''
}

/** A token whose use was just recorded, so that /me shows the same time for a minute. */
const settledToken = async (service: TestService): Promise<string> => {
  const token = await service.token('ann')
  await service.store.db.updateTable('token').set({ last_used_at: Date.now() }).execute()
  return token
}

test('null has a validator, different from that of any record', async () => {
  await using service = await start(world)
  for (const path of [
    'lkbx/templates/active',
    'lkbx/sessions/latest',
    'lkbx/session/current',
    'dtt/templates/active',
  ]) {
    const etag = await etagOf(service, `/api/v1/${path}`, 'ann')
    assert.match(etag, /^"[\x21\x23-\x7e]+"$/)
    await service.import(annsWorld, { onConflict: 'replace' })
    assert.notEqual(await etagOf(service, `/api/v1/${path}`, 'ann'), etag)
    for (const table of ['lock_session', 'training_template', 'lock_template', 'training_session'] as const) {
      await service.store.db.deleteFrom(table).execute()
    }
    assert.equal(await etagOf(service, `/api/v1/${path}`, 'ann'), etag)
  }
})

test('a validator is the same for every API key of an account, except for /me, which shows the API key', async () => {
  await using service = await start()
  const [one, two] = [await service.token('ann'), await service.token('ann', { name: 'two' })]
  for (const path of paths) {
    const [first, second] = [await etagOf(service, path, one), await etagOf(service, path, two)]
    if (path === '/api/v1/me') assert.notEqual(first, second)
    else assert.equal(first, second, path)
  }
})

/** Each changes one record of Ann's, and so the responses of these paths. */
const changes: readonly { title: string; line: object; paths: readonly string[] }[] = [
  {
    title: 'a lock template',
    line: lockTemplate(1, 1, { name: 'Other' }),
    paths: ['lkbx/templates', 'lkbx/templates/1', 'lkbx/templates/active'],
  },
  {
    title: 'the event of a lock session',
    line: lockSession(1, 1, { isActive: true, LockSegment: [] }, { templateId: 1 }),
    paths: ['lkbx/sessions', 'lkbx/sessions/1', 'lkbx/sessions/latest', 'lkbx/session/current'],
  },
  {
    title: 'which template a lock session has',
    line: lockSession(1, 1, { isActive: true, LockSegment: [] }, { templateId: 2 }),
    paths: ['lkbx/sessions', 'lkbx/sessions/1', 'lkbx/sessions/latest'].map(path => `${path}?include=template`),
  },
  {
    title: 'a training template',
    line: trainingTemplate(1, 1, { isActive: true, tagline: 'Other' }),
    paths: ['dtt/templates', 'dtt/templates/1', 'dtt/templates/active'],
  },
  {
    title: 'the segment of a training template',
    line: trainingTemplate(1, 1, { isActive: true, Segment: [] }),
    paths: ['dtt/templates/1', 'dtt/templates/active'],
  },
  {
    title: 'the segment of a training session',
    line: trainingSession(1, 1, { TrainerSegment: [] }),
    paths: ['dtt/sessions', 'dtt/sessions/1', 'dtt/sessions/latest', 'dtt/sessions?include=owner'],
  },
  { title: 'a lock device', line: lockDevice(1, 1, { hueShift: 1 }), paths: ['lkbx', 'lkbx/1'] },
  { title: 'a training device', line: trainingDevice(1, 1, { apiHits: 4 }), paths: ['dtt', 'dtt/1'] },
  { title: 'a person', line: account(1, 'ann', { rank: 1 }), paths: ['users', 'users/1', 'me'] },
]

test('when a record changes, so do the validators of the responses that show it', async () => {
  await using service = await start()
  for (const { title, line, paths } of changes) {
    const before = await Promise.all(paths.map(path => etagOf(service, `/api/v1/${path}`, 'ann')))
    await service.import([line], { onConflict: 'replace' })
    for (const [index, path] of paths.entries()) {
      const answer = await service.fetch(`/api/v1/${path}`, 'ann', { 'If-None-Match': before[index] ?? '' })
      assert.equal(answer.status, 200, `${title}: ${path}`)
    }
  }
})

test('no two responses have the same validator, also those of different callers', async () => {
  const lines = [trainingSession(2, 1), trainingSession(3, 2), trainingSession(4, 2, { passed: false })]
  await using service = await start([...annsWorld, ...lines])
  const tokens = [await service.token('ann'), await service.token('ben'), await service.token('cas')]
  const path = '/api/v1/dtt/sessions'
  const queries = ['', 'include=owner', 'limit=1', 'limit=2', 'limit=1&offset=1', 'offset=1', 'offset=9', 'cursor=']
  const filters = ['passed=true', 'passed=false', 'ownerId=2', 'from=2026-02-17', 'to=2026-02-15', 'limit=1&cursor=']
  const addresses = [
    ...[...queries, ...filters, 'limit=2&cursor=', 'limit=50'].map(query => `${path}?${query}`),
    ...[1, 2, 3, 4].flatMap(id => [`${path}/${id}`, `${path}/${id}?include=owner`]),
    `${path}/latest`,
    ...paths,
  ]
  const bodies = new Map<string, string>()
  for (const token of tokens) {
    for (const address of addresses) {
      const { status, text, headers } = await service.fetch(address, token)
      if (status !== 200) continue
      const etag = headers.get('ETag') ?? ''
      assert.equal(bodies.get(etag) ?? text, text, `${address} has the validator of another answer`)
      bodies.set(etag, text)
    }
  }
  assert.ok(bodies.size > 30)
})

test('every 200 has a strong validator, and while nothing changed a 304 has its headers of its 200, except those of the body', async () => {
  await using service = await start([...annsWorld, trainingSession(2, 1), trainingSession(3, 1)])
  const token = await settledToken(service)
  for (const path of [...paths, '/api/v1/dtt/sessions?limit=1&offset=1', '/api/v1/dtt/sessions?limit=1&cursor=']) {
    const full = await service.fetch(path, token)
    const etag = full.headers.get('ETag') ?? ''
    assert.match(etag, /^"[\x21\x23-\x7e]+"$/, path)
    const bare = await service.fetch(path, token, { 'If-None-Match': etag })
    const { headers } = withoutRequest(full)
    assert.deepEqual(withoutRequest(bare), {
      status: 304,
      headers: headers.filter(([name]) => !/^content-(?:length|type)$/.test(name)),
      text: '',
    })
    const head = await fetch(service.url + path, {
      method: 'HEAD',
      headers: { Authorization: `Bearer ${token}`, 'If-None-Match': etag },
    })
    assert.equal(head.status, 304)
  }
})

test('an error is never a 304, whatever If-None-Match says', async () => {
  await using service = await start()
  const [ann, cas] = [await service.token('ann'), await service.token('cas')]
  for (const [path, token, status] of [
    ['/api/v1/dtt/sessions/1', cas, 404],
    ['/api/v1/dtt/sessions/1', undefined, 401],
    ['/api/v1/dtt/sessions?limit=0', ann, 400],
    ['/api/v1/dtt/sessions?ownerId=3', ann, 403],
  ] as const) {
    const answer = await service.fetch(path, token, { 'If-None-Match': '*' })
    assert.equal(answer.status, status)
    assert.equal(answer.headers.get('ETag'), null)
  }
})
