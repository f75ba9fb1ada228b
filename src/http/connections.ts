import type { Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import { type Config, settings } from '../config.ts'
import { type Load, noteConnection } from '../fairness.ts'
import { isTrusted, networkOf, withoutMapping } from './addresses.ts'
import { type LimitName, limits } from './limits.ts'
import type { Log } from './log.ts'

interface ConnectionOptions {
  readonly config: Pick<Config, 'addressConnections' | 'trustedProxies' | 'requestTimeout' | 'drainDelay'>
  readonly limitReached: (limit: LimitName) => void
  readonly log: Log
}

/** The open connections of a server: how many each address has, the newest response of each, and how they end. */
export class Connections {
  /** /readyz responds 503, while everything else is served. */
  isDraining = false
  /** Each response says that its connection closes. */
  isClosing = false
  /** By connection; undefined for one that has not asked yet. */
  readonly newest = new Map<Socket, ServerResponse | undefined>()
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
      this.newest.set(socket, undefined)
      socket.once('close', () => this.newest.delete(socket))
    })
    // A client that does not read its responses is disconnected. One that waits for the service is answered in time.
    server.setTimeout(config.requestTimeout, (socket: Socket) => {
      if (socket.writableLength === 0 && this.newest.get(socket)?.writableEnded === false) return
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
      if (!this.#hasWarned) this.#options.log.failure(new Error(tooMany(address, addressConnections)), undefined)
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

  /** Drains, stops listening, and resolves when every request is answered and every connection has ended. */
  async close(app: FastifyInstance, load: Load) {
    this.isDraining = true
    await sleep(this.#options.config.drainDelay)
    this.isClosing = true
    for (const response of this.newest.values()) {
      if (response?.headersSent === false) response.setHeader('Connection', 'close')
    }
    // That of an HTTP server would also reset who has connected and is about to ask.
    NetServer.prototype.close.call(app.server)
    const deadline = performance.now() + MAX_ANSWER_MS
    const patience = performance.now() + MAX_FIRST_REQUEST_MS
    do await sleep(LAST_REQUESTS_MS)
    while (this.newest.values().some(response => response === undefined) && performance.now() < patience)
    let quietRounds = 0
    const timer = setInterval(() => {
      app.server.closeIdleConnections()
      quietRounds = load.inWork === 0 ? quietRounds + 1 : 0
      // What is open now has sent half a request, or does not read its response.
      if (quietRounds >= QUIET_ROUNDS || performance.now() > deadline) app.server.closeAllConnections()
    }, ROUND_MS)
    await app.close()
    clearInterval(timer)
  }
}

const LAST_REQUESTS_MS = 100
const MAX_FIRST_REQUEST_MS = 1000
const ROUND_MS = 50
const QUIET_ROUNDS = 3
const MAX_ANSWER_MS = 8000

function tooMany(address: string, most: number): string {
  const { addressConnections: setting, trustedProxies } = settings
  return `${address} has ${most} open connections, so more are closed (${setting.env}). If it is a proxy, name it in ${trustedProxies.env}`
}
