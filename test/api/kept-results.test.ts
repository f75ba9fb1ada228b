import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import fc from 'fast-check'
import { makeExpand, NO_INTERNALS } from '../../src/http/node-internals.ts'
import { KeptResults } from '../../src/resources/kept-results.ts'
import { BodyPacker } from '../../src/resources/packed-bodies.ts'
import { open as openConnection } from '../support/raw.ts'
import { startSecondServer } from '../support/second-server.ts'
import { withoutRequest } from '../support/responses.ts'
import { account, partnership, trainingSession } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

const people = [account(1, 'ann'), account(2, 'ben'), partnership(1, 2)]
const path = '/api/v1/dtt/sessions?limit=2'

test('a page that is asked again is the same, byte for byte, also with a validator', async () => {
  const lines = [1, 2, 3].map(id => trainingSession(id, 1, { name: `Größe ${id} 账户` }))
  await using service = await startService([...people, ...lines], unlimited)
  for (const username of ['ann', 'ben']) {
    const token = await service.token(username)
    for (const query of ['', '&offset=1', '&cursor=']) {
      const first = await service.fetch(path + query, token)
      assert.equal(first.headers.get('Content-Length'), String(Buffer.byteLength(first.text)))
      assert.deepEqual(withoutRequest(await service.fetch(path + query, token)), withoutRequest(first))
      const etag = first.headers.get('ETag') ?? ''
      assert.equal((await service.fetch(path + query, token, { 'If-None-Match': etag })).status, 304)
    }
  }
})

test('who asks for the same page as somebody else gets their own records, also from memory', async () => {
  const lines = [account(3, 'cas'), trainingSession(1, 1), trainingSession(3, 3)]
  await using service = await startService([...people, ...lines], unlimited)
  const tokens = [await service.token('ann'), await service.token('cas')]
  for (let round = 0; round < 3; round += 1) {
    const answers = await Promise.all(tokens.map(token => service.fetch(path, token)))
    assert.deepEqual(
      answers.map(({ body }) => body.data.data.map(({ id }: { id: number }) => id)),
      [[1], [3]],
    )
  }
})

for (const [size, found] of [
  ['16', 1],
  ['0', 0],
] as const) {
  test(`with LOCKSTEP_PAGE_CACHE=${size} a page that is asked again is read ${found === 1 ? 'once' : 'each time'}`, async () => {
    const settings = { ...unlimited, LOCKSTEP_PAGE_CACHE: size }
    await using service = await startService([...people, trainingSession(1, 1)], settings)
    const token = await service.token('ann')
    await service.fetch(path, token)
    // By hand, so that no revision changes.
    await service.store.db.deleteFrom('training_session').execute()
    assert.equal((await service.fetch(path, token)).body.data.data.length, found)
  })
}

const page = (text: string) => ({ data: [text], revisions: '1.1', etag: 'etag' })
const look = (now: number, ifNoneMatch?: string) => ({ version: 1, now, ifNoneMatch })
const kilobytes = (count: number) => 'x'.repeat(count * 1000)

test('kept pages take no more room than they may, and none of them much of it', () => {
  const pages = new KeptResults(100_000)
  const keys = Array.from({ length: 200 }, (_, index) => `page ${index}`)
  for (const key of keys) pages.keep(key, page(kilobytes(4)), look(0))
  const kept = keys.filter(key => pages.has(key))
  assert.ok(kept.length >= 10 && kept.length <= 20, `${kept.length}`)
  pages.keep('large', page(kilobytes(20)), look(0))
  assert.ok(!pages.has('large'))
  // Three bytes for each character.
  const wide = new KeptResults(100_000)
  for (const key of keys) wide.keep(key, page('账'.repeat(4000)), look(0))
  assert.ok(keys.filter(key => wide.has(key)).length <= 8)
})

test('a kept page that is in use keeps its place, and one that was not asked for a while makes room', () => {
  const pages = new KeptResults(100_000)
  const keep = (key: string, minute: number) => pages.keep(key, page(kilobytes(5)), look(minute * 60_000))
  const ask = (key: string, minute: number) => pages.find(key, '1.1', look(minute * 60_000))
  const old = Array.from({ length: 30 }, (_, index) => `old ${index}`)
  for (const key of old) keep(key, 0)
  const kept = old.filter(key => pages.has(key))
  assert.ok(kept.includes('old 0') && !kept.includes('old 29'))
  for (const minute of [1, 2, 3, 4, 5, 6]) {
    assert.ok(ask('old 0', minute))
    keep('new', minute)
  }
  assert.ok(pages.has('old 0') && pages.has('new'))
  assert.ok(kept.some(key => !pages.has(key)))
})

test('a kept page is not found with other revisions, and makes room for the one that replaces it', () => {
  const pages = new KeptResults(100_000)
  pages.keep('page', page('one'), look(0))
  assert.equal(String(pages.find('page', '1.1', look(0))?.data?.open().bytes), '{"ok":true,"data":one}')
  assert.equal(pages.find('page', '1.2', look(0)), undefined)
  for (let count = 2; count < 200; count += 1) {
    pages.keep('page', { ...page(kilobytes(5)), revisions: `1.${count}` }, look(0))
    assert.ok(pages.find('page', `1.${count}`, look(0)))
  }
})

test('what is kept is true at the version of the database that it was read at, and later with the same revisions', () => {
  const results = new KeptResults(100_000)
  const at = (version: number | undefined) => results.at('page', { version })?.etag
  results.keep('page', page('one'), { version: 1 })
  assert.equal(at(1), 'etag')
  assert.equal(at(2), undefined)
  assert.equal(results.find('page', '1.2', { version: 2 }), undefined)
  assert.equal(at(2), undefined)
  assert.equal(results.find('page', '1.1', { version: 3 })?.etag, 'etag')
  assert.deepEqual([at(1), at(3), at(undefined)], [undefined, 'etag', undefined])
  results.keep('page', page('two'), { version: undefined })
  assert.equal(at(undefined), undefined)
})

test('what was not sent, because its reader had it, serves only who has it', () => {
  const results = new KeptResults(100_000)
  results.keep('page', { ...page('one'), data: undefined }, { version: 1 })
  for (const ifNoneMatch of ['"etag"', 'W/"other", W/"etag"', '*']) {
    assert.equal(results.at('page', { version: 1, ifNoneMatch })?.etag, 'etag')
    assert.equal(results.find('page', '1.1', { version: 1, ifNoneMatch })?.etag, 'etag')
  }
  for (const ifNoneMatch of [undefined, '"other"', 'etag']) {
    assert.equal(results.at('page', { version: 1, ifNoneMatch }), undefined)
    assert.equal(results.find('page', '1.1', { version: 1, ifNoneMatch }), undefined)
  }
})

test('pages that are compressed to make room for others are the same, byte for byte, however many are opened', () => {
  const line = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 200 })
  const text = fc.tuple(fc.array(line, { minLength: 1, maxLength: 50 }), fc.integer({ min: 10_000, max: 50_000 }))
  fc.assert(
    fc.property(fc.array(text, { minLength: 60, maxLength: 60 }), texts => {
      const pages = new KeptResults(1_000_000, new BodyPacker(makeExpand()))
      const expected = new Map<string, string>()
      for (const [index, [lines, length]] of texts.entries()) {
        const data = lines
          .join('')
          .repeat(Math.ceil(length / lines.join('').length))
          .slice(0, length)
          .toWellFormed()
        pages.keep(`${index}`, page(data), look(0))
        expected.set(`${index}`, `{"ok":true,"data":${data}}`)
      }
      for (const round of [1, 2]) {
        const opened = [...expected].flatMap(([key, body]) => {
          const data = pages.at(key, look(round))?.data
          return data === undefined ? [] : [{ ...data.open(), length: data.length, body }]
        })
        assert.ok(opened.reduce((sum, { length }) => sum + length, 0) > 1_000_000)
        for (const { bytes, length, body, release } of opened) {
          assert.equal(bytes.toString(), body)
          assert.equal(bytes.length, length)
          release?.()
        }
      }
    }),
    { numRuns: 20 },
  )
})

test('a body that is released twice does not share its bytes with another', () => {
  const packer = new BodyPacker(makeExpand())
  const [one, other] = ['1', '2'].map(text => packer.pack(Buffer.from(text.repeat(10_000))))
  assert.ok(one && other)
  const { release } = one.open()
  release?.()
  release?.()
  const [first, second] = [one.open().bytes, other.open().bytes]
  assert.equal(first.toString(), '1'.repeat(10_000))
  assert.equal(second.toString(), '2'.repeat(10_000))
})

/** As many accounts as pages that fit in 1 MB only if they are compressed, with one session of a long name each. */
const readers = Array.from({ length: 40 }, (_, index) => index + 1)
const longPages = readers.flatMap(id => [
  account(id, `reader${id}`),
  trainingSession(id, id, { name: `${id}, `.repeat(50_000 / `${id}, `.length) }),
])
const megabyte = { ...unlimited, LOCKSTEP_PAGE_CACHE: '1' }

test('readers who take their responses slowly get their own records, whatever others read meanwhile', async () => {
  await using service = await startService(longPages, megabyte)
  const tokens = await Promise.all(readers.map(id => service.token(`reader${id}`)))
  const expected: string[] = []
  for (const token of tokens) expected.push((await service.fetch(path, token)).text)
  // By hand, so that no revision changes.
  await service.store.db.deleteFrom('training_session').execute()
  const ask = (index: number) =>
    `GET ${path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tokens[index] ?? ''}\r\n\r\n`

  const port = Number(new URL(service.url).port)
  const slow = await Promise.all(
    Array.from({ length: 6 }, async () => {
      const connection = openConnection(port)
      await once(connection.socket, 'connect')
      connection.socket.pause()
      return connection
    }),
  )
  // More than a connection holds that nobody reads from.
  const order = (start: number) => Array.from({ length: 200 }, (_, index) => (start * 7 + index * 3) % readers.length)
  for (const [start, connection] of slow.entries()) connection.send(order(start).map(ask).join(''))
  for (let round = 0; round < 5; round += 1) {
    const texts = await Promise.all(tokens.map(async token => (await service.fetch(path, token)).text))
    assert.deepEqual(texts, expected)
  }
  for (const [start, connection] of slow.entries()) {
    connection.socket.resume()
    for (const index of order(start)) assert.equal((await connection.answer()).body, expected[index])
    connection[Symbol.dispose]()
  }
})

test('without undocumented parts of Node, pages are kept that fit as they are', async () => {
  await using service = await startService(longPages, megabyte)
  const tokens = await Promise.all(readers.map(id => service.token(`reader${id}`)))
  await using again = await startSecondServer(service, megabyte, { internals: NO_INTERNALS })
  const ask = async (token: string) => {
    const response = await fetch(`http://127.0.0.1:${again.port}${path}`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    return response.text()
  }
  const first = await Promise.all(tokens.map(ask))
  await service.store.db.deleteFrom('training_session').execute()
  const second = await Promise.all(tokens.map(ask))
  const same = second.filter((text, index) => text === first[index])
  assert.ok(same.length >= 16 && same.length <= 20, `${same.length}`)
})
