import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Connections } from './connections.ts'
import type { Load } from './load.ts'

interface StopOptions {
  readonly connections: Connections
  readonly load: Load
  readonly drainDelay: number
}

export interface StopState {
  /** /readyz responds 503, while everything else is served. */
  isDraining: boolean
  /** Each response says that its connection closes. */
  isClosing: boolean
}

/** Drains, stops listening, and resolves when every request is answered and every connection has ended. */
export async function stop(app: FastifyInstance, state: StopState, { connections, load, drainDelay }: StopOptions) {
  state.isDraining = true
  await sleep(drainDelay)
  state.isClosing = true
  connections.endWithNewest()
  // That of an HTTP server would also reset who has connected and is about to ask.
  Server.prototype.close.call(app.server)
  const deadline = performance.now() + MAX_ANSWER_MS
  const patience = performance.now() + MAX_FIRST_REQUEST_MS
  do await sleep(LAST_REQUESTS_MS)
  while (connections.isAwaitingFirst() && performance.now() < patience)
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

const LAST_REQUESTS_MS = 100
const MAX_FIRST_REQUEST_MS = 1000
const ROUND_MS = 50
const QUIET_ROUNDS = 3
const MAX_ANSWER_MS = 8000
