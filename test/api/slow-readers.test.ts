// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { open as openConnection } from '../support/raw.ts'
import { account, trainingSession } from '../support/records.ts'
import { startService, unlimited } from '../support/service.ts'

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
  const order = (start: number) => Array.from({ length: 16 }, (_, index) => (start * 7 + index * 3) % readers.length)
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
