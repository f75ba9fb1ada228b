import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { closeWith } from './node-internals.ts'
import type { ConnectionState, RequestContext } from './request-context.ts'

/** A connection: the requests on it that are not answered yet, in order, and how it ends. */
export class Connection implements ConnectionState {
  readonly socket: Socket
  readonly #pending: RequestContext[] = []
  #afterLast: (() => void) | undefined
  /** What follows a response that announces the end is read, and not answered. */
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

  /** Does what was left for the time after the last response. */
  settle() {
    if (this.isIdle) this.#afterLast?.()
  }

  /** Calls back after the last pending response, at once if there is none. Only the first callback counts. */
  afterLast(callback: () => void) {
    if (this.#afterLast !== undefined) return
    this.#afterLast = callback
    this.settle()
  }

  /** Ends the connection, and reads on for a while: closed at once it would be reset, and its last response lost. */
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
    // One that is closed already is in the map no more.
    return this.#bySocket.get(socket) ?? new Connection(socket)
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#bySocket.values()
  }
}

/** How long a connection that was ended may stay open for its last response to be read. */
const LINGER_MS = 1000

function destroy(socket: Socket) {
  socket.destroy()
}
