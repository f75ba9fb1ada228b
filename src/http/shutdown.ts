import { once } from 'node:events'
import type { Server } from 'node:net'
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { Connection, Connections } from './connection.ts'
import { closeGently, type NodeInternals } from './node-internals.ts'

/** The state of a server that is stopping. */
export class Shutdown {
  /** /readyz reports 503; the server still serves. */
  isDraining = false
  /** The server is about to stop listening, or has done so, and the last response of each connection has `Connection: close`. */
  isClosing = false
  readonly #isGentle: boolean

  constructor({ gentleClose }: Pick<NodeInternals, 'gentleClose'>) {
    this.#isGentle = gentleClose
  }

  /** Drains for `drainDelay` milliseconds, stops listening, and resolves when every connection has ended. */
  async run(listeners: readonly Server[], connections: Connections, drainDelay: number) {
    this.isDraining = true
    await sleep(drainDelay)
    this.isClosing = true
    const deadline = setTimeout(destroyAll, MAX_CLOSE_MS, connections)
    await acceptWaiting(connections)
    const closed = Promise.all(listeners.map(listener => once(listener, 'close')))
    for (const listener of listeners) {
      if (this.#isGentle) closeGently(listener)
      else listener.close()
    }
    // Requests that have arrived are read in the next turns of the event loop.
    await sleep(LAST_READ_MS)
    // A busy process may have had none.
    await nextTurn()
    // A new connection is about to send its first request, so it gets more time.
    closeIdle(connections, ({ socket }) => socket.bytesRead > 0)
    const firstRequestTimer = setTimeout(closeIdle, FIRST_REQUEST_MS, connections)
    await closed
    clearTimeout(firstRequestTimer)
    clearTimeout(deadline)
    // Stops the timer that looks for slow requests.
    for (const listener of listeners) listener.close()
  }
}

const MAX_ACCEPT_MS = 4000
const LAST_READ_MS = 20
const FIRST_REQUEST_MS = 1000
const MAX_CLOSE_MS = 8000

/** Accepts the connections that wait for it, which would be reset otherwise. New ones may come without end, so its time is bounded. */
async function acceptWaiting(connections: Connections) {
  const deadline = performance.now() + MAX_ACCEPT_MS
  let accepted = -1
  while (accepted !== connections.accepted && performance.now() < deadline) {
    accepted = connections.accepted
    await nextTurn()
  }
}

function closeIdle(connections: Connections, isDue: (connection: Connection) => boolean = () => true) {
  for (const connection of connections) if (connection.isIdle && isDue(connection)) connection.close()
}

function destroyAll(connections: Connections) {
  for (const { socket } of connections) socket.destroy()
}
