// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { postgresUrl } from '../support/databases.ts'
import {
  account,
  lockSession,
  partnership,
  trainerSegment,
  trainingSession,
  trainingTemplate,
} from '../support/records.ts'
import { startService, type TestService, unlimited } from '../support/service.ts'
import { until } from '../support/waiting.ts'

/** So long that a page of six is sent in chunks; with characters of one to four bytes, also at the ends of chunks. */
const long = (id: number) => `${id} ${'aé€😀'.repeat(55_000)} ${'x'.repeat(300_000)}`

/** The same on PostgreSQL, which sends shorter records in chunks, too, and takes long for the chunks of long ones. */
const longEnough = (id: number) =>
  postgresUrl === undefined ? long(id) : `${id} ${'aé€😀'.repeat(11_000)} ${'x'.repeat(60_000)}`

const COUNT = 6

const ids = Array.from({ length: COUNT }, (_, index) => index + 1)

const people = [account(1, 'ann'), account(2, 'ben'), partnership(2, 1)]

const lockSessions = ids.map(id =>
  lockSession(id, 1 + (id % 2), { name: long(id), startDate: `2026-02-0${1 + (id % 7)}T00:00:00Z` }),
)

const lines = [
  ...people,
  ...lockSessions,
  ...ids.flatMap(id => [
    account(id + 10, `friend-${id}`, { profileDescription: longEnough(id) }),
    partnership(1, id + 10),
    trainingTemplate(id, 1, { description: longEnough(id) }),
    trainingSession(id, 1, { passed: id % 2 === 0, TrainerSegment: [trainerSegment(id, { type: longEnough(id) })] }),
  ]),
]

const lists = [
  { path: '/api/v1/lkbx/sessions', one: '/api/v1/lkbx/sessions/', count: COUNT },
  { path: '/api/v1/dtt/templates', one: undefined, count: COUNT },
  { path: '/api/v1/dtt/sessions', one: '/api/v1/dtt/sessions/', count: COUNT },
  { path: '/api/v1/dtt/sessions?include=owner', one: undefined, count: COUNT },
  { path: '/api/v1/dtt/sessions?passed=true', one: '/api/v1/dtt/sessions/', count: COUNT / 2 },
  { path: '/api/v1/users', one: '/api/v1/users/', count: COUNT + 2 },
]

/** For the tests that only read, because storing these takes long. */
let service: TestService
let token: string
before(async () => {
  service = await startService(lines, unlimited)
  token = await service.token('ann')
})
after(() => service[Symbol.asyncDispose]())

test('a page of long records equals its records fetched one by one, by offset and by cursor', async () => {
  for (const { path, one, count } of lists) {
    const and = path.includes('?') ? '&' : '?'
    const { body, headers, text } = await service.fetch(`${path}${and}limit=100`, token)
    assert.equal(body.data.data.length, count, path)
    assert.equal(Buffer.byteLength(text), Number(headers.get('Content-Length')))
    assert.equal(headers.get('Link'), null)
    for (const way of ['offset=0', 'cursor=']) {
      const found: unknown[] = []
      let next: string | undefined = `${path}${and}limit=1&${way}`
      while (next !== undefined) {
        const page = await service.fetch(next, token)
        found.push(...page.body.data.data)
        next = nextOf(page.headers)
      }
      assert.deepEqual(found, body.data.data, path)
    }
    if (one === undefined) continue
    for (const record of body.data.data) {
      assert.deepEqual((await service.fetch(`${one}${record.id}`, token)).body.data, record)
    }
  }
})

test('a long page has a validator, and HEAD returns its headers alone', async () => {
  for (const { path } of lists) {
    const url = `${path}${path.includes('?') ? '&' : '?'}limit=100`
    const { headers } = await service.fetch(url, token)
    const etag = headers.get('ETag') ?? ''
    assert.equal((await service.fetch(url, token, { 'If-None-Match': etag })).status, 304)
    const head = await fetch(service.url + url, { method: 'HEAD', headers: { Authorization: `Bearer ${token}` } })
    for (const name of ['ETag', 'Content-Length', 'Content-Type'])
      assert.equal(head.headers.get(name), headers.get(name))
    assert.equal(await head.text(), '')
  }
})

test('if a record changes while its page is sent, the connection is closed before the end', async () => {
  await using service = await startService([...people, ...lockSessions], unlimited)
  const token = await service.token('ann')
  const { received, announced, broken } = await interrupted(service, token, () =>
    service.import(
      ids.map(id => lockSession(id, 1 + (id % 2), { name: 'short' })),
      { onConflict: 'replace' },
    ),
  )
  assert.ok(broken)
  assert.ok(received < announced)
  assert.equal((await service.fetch('/api/v1/lkbx/sessions', token)).status, 200)
})

test('a client that disconnects during a long page is logged as aborted, not as a failure', async () => {
  const { broken } = await interrupted(service, token, undefined)
  assert.ok(broken)
  await until(async () => service.log.join('').includes('"aborted":true'))
  assert.ok(!service.log.join('').includes('"level":"error"'))
})

/** Requests a long page, stops reading after its first bytes, does something, and reads on or disconnects. */
function interrupted(service: TestService, token: string, meanwhile: (() => Promise<unknown>) | undefined) {
  return new Promise<{ received: number; announced: number; broken: boolean }>((resolve, reject) => {
    let received = 0
    const url = `${service.url}/api/v1/lkbx/sessions?limit=100`
    const asked = request(url, { headers: { Authorization: `Bearer ${token}` } }, response => {
      const announced = Number(response.headers['content-length'])
      response.once('data', () => {
        if (meanwhile === undefined) {
          response.destroy()
          return
        }
        response.pause()
        meanwhile().then(() => response.resume(), reject)
      })
      response.on('data', (chunk: Buffer) => (received += chunk.length))
      response.on('error', () => {})
      response.on('close', () => resolve({ received, announced, broken: !response.complete }))
    })
    asked.on('error', reject)
    asked.end()
  })
}

function nextOf(headers: Headers): string | undefined {
  return /<([^>]*)>; rel="next"/.exec(headers.get('Link') ?? '')?.[1]
}
