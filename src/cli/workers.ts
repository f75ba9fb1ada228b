import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { say } from './terminal.ts'

/** Where all of them listen. */
interface Listening {
  readonly port: number
}

/** Whether this process is one of several that serve together. */
export const isWorker = cluster.isWorker

/**
 * Runs `count` processes that serve together, each started like this one, and replaces those that die. SIGHUP exchanges
 * them one by one without losing a request; SIGTERM and SIGINT end them, a second one at once. Resolves when they
 * listen; ends the process with the exit code of a worker that cannot start.
 */
export async function supervise(count: number, logFailure: (error: Error) => void): Promise<Listening> {
  const serving = new Set<Worker>()
  let stopping = false
  let restarting: Promise<void> | undefined

  const fork = async (onFalseStart?: (code: number) => void): Promise<void> => {
    const started = performance.now()
    const worker = cluster.fork()
    let listening = false
    serving.add(worker)
    worker.once('exit', (code: number | null, signal: string | null) => {
      // Taken out before, when it was told to go.
      if (!serving.delete(worker) || stopping) return
      if (!listening) onFalseStart?.(code ?? 1)
      logFailure(new Error(`worker ${worker.id} ended (${signal ?? code}): another one takes its place`))
      const pause = performance.now() - started < SHORT_LIFE ? PAUSE : 0
      void sleep(pause).then(() => {
        if (!stopping) void fork()
      })
    })
    await Promise.race([once(worker, 'listening').then(() => (listening = true)), once(worker, 'exit')])
  }

  const retire = async (worker: Worker) => {
    serving.delete(worker)
    if (worker.isDead()) return
    const gone = once(worker, 'exit')
    worker.send(DRAIN)
    await gone
  }

  const restart = async () => {
    for (const worker of [...serving]) {
      await fork()
      await retire(worker)
    }
  }

  const stop = async () => {
    if (stopping) {
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill('SIGKILL')
      process.exit(1)
    }
    stopping = true
    await Promise.all(
      Object.values(cluster.workers ?? {}).map(worker => (worker === undefined ? undefined : retire(worker))),
    )
    process.exit(0)
  }

  process.on('SIGTERM', () => void stop())
  process.on('SIGINT', () => void stop())
  process.on('SIGHUP', () => {
    restarting = (restarting ?? Promise.resolve()).then(restart)
  })

  const address = new Promise<Listening>(resolve => {
    cluster.once('listening', (_worker, { port }) => resolve({ port }))
  })
  await fork(code => process.exit(code))
  await Promise.all(Array.from({ length: count - 1 }, () => fork()))
  return address
}

/** Calls `stop` once when this worker is told to go, then ends the process. What a terminal sends to all is not for it. */
export function onRetirement(stop: () => Promise<void>) {
  let stopped: Promise<void> | undefined
  const retire = () => {
    stopped ??= stop().then(
      () => process.exit(0),
      error => {
        say(String(error))
        process.exit(1)
      },
    )
  }
  process.on('message', message => {
    if (message === DRAIN) retire()
  })
  process.on('SIGTERM', retire)
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
  // Without the process that supervises it, nobody would ever end it.
  process.on('disconnect', retire)
}

/** Lets a worker that cannot start come to its end: the channel to the process that supervises it keeps it alive. */
export function leave() {
  process.disconnect()
}

const DRAIN = 'drain'
const SHORT_LIFE = 1000
const PAUSE = 1000
