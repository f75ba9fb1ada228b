// engine: any
import assert from 'node:assert/strict'
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { after, before, beforeEach, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limits } from '../../src/http/limits.ts'
import { Metrics } from '../../src/http/metrics.ts'
import { type Visitor, signInAs } from '../support/dashboard.ts'
import { type Connection, header, open, type RawAnswer } from '../support/raw.ts'
import { world } from '../support/records.ts'
import { lines } from '../support/requests.ts'
import { startSecondServer } from '../support/second-server.ts'
import { startService, type TestService } from '../support/service.ts'
import { cookiesOf, decide, settledPage, upload, uploadFiles } from '../support/uploads.ts'
import { until } from '../support/waiting.ts'

let service: TestService
let ann: Visitor
before(async () => {
  service = await startService(world, { LOCKSTEP_UPLOAD_MAX: '1' })
  ann = await signInAs(service, 'ann')
  await ann.get('/source/file')
})
after(() => service[Symbol.asyncDispose]())
beforeEach(async () => {
  await assertNothingLeft()
})

const MAX_BYTES = 1024 * 1024
const TYPE = 'Content-Type: multipart/form-data; boundary=cut'
const CHUNKED = 'Transfer-Encoding: chunked'

/** The start of an upload, without its body. */
function head(...headers: readonly string[]): string {
  const first = ['POST /source/upload HTTP/1.1', `Host: ${new URL(service.url).host}`, 'Accept: text/html']
  return lines(...first, 'Sec-Fetch-Site: same-origin', `Cookie: ${cookiesOf(ann)}`, ...headers)
}

function part(content: string, { name = 'a', end = true } = {}): string {
  const start = `--cut\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\n\r\n${content}`
  return end ? `${start}\r\n--cut--\r\n` : start
}

/** Sends what a client may send, and returns the answer. */
async function refused(port: number, send: (connection: Connection) => unknown): Promise<RawAnswer> {
  using connection = open(port)
  void send(connection)
  return await connection.answer()
}

async function assertNothingLeft() {
  await until(async () => uploadFiles(service.databaseUrl).length === 0)
  assert.deepEqual(await service.store.db.selectFrom('upload').selectAll().execute(), [])
}

test('an upload that is too large gets 413, and nothing of it is left', async () => {
  const { port } = service.service
  const announced = await refused(port, connection => connection.send(head(TYPE, `Content-Length: ${MAX_BYTES + 1}`)))
  assert.equal(announced.status, 413)
  const chunk = `${(64 * 1024).toString(16)}\r\n${'a'.repeat(64 * 1024)}\r\n`
  const unannounced = await refused(port, async connection => {
    connection.send(head(TYPE, CHUNKED))
    const start = part('', { end: false })
    connection.send(`${start.length.toString(16)}\r\n${start}\r\n`)
    while (connection.socket.writable) {
      connection.send(chunk)
      await sleep(1)
    }
  })
  assert.equal(unannounced.status, 413)
  assert.match(unannounced.body, /The upload is larger than allowed/)
})

test('who still sends a file that was refused gets the answer, and is soon disconnected', async () => {
  using connection = open(service.service.port)
  connection.socket.pause()
  connection.send(head(TYPE, `Content-Length: ${2 * MAX_BYTES}`))
  for (let count = 0; count < 10; count += 1) {
    await sleep(50)
    connection.send('a'.repeat(1000))
  }
  connection.socket.resume()
  assert.equal((await connection.answer()).status, 413)
  const began = performance.now()
  while (connection.socket.writable) {
    connection.send('a')
    await sleep(10)
  }
  assert.equal(await connection.closed(), '')
  assert.ok(performance.now() - began < 60_000)
})

test('an upload of exactly the largest size is accepted', async () => {
  using connection = open(service.service.port)
  const body = part('a'.repeat(MAX_BYTES - part('').length))
  assert.equal(body.length, MAX_BYTES)
  connection.send(head(TYPE, `Content-Length: ${body.length}`) + body)
  assert.equal((await connection.answer()).status, 303)
  assert.match(await settledPage(ann), /1,024 KB/)
  await decide(ann, 'discard')
})

const slow: Readonly<Record<string, (connection: Connection) => unknown>> = {
  'half of it': connection => connection.send(head(TYPE, 'Content-Length: 1000') + part('a', { end: false })),
  'byte by byte': async connection => {
    connection.send(head(TYPE, 'Content-Length: 100000') + part('', { end: false }))
    while (connection.socket.writable) {
      connection.send('a')
      await sleep(10)
    }
  },
  'no last chunk': connection => connection.send(`${head(TYPE, CHUNKED)}3\r\n--c\r\n`),
}

test('an upload that arrives too slowly gets 408, and nothing of it is left', async t => {
  const metrics = new Metrics()
  const settings = { LOCKSTEP_REQUEST_TIMEOUT: '1', LOCKSTEP_UPLOAD_MAX: '1' }
  await using server = await startSecondServer(service, settings, { metrics })
  for (const [title, send] of Object.entries(slow)) {
    await t.test(title, async () => {
      const answer = await refused(server.port, send)
      assert.deepEqual([answer.status, header(answer, 'Connection')], [408, 'close'])
      await assertNothingLeft()
    })
  }
  assert.match(await metrics.text(), new RegExp(`{limit="uploadRate"} ${Object.keys(slow).length}`))
})

test('an upload may take longer than a form, if it is fast enough', async () => {
  const settings = { LOCKSTEP_REQUEST_TIMEOUT: '1', LOCKSTEP_HEADERS_TIMEOUT: '1', LOCKSTEP_UPLOAD_MAX: '20' }
  await using server = await startSecondServer(service, settings)
  using connection = open(server.port)
  connection.send(head(TYPE, CHUNKED))
  const send = (text: string) => connection.send(`${text.length.toString(16)}\r\n${text}\r\n`)
  send(part('', { end: false }))
  const began = performance.now()
  while (performance.now() - began < 2500) {
    send('a'.repeat(limits.uploadRate.max * 2))
    await sleep(50)
  }
  connection.send('b\r\n\r\n--cut--\r\n\r\n0\r\n\r\n')
  assert.equal((await connection.answer()).status, 303)
  await settledPage(ann)
  await decide(ann, 'discard')
})

test('an upload that takes longer than an hour gets 408', async t => {
  const metrics = new Metrics()
  // Longer than the hour, so that its bytes are not counted before.
  await using server = await startSecondServer(service, { LOCKSTEP_REQUEST_TIMEOUT: '9999' }, { metrics })
  const real = setTimeout
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const wait = () => new Promise(resolve => real(resolve, 100))
  const isThere = () => uploadFiles(service.databaseUrl).some(name => name.endsWith('/1'))
  using connection = open(server.port)
  connection.send(head(TYPE, 'Content-Length: 1000') + part('a', { end: false }))
  while (!isThere()) await wait()
  t.mock.timers.tick(limits.uploadTime.max - 1)
  await wait()
  assert.ok(isThere())
  t.mock.timers.tick(1)
  t.mock.timers.reset()
  assert.equal((await connection.answer()).status, 408)
  assert.match(await metrics.text(), /{limit="uploadTime"} 1/)
})

const malformed: Readonly<Record<string, readonly [type: string, body: string]>> = {
  'without a boundary': ['multipart/form-data', part('a')],
  'cut in the content of a file': ['multipart/form-data; boundary=cut', part('a', { end: false })],
  'cut in the headers of a file': ['multipart/form-data; boundary=cut', '--cut\r\nContent-Disp'],
  'without a part': ['multipart/form-data; boundary=cut', '--cut--\r\n'],
  'with a text field': [
    'multipart/form-data; boundary=cut',
    '--cut\r\nContent-Disposition: form-data; name="kind"\r\n\r\na\r\n--cut--\r\n',
  ],
  'of another type': ['multipart/mixed; boundary=cut', part('a')],
}

test('what is not a well-formed upload is refused, and nothing of it is left', async t => {
  for (const [title, [type, body]] of Object.entries(malformed)) {
    await t.test(title, async () => {
      using connection = open(service.service.port)
      connection.send(head(`Content-Type: ${type}`, `Content-Length: ${body.length}`) + body)
      const { status } = await connection.answer()
      assert.ok([400, 415, 422].includes(status), `${status}`)
      await assertNothingLeft()
    })
  }
})

test('an upload whose connection ends leaves nothing', async () => {
  for (const end of ['half', 'close'] as const) {
    using connection = open(service.service.port)
    connection.send(head(TYPE, 'Content-Length: 1000') + part('a', { end: false }))
    await until(async () => uploadFiles(service.databaseUrl).some(name => name.endsWith('/1')))
    if (end === 'half') connection.half()
    else connection.socket.destroy()
    await connection.closed()
    await assertNothingLeft()
  }
})

test('more files than allowed are refused', async () => {
  const files = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, index) => [`${index}`, 'a']))
  assert.equal((await upload(service.url, ann, files(limits.uploadFiles.max + 1))).status, 400)
  await assertNothingLeft()
  assert.equal((await upload(service.url, ann, files(limits.uploadFiles.max))).status, 303)
  assert.match(await settledPage(ann), /100 files/)
  await decide(ann, 'discard')
})

test('an upload is refused before its body is read', async t => {
  const { port } = service.service
  const announce = (...headers: readonly string[]) =>
    refused(port, connection => connection.send(head(TYPE, 'Content-Length: 1000', ...headers)))

  await t.test('from another site', async () => {
    const request = head(TYPE, 'Content-Length: 1000').replace('same-origin', 'cross-site')
    assert.equal((await refused(port, connection => connection.send(request))).status, 403)
  })

  await t.test('without a session', async () => {
    const request = head(TYPE, 'Content-Length: 1000').replace(/session=\w/, 'session=-')
    const { status } = await refused(port, connection => connection.send(request))
    assert.ok(status === 303 || status === 401 || status === 403, `${status}`)
  })

  await t.test('if the sign-in is not fresh', async () => {
    const sessions = service.store.db.updateTable('browser_session')
    const { confirmed_at: before } = await service.store.db
      .selectFrom('browser_session')
      .select('confirmed_at')
      .executeTakeFirstOrThrow()
    await sessions.set({ confirmed_at: Date.now() - 11 * 60_000 }).execute()
    const answer = await announce()
    assert.equal(answer.status, 303)
    assert.equal((await ann.get('/source/upload')).to, '/signin?again=1&next=%2Fsource%2Fupload')
    await sessions.set({ confirmed_at: before }).execute()
  })

  await t.test('if there is no space', async ({ mock }) => {
    const free = async () => ({ bavail: 1, bsize: 256 * 1024 * 1024 + 999 })
    mock.method(fs, 'statfs', free)
    syncBuiltinESMExports()
    const answer = await announce()
    mock.restoreAll()
    syncBuiltinESMExports()
    assert.equal(answer.status, 422)
    assert.match(answer.body, /not enough free space/)
  })

  await t.test('if there is no folder for it', async () => {
    await using server = await startSecondServer(service, { LOCKSTEP_DATABASE_URL: 'sqlite:/dev/null/lockstep.db' })
    const answer = await refused(server.port, connection => connection.send(head(TYPE, 'Content-Length: 1000')))
    assert.equal(answer.status, 422)
    assert.match(answer.body, /folder for uploads cannot be used/)
  })

  await t.test('if another one is under way, or waits', async () => {
    using first = open(port)
    first.send(head(TYPE, 'Content-Length: 1000') + part('a', { end: false }))
    await until(async () => uploadFiles(service.databaseUrl).some(name => name.endsWith('/1')))
    assert.equal((await announce()).status, 429)
    first.socket.destroy()
    await assertNothingLeft()
    await upload(service.url, ann, { a: 'a' })
    await settledPage(ann)
    assert.equal((await announce()).status, 429)
    await decide(ann, 'discard')
  })

  await t.test('if uploads are switched off', async () => {
    await using server = await startSecondServer(service, { LOCKSTEP_UPLOAD_MAX: '0' })
    const answer = await refused(server.port, connection => connection.send(head(TYPE, 'Content-Length: 1000')))
    assert.equal(answer.status, 404)
  })
})

test('the name of a file is shown as text, and leads nowhere', async () => {
  for (const name of ['../../../evil', 'a/b\\..\\evil', '<b>evil', '\u202egnp.evil', 'evil'.repeat(2000), '\0evil']) {
    using connection = open(service.service.port)
    const body = Buffer.from(part('a', { name }))
    connection.send(Buffer.concat([Buffer.from(head(TYPE, `Content-Length: ${body.length}`)), body]))
    const { status } = await connection.answer()
    if (status === 303) {
      const page = await settledPage(ann)
      assert.match(page, /evil/)
      assert.doesNotMatch(page, /<b>evil|\u202e|\.\.\/|\0|(?:evil){40}/)
      const evil = uploadFiles(service.databaseUrl).filter(name => name.includes('evil'))
      assert.deepEqual(evil, [])
      await decide(ann, 'discard')
    } else assert.equal(status, 400)
    await assertNothingLeft()
  }
})
