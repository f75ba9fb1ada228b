import type { Server, ServerResponse } from 'node:http'
import { type BlockList, isIP, type Socket } from 'node:net'
import type { Config } from '../config.ts'
import { networkOf, withoutMapping } from './addresses.ts'
import { type LimitName, limits } from './limits.ts'

interface ConnectionOptions {
  readonly config: Pick<Config, 'addressConnections' | 'trustedProxies' | 'requestTimeout'>
  readonly limitReached: (limit: LimitName) => void
  /** Is called with the first address that has too many. */
  readonly onTooMany: (address: string) => void
}

interface Open {
  newest: ServerResponse | undefined
  /** What is to be called when a request has ended. */
  readonly ends: Set<() => void>
}

/** The open connections of a server: how many each address has, and the newest response of each. */
export class Connections {
  readonly #open = new Map<Socket, Open>()
  readonly #ofNetwork = new Map<string, number>()
  readonly #options: ConnectionOptions
  #hasWarned = false

  constructor(server: Server, options: ConnectionOptions) {
    this.#options = options
    server.maxConnections = limits.connections.max
    server.on('drop', () => options.limitReached('connections'))
    server.on('connection', (socket: Socket) => {
      if (!this.#isAdmitted(socket)) return socket.destroy()
      const open: Open = { newest: undefined, ends: new Set() }
      this.#open.set(socket, open)
      socket.once('close', () => {
        // Node says nothing of requests that wait for an earlier one, or for a tunnel.
        for (const end of open.ends) end()
        this.#open.delete(socket)
      })
    })
    // A client that does not read its responses is disconnected. One that waits for the service is answered in time.
    server.setTimeout(options.config.requestTimeout, (socket: Socket) => {
      if (socket.writableLength === 0 && this.newest(socket)?.writableEnded === false) return
      if (socket.writableLength > 0) options.limitReached('unreadTimeout')
      socket.destroy()
    })
  }

  /** Counts a connection of an address, unless it is that of a trusted proxy. */
  #isAdmitted(socket: Socket): boolean {
    const { addressConnections, trustedProxies } = this.#options.config
    const address = withoutMapping(socket.remoteAddress ?? '')
    if (addressConnections === 0 || isTrusted(address, trustedProxies)) return true
    const network = networkOf(address)
    const open = this.#ofNetwork.get(network) ?? 0
    if (open >= addressConnections) {
      this.#options.limitReached('addressConnections')
      if (!this.#hasWarned) this.#options.onTooMany(address)
      this.#hasWarned = true
      return false
    }
    this.#ofNetwork.set(network, open + 1)
    socket.once('close', () => {
      const left = (this.#ofNetwork.get(network) ?? 1) - 1
      if (left === 0) this.#ofNetwork.delete(network)
      else this.#ofNetwork.set(network, left)
    })
    return true
  }

  /** `end` is called at the latest when the connection has ended. False if it has. */
  noteRequest(socket: Socket, response: ServerResponse, end: () => void): boolean {
    const open = this.#open.get(socket)
    if (open === undefined) return false
    open.newest = response
    open.ends.add(end)
    return true
  }

  /** False if the end of the request was noted before. */
  noteEnd(socket: Socket, end: () => void): boolean {
    return this.#open.get(socket)?.ends.delete(end) ?? false
  }

  newest(socket: Socket): ServerResponse | undefined {
    return this.#open.get(socket)?.newest
  }

  /** Whether somebody has connected and asked nothing yet. */
  isAwaitingFirst(): boolean {
    return this.#open.values().some(({ newest }) => newest === undefined)
  }

  /** Lets each connection end with its newest response. */
  endWithNewest() {
    for (const { newest: response } of this.#open.values()) {
      if (response !== undefined && !response.headersSent) response.setHeader('Connection', 'close')
    }
  }
}

function isTrusted(address: string, trusted: BlockList): boolean {
  const version = isIP(address)
  return version !== 0 && trusted.check(address, version === 4 ? 'ipv4' : 'ipv6')
}
