import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A proxy between a service and its PostgreSQL server, which counts round trips and can stop passing data on. */
export interface Proxy extends AsyncDisposable {
  /** The address of a database of the server, through the proxy. */
  urlOf(url: string): string
  /** The number of round trips of prepared reads since the start. */
  readonly roundTrips: number
  /** Closes its connections, and leads to another server. */
  leadTo(port: number): void
  /** Passes nothing on in either direction; still accepts connections. */
  silence(): void
  /** Passes on what was held back, and everything after it. */
  resume(): void
}

export async function startProxy(firstPort: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  let port = firstPort
  let silent = false
  let roundTrips = 0

  const server = createServer(client => {
    const upstream = connect(port, '127.0.0.1')
    const messages = makeReader(() => (roundTrips += 1))
    client.on('data', messages)
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
      from.on('error', () => {})
      from.pipe(to)
      if (silent) from.pause()
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const own = (server.address() as AddressInfo).port
  return {
    urlOf(url) {
      const through = new URL(url)
      through.port = String(own)
      return through.href
    },
    get roundTrips() {
      return roundTrips
    },
    leadTo(other) {
      port = other
      for (const socket of sockets) socket.destroy()
    },
    silence() {
      silent = true
      for (const socket of sockets) socket.pause()
    },
    resume() {
      silent = false
      for (const socket of sockets) socket.resume()
    },
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/**
 * Calls back at each Sync, after which a client waits for the server, if a prepared statement with a name went before: such are reads, and
 * nothing else is.
 */
function makeReader(onRoundTrip: () => void): (chunk: Buffer) => void {
  let named = false
  return eachMessage((message, type) => {
    const body = message.subarray(5)
    // Parse begins with the name of the statement, Bind with that of the portal and then that of the statement.
    if (type === 'P' && body[0] !== 0) named = true
    if (type === 'B' && body[body.indexOf(0) + 1] !== 0) named = true
    if (type === 'S') {
      if (named) onRoundTrip()
      named = false
    }
  })
}

/** Calls back with each whole message of a client, and its type. The first has none. */
export function eachMessage(onMessage: (message: Buffer, type: string) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let isStarted = false
  return chunk => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const head = isStarted ? 1 : 0
      if (rest.length < head + 4) return
      const length = head + rest.readInt32BE(head)
      if (rest.length < length) return
      const message = rest.subarray(0, length)
      rest = rest.subarray(length)
      onMessage(message, isStarted ? String.fromCharCode(message[0] ?? 0) : '')
      isStarted = true
    }
  }
}
