import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { limits } from '../../src/http/limits.ts'
import { open as openConnection } from '../support/raw.ts'
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

test('who asks for the same page as somebody else gets their own records', async () => {
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

/** Accounts with a page of sessions that have long names: 600 KB each. */
const readers = Array.from({ length: 8 }, (_, index) => index + 1)
const longPath = '/api/v1/dtt/sessions?limit=12'
const longPages = readers.flatMap(id => [
  account(id, `reader${id}`),
  ...Array.from({ length: 12 }, (_, index) =>
    trainingSession(id * 100 + index, id, { name: `${id}, `.repeat(50_000 / `${id}, `.length) }),
  ),
])

test('readers who take their responses slowly get their own records, whatever others read meanwhile', async () => {
  await using service = await startService(longPages, unlimited)
  const tokens = await Promise.all(readers.map(id => service.token(`reader${id}`)))
  const expected: string[] = []
  for (const token of tokens) expected.push((await service.fetch(longPath, token)).text)
  const ask = (index: number) =>
    `GET ${longPath} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${tokens[index] ?? ''}\r\n\r\n`

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
  const order = (start: number) =>
    Array.from({ length: limits.pipelined.max }, (_, index) => (start * 7 + index * 3) % readers.length)
  for (const [start, connection] of slow.entries()) connection.send(order(start).map(ask).join(''))
  for (let round = 0; round < 5; round += 1) {
    const texts = await Promise.all(tokens.map(async token => (await service.fetch(longPath, token)).text))
    assert.deepEqual(texts, expected)
  }
  for (const [start, connection] of slow.entries()) {
    connection.socket.resume()
    for (const index of order(start)) assert.equal((await connection.answer()).body, expected[index])
    connection[Symbol.dispose]()
  }
})
