import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Config } from '../config.ts'
import { noteConnection } from '../fairness.ts'
import { isTrusted, networkOf, withoutMapping } from './addresses.ts'
import { type LimitName, limits } from './limits.ts'

interface ConnectionOptions {
  readonly config: Pick<Config, 'addressConnections' | 'trustedProxies' | 'requestTimeout'>
  readonly limitReached: (limit: LimitName) => void
  /** Is called with the first address that has too many. */
  readonly onTooMany: (address: string) => void
}

/** The open connections of a server: how many each address has, and the newest response of each. */
export class Connections {
  readonly #newest = new Map<Socket, ServerResponse | undefined>()
  readonly #ofNetwork = new Map<string, number>()
  readonly #options: ConnectionOptions
  #hasWarned = false

  constructor(server: Server, options: ConnectionOptions) {
    const { config, limitReached } = options
    this.#options = options
    server.maxConnections = limits.connections.max
    server.on('drop', () => limitReached('connections'))
    server.on('connection', (socket: Socket) => {
      const address = withoutMapping(socket.remoteAddress ?? '')
      const isAdmitted = this.#isAdmitted(socket, address)
      noteConnection(networkOf(address), !isAdmitted)
      if (!isAdmitted) return socket.destroy()
      // Each request on it listens for its end.
      socket.setMaxListeners(0)
      this.#newest.set(socket, undefined)
      socket.once('close', () => this.#newest.delete(socket))
    })
    server.prependListener('request', ({ socket }: IncomingMessage, response: ServerResponse) => {
      this.#newest.set(socket, response)
    })
    // A client that does not read its responses is disconnected. One that waits for the service is answered in time.
    server.setTimeout(config.requestTimeout, (socket: Socket) => {
      if (socket.writableLength === 0 && this.newest(socket)?.writableEnded === false) return
      if (socket.writableLength > 0) limitReached('unreadTimeout')
      socket.destroy()
    })
  }

  /** Counts a connection of an address, unless it is that of a trusted proxy. */
  #isAdmitted(socket: Socket, address: string): boolean {
    const { addressConnections, trustedProxies } = this.#options.config
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

  newest(socket: Socket): ServerResponse | undefined {
    return this.#newest.get(socket)
  }

  /** Whether somebody has connected and asked nothing yet. */
  isAwaitingFirst(): boolean {
    return this.#newest.values().some(response => response === undefined)
  }

  /** Lets each connection end with its newest response. */
  endWithNewest() {
    for (const response of this.#newest.values()) {
      if (response?.headersSent === false) response.setHeader('Connection', 'close')
    }
  }
}
