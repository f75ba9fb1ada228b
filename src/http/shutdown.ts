import { once } from 'node:events'
import type { Server } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Connection, Connections } from './connection.ts'
import { stopListening } from './node-internals.ts'

/** How far a server has come in stopping. */
export class Shutdown {
  /** /readyz reports it; the server still serves. */
  isDraining = false
  /** The server listens no more, and the last response of each connection says that it is the last. */
  isClosing = false

  /** Drains for `drainDelay` milliseconds, stops listening, and resolves when every connection has ended. */
  async run(server: Server, connections: Connections, drainDelay: number) {
    this.isDraining = true
    await sleep(drainDelay)
    this.isClosing = true
    const closed = once(server, 'close')
    stopListening(server)
    // What has arrived but was not read yet is read in the next turns of the event loop.
    await sleep(LAST_READ_MS)
    // A connection without a request was opened for one, so it gets more time.
    closeIdle(connections, ({ socket }) => socket.bytesRead > 0)
    const firstRequestTimer = setTimeout(closeIdle, FIRST_REQUEST_MS, connections)
    const deadline = setTimeout(destroyAll, MAX_CLOSE_MS, connections)
    await closed
    clearTimeout(firstRequestTimer)
    clearTimeout(deadline)
    // Stops the timer that looks for slow requests.
    server.close()
  }
}

const LAST_READ_MS = 20
const FIRST_REQUEST_MS = 1000
const MAX_CLOSE_MS = 8000

function closeIdle(connections: Connections, isDue: (connection: Connection) => boolean = () => true) {
  for (const connection of connections) if (connection.isIdle && isDue(connection)) connection.close()
}

function destroyAll(connections: Connections) {
  for (const { socket } of connections) socket.destroy()
}
