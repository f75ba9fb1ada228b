import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { say } from './terminal.ts'

/** Where all of them listen. */
interface Listening {
  readonly port: number
}

interface Supervision {
  /** How many processes serve together. */
  readonly count: number
  /** Milliseconds in which one that is told to go must be gone. */
  readonly longestDrain: number
  readonly logFailure: (error: unknown) => void
}

/** Whether this process is one of several that serve together. */
export const isWorker = cluster.isWorker

/**
 * Runs several processes that serve together, each started like this one, and replaces those that die. SIGHUP exchanges
 * them one by one without losing a request; SIGTERM and SIGINT end them, a second one at once. Resolves when they
 * listen; ends the process with the exit code of the first one where that cannot start.
 */
export async function supervise({ count, longestDrain, logFailure }: Supervision): Promise<Listening> {
  const serving = new Set<Worker>()
  let stopping = false
  let restarting = Promise.resolve()

  /** Starts one. Resolves when it listens; rejects with FalseStart where it ends before. */
  const start = async () => {
    const started = performance.now()
    const worker = cluster.fork()
    await new Promise<void>((resolve, reject) => {
      worker.once('listening', () => resolve())
      worker.once('exit', (code: number | null) => reject(new WorkerStartError(code ?? 1)))
    })
    serving.add(worker)
    worker.once('exit', (code: number | null, signal: string | null) => {
      // Taken out before, when it was told to go.
      if (!serving.delete(worker) || stopping) return
      logFailure(new Error(`worker ${worker.id} ended (${signal ?? code}): another one takes its place`))
      void replace(SHORT_LIFE - (performance.now() - started))
    })
  }

  /** Starts one, however often it takes. */
  const replace = async (pause: number): Promise<void> => {
    await sleep(Math.max(0, pause))
    if (stopping) return
    await start().catch((error: unknown) => {
      logFailure(error)
      return replace(SHORT_LIFE)
    })
  }

  const retire = async (worker: Worker) => {
    serving.delete(worker)
    if (worker.isDead()) return
    const gone = once(worker, 'exit')
    const killTimer = setTimeout(() => worker.process.kill('SIGKILL'), longestDrain)
    // Nobody to tell is as good as gone.
    worker.send(DRAIN, () => {})
    await gone
    clearTimeout(killTimer)
  }

  const restart = async () => {
    for (const worker of serving.values().toArray()) {
      if (stopping) return
      // Where the new one does not start, the old one stays.
      await start()
      await retire(worker)
    }
  }

  const stop = async () => {
    const all = Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
    if (stopping) {
      for (const worker of all) worker.process.kill('SIGKILL')
      process.exit(1)
    }
    stopping = true
    await Promise.all(all.map(retire))
    process.exit(0)
  }

  process.on('SIGTERM', () => void stop())
  process.on('SIGINT', () => void stop())
  process.on('SIGHUP', () => {
    restarting = restarting.then(restart).catch(logFailure)
  })

  const address = new Promise<Listening>(resolve => {
    cluster.once('listening', (_worker, { port }) => resolve({ port }))
  })
  try {
    await start()
  } catch (error) {
    // It has said why.
    process.exit(error instanceof WorkerStartError ? error.code : 1)
  }
  await Promise.all(Array.from({ length: count - 1 }, () => replace(0)))
  return address
}

/** Does the work of a worker. Where that fails, lets the process end: the channel to its supervisor would keep it alive. */
export async function endingOnFailure(work: () => Promise<unknown>): Promise<void> {
  try {
    await work()
  } catch (error) {
    process.channel?.unref()
    throw error
  }
}

/** Calls `stop` once when this worker is told to go, then ends the process. What a terminal sends to all is not for it. */
export function onRetirement(stop: () => Promise<void>) {
  let stopped: Promise<void> | undefined
  const retire = () => {
    stopped ??= stop().then(leave, (error: unknown) => {
      say(String(error))
      process.exit(1)
    })
  }
  void toldToGo.then(retire)
  process.on('SIGTERM', retire)
  process.on('SIGINT', () => {})
  process.on('SIGHUP', () => {})
}

class WorkerStartError extends Error {
  override readonly name = 'FalseStart'
  readonly code: number
  constructor(code: number) {
    super(`a worker ended with ${code} before it listened`)
    this.code = code
  }
}

/** Ends this worker, when the supervisor knows that it takes no more connections: one on its way would be lost. */
function leave() {
  process.once('disconnect', () => process.exit(0))
  cluster.worker?.disconnect()
}

const DRAIN = 'drain'
const SHORT_LIFE = 1000

/** Listened for from the start, because it may come before there is anything to stop. */
const toldToGo = new Promise<void>(resolve => {
  if (!isWorker) return
  process.on('message', message => {
    if (message === DRAIN) resolve()
  })
})
