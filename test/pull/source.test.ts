import assert from 'node:assert/strict'
import type { RequestListener, ServerResponse } from 'node:http'
import { test } from 'node:test'
import {
  type Source,
  SourceError,
  SourceRefusedError,
  SourceUnavailableError,
  StoppedError,
  systemClock,
} from '../../src/pull/source.ts'
import { sendEndlessly, startHttpServer } from '../support/http-server.ts'
import { makeClock, makeSource } from '../support/sources/pulls.ts'
import { sourceRow } from '../../src/pull/lists.ts'
import { walkList } from '../../src/pull/walk.ts'

// engine: any

/** A server that answers as the test says, and the requests that it got. */
async function answering(listener: RequestListener) {
  const requests: { method: string | undefined; url: string | undefined; token: string | undefined }[] = []
  const server = await startHttpServer((request, response) => {
    const { method, url, headers } = request
    requests.push({ method, url, token: headers.authorization })
    listener(request, response)
  })
  return { ...server, requests }
}

const ok = '{"ok":true,"data":{"id":1}}'

async function failureOf(source: Source): Promise<Error> {
  try {
    await source.get('/me')
  } catch (error) {
    assert.ok(error instanceof Error)
    assert.doesNotMatch(error.message, /\n|secret/, 'one line, without the token')
    return error
  }
  throw new Error('the source was accepted')
}

const failures: readonly { title: string; spoil: (response: ServerResponse) => void }[] = [
  { title: 'answers with 500', spoil: response => void response.writeHead(500).end() },
  { title: 'cuts the connection', spoil: response => void response.socket?.destroy() },
  {
    title: 'cuts its answer',
    spoil: response => {
      response.writeHead(200, { 'Content-Length': '100' }).write('{"ok"', () => response.socket?.destroy())
    },
  },
]
for (const { title, spoil } of failures) {
  test(`a source that ${title} is asked six times, with growing waits, before it is given up`, async () => {
    let broken = 5
    await using server = await answering((_, response) => {
      if (broken-- > 0) spoil(response)
      else response.end(ok)
    })
    const clock = makeClock()
    const { data } = await makeSource(server.url, { clock }).get('/me')
    assert.deepEqual(data, { id: 1 })
    assert.deepEqual(clock.waits, [1000, 2000, 4000, 8000])
    broken = Infinity
    const error = await failureOf(makeSource(server.url))
    assert.ok(error instanceof SourceUnavailableError, String(error))
    assert.equal(server.requests.length, 12)
  })
}

test('a source whose response never ends is cut off soon after 64 MiB', async () => {
  let sending = Promise.resolve(0)
  await using server = await answering((_request, response) => {
    sending = sendEndlessly(response, 1024 * 1024)
  })
  const error = await failureOf(makeSource(server.url))
  assert.equal(error.message, `${server.url} responds to /me with more than 64 MiB`)
  const sent = await sending
  assert.ok(sent < 80 * 1024 * 1024, `${sent} bytes`)
})

for (const [what, body] of [
  ['nested more than 40 deep', `{"ok":true,"data":${'['.repeat(39)}{}${']'.repeat(39)}}`],
  ['of more than 2500000 values', `{"ok":true,"data":[${'[],'.repeat(2_000_000)}[]]}`],
] as const) {
  test(`a response of JSON that is ${what} is refused, and not tried again`, async () => {
    await using server = await answering((_request, response) => void response.end(body))
    const error = await failureOf(makeSource(server.url))
    assert.ok(error instanceof SourceUnavailableError)
    assert.match(error.message, new RegExp(`responds to /me with JSON (that is )?${what}$`))
    assert.equal(server.requests.length, 1)
  })
}

test('brackets and quotes in texts do not count as depth', async () => {
  const data = { id: 1, name: `\\"${'['.repeat(100)}"\\` }
  await using server = await answering((_request, response) => void response.end(JSON.stringify({ ok: true, data })))
  assert.deepEqual(await makeSource(server.url).get('/me'), { status: 200, data })
})

test('after a 429 a pull waits as long as the source says, at least a second, and counts no failed attempt', async () => {
  const soon = new Date(Date.now() + 200_000).toUTCString()
  const headers = ['7', '', 'soon', '86400', '0', 'Wed, 21 Oct 2015 07:00:00 GMT', soon]
  let asked = 0
  await using server = await answering((_, response) => {
    const after = headers[asked++]
    if (asked > 20) response.end(ok)
    else response.writeHead(429, after === undefined || after === '' ? {} : { 'Retry-After': after }).end()
  })
  const clock = makeClock()
  await makeSource(server.url, { clock }).get('/me')
  assert.deepEqual(clock.waits.slice(0, 6), [7000, 5000, 5000, 300_000, 1000, 1000])
  const [untilDate = 0] = clock.waits.slice(6)
  assert.ok(untilDate > 100_000 && untilDate <= 200_000, String(untilDate))
  assert.equal(server.requests.length, 21)
})

test('no more requests are sent in any minute than the rate allows', async () => {
  await using server = await answering((_, response) => void response.end(ok))
  const clock = makeClock()
  const source = makeSource(server.url, { clock, rate: 3 })
  const sent: number[] = []
  for (let request = 0; request < 10; request += 1) {
    await source.get('/me')
    sent.push(clock.time)
    clock.time += 1000
  }
  for (const [index, time] of sent.entries()) {
    const before = sent[index - 3]
    if (before !== undefined) assert.ok(time - before >= 60_000)
  }
})

const refusals: readonly {
  title: string
  answer: (response: ServerResponse) => void
  says: RegExp
  refused?: boolean
}[] = [
  {
    title: 'a token that is refused',
    answer: response => response.writeHead(401).end('{"ok":false,"code":"token_revoked"}'),
    says: /refuses the API key \(401, token_revoked\)$/,
    refused: true,
  },
  {
    title: 'a token that may not read',
    answer: response => response.writeHead(403).end('{"ok":false,"code":"<b>no</b>"}'),
    says: /does not allow \/me to this API key \(403\)$/,
    refused: true,
  },
  ...[401, 403].map(status => ({
    title: `a web page with status ${status}, as of a bot check`,
    answer: (response: ServerResponse) =>
      response.writeHead(status, { 'Content-Type': 'text/html' }).end('<!doctype html><title>Just a moment</title>'),
    says: new RegExp(`responds with a web page and status ${status}: something in front of it, such as a bot check`),
  })),
  {
    title: 'HTML instead of JSON',
    answer: response => response.end('<!doctype html><title>Welcome</title>'),
    says: /responds with HTML instead of JSON: is this the address of the API\?$/,
  },
  {
    title: 'JSON that is not of this API',
    answer: response => response.end('{"hello":"world"}'),
    says: /responds with JSON that is not of this API: is this the right address\?$/,
  },
]
for (const { title, answer, says, refused = false } of refusals) {
  test(`${title} is reported in one line, without a second attempt`, async () => {
    await using server = await answering((_, response) => answer(response))
    const error = await failureOf(makeSource(server.url, { token: 'secret' }))
    assert.match(error.message, says)
    assert.ok(error instanceof SourceError)
    assert.equal(error instanceof SourceRefusedError, refused)
    assert.deepEqual(server.requests, [{ method: 'GET', url: '/api/v1/me', token: 'Bearer secret' }])
  })
}

test('a pull that is stopped sends no further request, and ends its wait', async () => {
  const stop = new AbortController()
  await using server = await answering((_, response) => {
    response.on('finish', () => setTimeout(() => stop.abort(), 50))
    response.writeHead(429, { 'Retry-After': '300' }).end()
  })
  const source = makeSource(server.url, { clock: systemClock, stop: stop.signal })
  const asked = source.get('/me')
  await assert.rejects(asked, StoppedError)
  await assert.rejects(source.get('/me'), StoppedError)
  assert.equal(server.requests.length, 1)
})

// engine: any

const LIMIT = 100

/** A walk of a list that changes: `change` is called before each page is read. */
function walkOf(ids: readonly number[], change: (list: number[]) => void) {
  const list = [...ids]
  const seen = new Set<number>()
  return () =>
    walkList(
      async position => {
        assert.ok('offset' in position)
        change(list)
        const rows = list.slice(position.offset, position.offset + LIMIT).map(id => sourceRow({ id }))
        return { rows, limit: LIMIT, nextCursor: undefined }
      },
      async rows => {
        const found = rows.flatMap(({ id }) => id ?? [])
        const hasNews = found.some(id => !seen.has(id))
        for (const id of found) seen.add(id)
        return { hasNews, canStop: false }
      },
    )
}

const range = (count: number, first = 1) => Array.from({ length: count }, (_, index) => first + index)

test('a list that keeps changing, and one that ignores the offset, end the walk with an error', async () => {
  let next = 1000
  const restless = walkOf(range(400), rows => rows.unshift(...range(150, (next += 200))))
  await assert.rejects(restless(), SourceError)
  const stuck = walkList(
    async () => ({ rows: range(100).map(id => sourceRow({ id })), limit: 100, nextCursor: undefined }),
    async () => ({ hasNews: false, canStop: false }),
  )
  await assert.rejects(stuck, /every offset of a list with the same page/)
})
