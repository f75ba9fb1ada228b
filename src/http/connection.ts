import type { IncomingMessage, Server } from 'node:http'
import type { Socket } from 'node:net'
import { type LimitName, limits } from './limits.ts'
import { closeWith, type NodeInternals, parseInPieces } from './node-internals.ts'
import type { ConnectionState, RequestContext } from './request.ts'

/** A connection: its pending requests, in order, and how it ends. */
export class Connection implements ConnectionState {
  readonly socket: Socket
  readonly #pending: RequestContext[] = []
  #afterLast: (() => void) | undefined
  /** The newest request, if it announced a body. */
  #withBody: IncomingMessage | undefined
  #bodyError: Error | undefined
  #onBodyError: ((error: Error) => void) | undefined
  /** Whether the body of the newest request has time limits of its own. */
  hasLongBody = false
  #hasPageInWork = false
  readonly #waitingPages: (() => void)[] = []
  #ignored = 0
  #isReadInPieces = false
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

  /** Whether another request is one too many. */
  get isFull(): boolean {
    return this.#pending.length >= limits.pipelined.max
  }

  isNewest(context: RequestContext): boolean {
    return this.#pending.at(-1) === context
  }

  /** Whether the body of the newest request has not arrived completely. */
  get awaitsBody(): boolean {
    return this.#withBody?.complete === false
  }

  add(context: RequestContext) {
    this.#pending.push(context)
    this.#withBody = context.headers.bodyAnnounced ? context.request : undefined
    this.#onBodyError = undefined
    this.hasLongBody = false
    if (!context.keepAlive) this.isClosing = true
  }

  /** Is called for a request that gets no response. Many of them end the connection. */
  ignore(request: IncomingMessage) {
    this.#ignored += 1
    if (this.#ignored > limits.pipelined.max) this.socket.destroy()
    // Node makes an error, with its stack, for each request that is not destroyed when its connection closes.
    if (this.socket.destroyed) request.destroy()
  }

  /** Ends the connection, because of a limit, without the responses that are pending. */
  abort(limit: LimitName) {
    for (const context of this.#pending.slice(0, 1)) context.limit = limit
    this.socket.destroy()
    for (const { request } of this.#pending) request.destroy()
  }

  readInPieces() {
    if (!this.#isReadInPieces) parseInPieces(this.socket)
    this.#isReadInPieces = true
  }

  onBodyError(callback: (error: Error) => void) {
    if (this.#bodyError !== undefined) callback(this.#bodyError)
    this.#onBodyError = callback
  }

  awaitLongBody(callback: (error: Error) => void) {
    this.hasLongBody = true
    this.onBodyError(callback)
  }

  /** The rest of the body cannot arrive: whoever reads it responds. */
  failBody(error: Error) {
    this.#bodyError = error
    this.#onBodyError?.(error)
  }

  async runInOrder(context: RequestContext, work: () => Promise<void>) {
    if (this.#hasPageInWork) {
      context.limit = 'pages'
      await new Promise<void>(resolve => this.#waitingPages.push(resolve))
    }
    this.#hasPageInWork = true
    try {
      if (!this.socket.destroyed) await work()
    } finally {
      const next = this.#waitingPages.shift()
      if (next === undefined) this.#hasPageInWork = false
      else next()
    }
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
    // Node closes after the last response that it knows of, and one of our own may follow.
    if (this.#afterLast !== undefined && !this.isIdle && !this.isClosing) return
    const { socket } = this
    socket.end()
    const timer = setTimeout(destroy, LINGER_MS, socket).unref()
    socket.once('close', () => clearTimeout(timer))
  }
}

/** The open connections of a server. */
export class Connections implements Iterable<Connection> {
  readonly #bySocket = new Map<Socket, Connection>()
  /** How many there have been. */
  accepted = 0
  readonly #canReadInPieces: boolean
  /** How many requests were read in this turn of the event loop. */
  #read = 0
  /** Until when new connections are read in pieces. */
  #floodEndsAt = 0
  readonly #endTurn = () => {
    this.#read = 0
  }

  constructor(server: Server, { lingering, pieces }: Pick<NodeInternals, 'lingering' | 'pieces'>) {
    this.#canReadInPieces = pieces
    server.on('connection', (socket: Socket) => {
      this.accepted += 1
      if (this.#bySocket.size >= limits.connections.max) {
        socket.destroy()
        server.emit('drop')
        return
      }
      const connection = new Connection(socket)
      this.#bySocket.set(socket, connection)
      if (lingering) closeWith(socket, connection.close)
      if (performance.now() < this.#floodEndsAt) connection.readInPieces()
      socket.once('close', () => this.#bySocket.delete(socket))
    })
  }

  /**
   * Counts a request that was read. A turn of the event loop reads from all connections before it does anything else, and from each of them
   * more than a thousand requests. Once a turn has read so many, all other connections are read in pieces, and so are those that open in the
   * next ten seconds.
   */
  noteRead(reading: Connection) {
    if (this.#read === 0) setImmediate(this.#endTurn)
    this.#read += 1
    if (this.#read !== limits.reading.max || !this.#canReadInPieces) return
    this.#floodEndsAt = performance.now() + FLOOD_MS
    for (const connection of this) if (connection !== reading) connection.readInPieces()
  }

  of(socket: Socket): Connection {
    // A closed one is no longer in the map.
    return this.#bySocket.get(socket) ?? new Connection(socket)
  }

  [Symbol.iterator](): Iterator<Connection> {
    return this.#bySocket.values()
  }
}

const FLOOD_MS = 10_000

/** How long an ended connection may stay open, so that the client can read the last response. */
const LINGER_MS = 1000

function destroy(socket: Socket) {
  socket.destroy()
}
