import assert from 'node:assert/strict'
import { createHook } from 'node:async_hooks'
import { once } from 'node:events'
import { createServer as createHttpServer, type RequestListener, setGlobalProxyFromEnv } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { syncBuiltinESMExports } from 'node:module'
import { type AddressInfo, createServer, type Server, isIPv4 } from 'node:net'
import os, { networkInterfaces, type NetworkInterfaceInfo } from 'node:os'
import { test } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { makeGuardedFetch } from '../../src/pull/guarded-fetch.ts'
import { Source } from '../../src/pull/source.ts'
import { readConfig } from '../../src/config.ts'
import { isPrivateAddress } from '../../src/contract/address.ts'
import { freePort } from '../support/postgres.ts'
import { selfSigned } from '../support/sources/certificate.ts'
import { makeClock } from '../support/sources/pulls.ts'
import { createSocket } from 'node:dgram'
import type { LookupAddress } from 'node:dns'
import { Resolver } from 'node:dns/promises'

// engine: any

type Guard = NonNullable<Parameters<typeof makeGuardedFetch>[1]>

interface Asking extends Guard {
  readonly address: string
  readonly origins?: string
}

/** Asks a source as the page does, once. */
function ask({ address, origins = '', ...guard }: Asking) {
  const config = readConfig({ LOCKSTEP_SOURCE_ORIGINS: origins }, ['sourceOrigins'])
  const send = makeGuardedFetch(config, { connectMs: 50, ...guard })
  const stop = new AbortController().signal
  return new Source({ address, key: 'lks_key', rate: 0, clock: makeClock(), stop, send, attempts: 1 }).get('/me')
}

async function failureOf(asking: Asking): Promise<string> {
  try {
    await ask(asking)
  } catch (error) {
    assert.ok(error instanceof Error)
    return error.message.replace(/^\S+ /, '')
  }
  throw new Error(`${asking.address} was read`)
}

interface Listening extends AsyncDisposable {
  readonly port: number
}

async function listening(server: Server, host: string, port = 0): Promise<Listening> {
  const sockets = new Set<{ destroy(): void }>()
  server.on('connection', socket => {
    sockets.add(socket)
    socket.on('error', () => {})
  })
  server.listen(port, host)
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** A server that says nothing and keeps what it receives. */
async function silent(host: string, port = 0): Promise<Listening & { readonly received: Buffer[] }> {
  const received: Buffer[] = []
  const server = createServer(socket => socket.on('data', (bytes: Buffer) => received.push(bytes)))
  return { ...(await listening(server, host, port)), received }
}

const responding = (listener: RequestListener) => listening(createHttpServer(listener), '127.0.0.1')

/** How many connections are tried while something runs, wherever they lead. */
async function countConnections(work: () => Promise<unknown>): Promise<number> {
  let connections = 0
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'TCPCONNECTWRAP') connections += 1
    },
  }).enable()
  try {
    await work()
  } finally {
    hook.disable()
  }
  return connections
}

const notPublic = (origin: string) =>
  `is not a public address: the operator can list it with LOCKSTEP_SOURCE_ORIGINS=${new URL(origin).origin}`
const UNREACHABLE =
  'cannot be reached (no https connection: check the name and the port, and that it is a public address)'

/** Hosts that are not public, whatever name servers say. */
const literals = `
  127.0.0.1 127.1 127.0.0.1. 2130706433 0x7f000001 0x7f.0.0.1 0177.0.0.1 017700000001 ①②⑦.0.0.1 127。0。0。1
  127.255.255.254 localhost LOCALHOST ⓛocalhost 0 0.0.0.0 10.0.0.1 167772161 172.16.0.1 172.31.255.255
  192.168.1.1 0xc0a80101 100.64.0.1 100.127.255.255 169.254.169.254 0xa9fea9fe 168.63.129.16 192.0.0.192
  192.0.2.1 198.51.100.7 203.0.113.9 198.18.0.1 198.19.255.255 192.88.99.1 224.0.0.1 239.255.255.250 240.0.0.1
  255.255.255.255 [::] [::1] [0:0:0:0:0:0:0:1] [::ffff:127.0.0.1] [::ffff:7f00:1] [::ffff:8.8.8.8]
  [::127.0.0.1] [::ffff:0:127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b::10.0.0.1] [64:ff9b::a9fe:a9fe]
  [64:ff9b:1::8.8.8.8] [2002:7f00:1::1] [2002:808:808::1] [2001::1] [2001:2::1] [2001:10::1] [2001:db8::1]
  [3fff::1] [100::1] [5f00::1] [fc00::1] [fd00:ec2::254] [fe80::1] [fec0::1] [ff02::1]
`
  .trim()
  .split(/\s+/)

test('an address that is not public gets no request, however it is written', async () => {
  await using everywhere = await silent('::')
  const connections = await countConnections(async () => {
    for (const host of literals) {
      const address = `https://${host}:${everywhere.port}`
      assert.equal(await failureOf({ address }), notPublic(address), host)
    }
  })
  assert.equal(connections, 0)
  assert.deepEqual(everywhere.received, [])
})

test('an address of this machine gets no request, even if it is public', async t => {
  await using everywhere = await silent('::')
  const known = networkInterfaces()
  const [own] = Object.values(known).flatMap(addresses => addresses ?? [])
  assert.ok(own !== undefined)
  // As on a machine that has public addresses.
  const more: NetworkInterfaceInfo[] = [
    { ...own, address: '93.184.215.14', family: 'IPv4' },
    { ...own, address: '2606:2800:21f:cb07::14', family: 'IPv6', scopeid: 0 },
  ]
  const mocked = t.mock.method(os, 'networkInterfaces', () => ({ ...known, more }))
  syncBuiltinESMExports()
  t.after(() => {
    mocked.mock.restore()
    syncBuiltinESMExports()
  })
  const all = [...Object.values(known).flatMap(addresses => addresses ?? []), ...more]
  const connections = await countConnections(async () => {
    for (const each of all) {
      const host = each.family === 'IPv4' ? each.address : `[${each.address}]`
      const address = `https://${host}:${everywhere.port}`
      const failure = await failureOf({ address })
      assert.equal(failure, more.some(one => one.address === each.address) ? UNREACHABLE : notPublic(address))
    }
  })
  assert.equal(connections, 0)
  assert.deepEqual(everywhere.received, [])
})

/** What a name server answers for a name; nobody gets a byte if one of the addresses is not public. */
const answers: Readonly<Record<string, readonly string[]>> = {
  'loopback.test': ['127.0.0.1'],
  'loopback-six.test': ['::1'],
  'one-of-two.test': ['93.184.215.14', '127.0.0.1'],
  'one-of-both.test': ['93.184.215.14', '::1'],
  'metadata.test': ['169.254.169.254'],
  'private.test': ['10.0.0.5', '192.168.0.5'],
  'carrier.test': ['100.64.1.1'],
  'mapped.test': ['::ffff:127.0.0.1'],
  'translated.test': ['64:ff9b::7f00:1'],
  'six-to-four.test': ['2002:7f00:1::1'],
  'local.test': ['fe80::1', 'fd00::1'],
  'unspecified.test': ['0.0.0.0', '::'],
  'nobody.test': [],
}

test('a name gets no request if one of its addresses is not public', async () => {
  await using names = await startNameServer((name, version) =>
    (answers[name] ?? []).filter(address => address.includes(':') === (version === 6)),
  )
  await using everywhere = await silent('::')
  const connections = await countConnections(async () => {
    for (const name of Object.keys(answers)) {
      const address = `https://${name}:${everywhere.port}`
      assert.equal(await failureOf({ address, resolve: names.resolve }), UNREACHABLE, name)
    }
    // These are looked up as the system does.
    for (const host of ['localhost.', 'printer.invalid', 'localhost.localdomain']) {
      assert.equal(await failureOf({ address: `https://${host}:${everywhere.port}` }), UNREACHABLE, host)
    }
  })
  assert.deepEqual(new Set(names.asked), new Set(Object.keys(answers)))
  assert.equal(connections, 0)
  assert.deepEqual(everywhere.received, [])
})

test('a request goes to the address that was checked, whatever the name server says next', async () => {
  let questions = 0
  await using names = await startNameServer((_name, version) => {
    if (version === 6) return []
    questions += 1
    return [questions === 1 ? '127.0.0.2' : '127.0.0.1']
  })
  await using good = await silent('127.0.0.2')
  await using hidden = await silent('127.0.0.1', good.port)
  // One of two loopback addresses stands for a public one.
  const guard: Guard = { resolve: names.resolve, isAllowed: address => address === '127.0.0.2', connectMs: 500 }
  const address = `https://rebinding.test:${good.port}`
  assert.equal(await failureOf({ address, ...guard }), UNREACHABLE)
  assert.equal(questions, 1, 'the name is looked up once')
  assert.ok(good.received.length > 0)
  assert.equal(await failureOf({ address, ...guard }), UNREACHABLE)
  assert.equal(questions, 2)
  assert.deepEqual(hidden.received, [])
})

for (const status of [301, 302, 303, 307, 308]) {
  test(`a redirect with ${status} is not followed`, async () => {
    await using target = await silent('127.0.0.1')
    await using source = await responding((_request, response) => {
      response.writeHead(status, { Location: `http://127.0.0.1:${target.port}/api/v1/me` }).end()
    })
    const origin = `http://127.0.0.1:${source.port}`
    const failure = await failureOf({ address: origin, origins: origin })
    assert.match(failure, /^redirects to another address, which is not followed/)
    assert.deepEqual(target.received, [])
  })
}

test('the origins of the setting are read beside those that are public', async () => {
  await using source = await responding((request, response) => {
    const { authorization, host } = request.headers
    response.end(JSON.stringify({ ok: true, data: { path: request.url, authorization, host } }))
  })
  await using other = await silent('127.0.0.1')
  const origin = `http://127.0.0.1:${source.port}`
  const host = `127.0.0.1:${source.port}`
  assert.deepEqual(await ask({ address: origin, origins: `https://history.example, ${origin}` }), {
    status: 200,
    data: { path: '/api/v1/me', authorization: 'Bearer lks_key', host },
  })
  for (const address of [`http://127.0.0.1:${other.port}`, `https://127.0.0.1:${source.port}`]) {
    const failure = await failureOf({ address, origins: origin })
    assert.match(failure, /^is not an? (https|public) address: the operator can list it with LOCKSTEP_SOURCE_ORIGINS=/)
  }
  // Listing one shuts out no other: this one is tried.
  const resolve = async () => [{ address: '93.184.215.14', family: 4 }]
  const isAllowed = () => false
  const failure = await failureOf({ address: 'https://history.example', origins: origin, resolve, isAllowed })
  assert.equal(failure, UNREACHABLE)
  assert.deepEqual(other.received, [])
})

test('without TLS only listed origins are read, if every address of them is private', async () => {
  await using source = await responding((_request, response) => void response.end('{"ok":true,"data":{"id":1}}'))
  const origin = `http://history.example:${source.port}`
  const at = (...addresses: string[]) => ({
    resolve: async () => addresses.map(address => ({ address, family: address.includes(':') ? 6 : 4 })),
  })
  assert.deepEqual(await ask({ address: origin, origins: origin, ...at('127.0.0.1') }), {
    status: 200,
    data: { id: 1 },
  })
  const connections = await countConnections(async () => {
    for (const addresses of [['93.184.215.14'], ['127.0.0.1', '93.184.215.14'], ['169.254.169.254'], ['2001:db8::1']])
      assert.equal(await failureOf({ address: origin, origins: origin, ...at(...addresses) }), UNREACHABLE)
  })
  assert.equal(connections, 0)
  for (const address of ['10.1.2.3', '172.31.0.1', '192.168.1.10', '100.64.0.1', 'fd00::1', '::1', '127.0.0.2'])
    assert.ok(isPrivateAddress(address), address)
})

test('a certificate is checked, also where the environment says otherwise', async t => {
  const server = createHttpsServer(selfSigned, (_request, response) => response.end('{"ok":true,"data":{"id":1}}'))
  await using source = await listening(server, '127.0.0.1')
  const origin = `https://localhost:${source.port}`
  const asking = { address: origin, origins: origin, connectMs: 60_000 }
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  try {
    assert.match(await failureOf(asking), /^certificate of \S+ is not accepted \(DEPTH_ZERO_SELF_SIGNED_CERT\)$/)
  } finally {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
  }
  const known = getCACertificates('default')
  t.after(() => setDefaultCACertificates(known))
  setDefaultCACertificates([...known, selfSigned.cert])
  assert.deepEqual(await ask(asking), { status: 200, data: { id: 1 } })
})

test('no proxy of the environment is used', async t => {
  const targets: (string | undefined)[] = []
  await using proxy = await responding((request, response) => {
    targets.push(request.url)
    response.writeHead(502).end()
  })
  await using source = await responding((_request, response) => void response.end('{"ok":true,"data":{"id":1}}'))
  const restore = setGlobalProxyFromEnv({ http_proxy: `http://127.0.0.1:${proxy.port}`, no_proxy: '' })
  t.after(restore)
  const origin = `http://127.0.0.1:${source.port}`
  assert.equal((await fetch(origin)).status, 502, 'fetch uses it')
  assert.equal(targets.length, 1)
  assert.deepEqual(await ask({ address: origin, origins: origin }), { status: 200, data: { id: 1 } })
  assert.equal(targets.length, 1)
})

test('the message and the time are the same whether a port is closed, filtered or of another protocol', async () => {
  await using filtered = await silent('127.0.0.1')
  await using plain = await responding((_request, response) => void response.end())
  const ports = [await freePort(), filtered.port, plain.port]
  const addresses = [...ports.map(port => `https://127.0.0.1:${port}`), 'https://printer.invalid']
  const connectMs = 400
  const starts = performance.now()
  const failures = await Promise.all(
    addresses.map(async address => {
      const failure = await failureOf({ address, origins: address, connectMs })
      return { failure, ms: performance.now() - starts }
    }),
  )
  assert.deepEqual(new Set(failures.map(({ failure }) => failure)), new Set([UNREACHABLE]))
  // Timers end up to a millisecond early.
  for (const { ms } of failures) assert.ok(ms >= connectMs - 1, `${ms} ms`)
  assert.ok(filtered.received.length > 0)
})

interface NameServer extends AsyncDisposable {
  /** All addresses of a name, as this server answers. */
  readonly resolve: (name: string) => Promise<LookupAddress[]>
  /** The names that were asked for, once for each question. */
  readonly asked: string[]
}

/** A DNS server on this machine. `answer` is called for each question, with its name and the version of addresses. */
async function startNameServer(answer: (name: string, version: 4 | 6) => readonly string[]): Promise<NameServer> {
  const asked: string[] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { port, address }) => {
    const { name, end } = questionOf(query)
    const version = query.readUInt16BE(end - 4) === TYPE_A ? 4 : 6
    asked.push(name)
    socket.send(responseTo(query, end, answer(name, version)), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const resolver = new Resolver()
  resolver.setServers([`127.0.0.1:${socket.address().port}`])
  return {
    asked,
    async resolve(name) {
      const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      const found = [four, six].flatMap((result, index) =>
        result.status === 'fulfilled' ? result.value.map(address => ({ address, family: index === 0 ? 4 : 6 })) : [],
      )
      if (found.length === 0) throw new Error('there is no such name')
      return found
    },
    async [Symbol.asyncDispose]() {
      resolver.cancel()
      socket.close()
      await once(socket, 'close')
    },
  }
}

const TYPE_A = 1
const TYPE_AAAA = 28
const HEADER_BYTES = 12

function questionOf(query: Buffer): { name: string; end: number } {
  const labels: string[] = []
  let position = HEADER_BYTES
  for (let length = query[position] ?? 0; length > 0; length = query[position] ?? 0) {
    labels.push(query.toString('latin1', position + 1, position + 1 + length))
    position += 1 + length
  }
  // After the root come type and class.
  return { name: labels.join('.'), end: position + 5 }
}

function responseTo(query: Buffer, end: number, addresses: readonly string[]): Buffer {
  const head = Buffer.from(query.subarray(0, end))
  // A response, by a server with recursion, without an error.
  head.writeUInt16BE(0x81_80, 2)
  head.writeUInt16BE(addresses.length, 6)
  head.writeUInt32BE(0, 8)
  const answers = addresses.map(address => {
    const bytes = isIPv4(address) ? Buffer.from(address.split('.').map(Number)) : ipv6Bytes(address)
    const record = Buffer.alloc(12)
    // The name of the question, a type, class IN, valid for no time, and a length.
    record.writeUInt16BE(0xc0_0c, 0)
    record.writeUInt16BE(isIPv4(address) ? TYPE_A : TYPE_AAAA, 2)
    record.writeUInt16BE(1, 4)
    record.writeUInt16BE(bytes.length, 10)
    return Buffer.concat([record, bytes])
  })
  return Buffer.concat([head, ...answers])
}

function ipv6Bytes(address: string): Buffer {
  const [before = '', after = ''] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const words = (text: string) => (text === '' ? [] : text.split(':').map(word => Number.parseInt(word, 16)))
  const zeros = Array.from({ length: 8 - words(before).length - words(after).length }, () => 0)
  const bytes = Buffer.alloc(16)
  for (const [index, word] of [...words(before), ...zeros, ...words(after)].entries())
    bytes.writeUInt16BE(word, index * 2)
  return bytes
}
