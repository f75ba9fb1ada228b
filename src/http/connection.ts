import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { closeWith } from './node-internals.ts'
import type { ConnectionState, RequestContext } from './request-context.ts'

/** A connection: its pending requests, in order, and how it ends. */
export class Connection implements ConnectionState {
  readonly socket: Socket
  readonly #pending: RequestContext[] = []
  #afterLast: (() => void) | undefined
  /** Requests after a response with `Connection: close` are read, but get no response. */
  isClosing = false

  constructor(socket: Socket) {
    this.socket = socket
  }

  get isIdle(): boolean {
    return this.#pending.length === 0
  }

  get pending(): readonly RequestContext[] {
    return this.#pending
  }

  isNewest(context: RequestContext): boolean {
    return this.#pending.at(-1) === context
  }

  add(context: RequestContext) {
    this.#pending.push(context)
    if (!context.keepAlive) this.isClosing = true
  }

  /** False if the request was removed before. */
  remove(context: RequestContext): boolean {
    const index = this.#pending.indexOf(context)
    if (index === -1) return false
    this.#pending.splice(index, 1)
    return true
  }

  /** Runs the callback of `afterLast` if no request is pending. */
  settle() {
    if (this.isIdle) this.#afterLast?.()
  }

  /** Calls back after the last pending response, or at once if there is none. Only the first callback is called. */
  afterLast(callback: () => void) {
    if (this.#afterLast !== undefined) return
    this.#afterLast = callback
    this.settle()
  }

  /** Ends the connection, but reads on for a while: closing at once would reset it, and lose the last response. */
  readonly close = () => {
    const { socket } = this
    socket.end()
    const timer = setTimeout(destroy, LINGER_MS, socket).unref()
    socket.once('close', () => clearTimeout(timer))
  }
}

/** The open connections of a server. */
export class Connections implements Iterable<Connection> {
  readonly #bySocket = new Map<Socket, Connection>()

  constructor(server: Server, lingers: boolean) {
    server.on('connection', (socket: Socket) => {
      const connection = new Connection(socket)
      this.#bySocket.set(socket, connection)
      if (lingers) closeWith(socket, connection.close)
      socket.once('close', () => this.#bySocket.delete(socket))
    })
  }

  of(socket: Socket): Connection {
    // A closed one is no longer in the map.
    return this.#bySocket.get(socket) ?? new Connection(socket)
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#bySocket.values()
  }
}

/** How long an ended connection may stay open, so that the client can read the last response. */
const LINGER_MS = 1000

function destroy(socket: Socket) {
  socket.destroy()
}
