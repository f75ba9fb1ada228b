import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../archive/values.ts'
import { say } from './print.ts'

interface Supervision {
  readonly count: number
  readonly maxStopMs: number
  readonly logFailure: (error: unknown) => void
  /** Is sent to each worker, because others could see it in an environment. */
  readonly secret: string
}

export const isWorker = cluster.isWorker

/**
 * Runs workers, each started like this process, and replaces those that die. SIGHUP restarts them one by one without
 * losing a request. SIGTERM and SIGINT stop them; a second signal kills them. Resolves with their port when they listen; exits with
 * the exit code of the first worker if it cannot start.
 */
export async function supervise({ count, maxStopMs, logFailure, secret }: Supervision): Promise<number> {
  const serving = new Set<Worker>()
  let stopping = false
  let restarting = Promise.resolve()

  /** Resolves with the port of a new worker when it listens; rejects if it exits before. */
  const start = async () => {
    const startedAt = performance.now()
    const worker = cluster.fork()
    // An error here means that it has exited already.
    worker.send({ secret }, () => {})
    const port = await listening(worker)
    serving.add(worker)
    worker.once('exit', (code: number | null, signal: string | null) => {
      // A worker that is being stopped was removed from the set before.
      if (!serving.delete(worker) || stopping) return
      logFailure(new Error(`worker ${worker.id} exited (${signal ?? code}): starting another`))
      void replace(MIN_LIFE_MS - (performance.now() - startedAt))
    })
    return port
  }

  /** Starts a worker, and retries until it listens. */
  const replace = async (delayMs: number): Promise<void> => {
    await sleep(Math.max(0, delayMs))
    if (stopping) return
    await start().catch((error: unknown) => {
      if (!stopping) logFailure(error)
      return replace(MIN_LIFE_MS)
    })
  }

  const retire = async (worker: Worker) => {
    serving.delete(worker)
    await drain(worker, maxStopMs, logFailure)
  }

  const restart = async () => {
    for (const worker of serving.values().toArray()) {
      if (stopping) return
      // If the new one does not start, the old one stays.
      await start()
      await retire(worker)
    }
  }

  const stop = async () => {
    // Workers end with their supervisor.
    if (stopping) process.exit(1)
    stopping = true
    const all = Object.values(cluster.workers ?? {}).filter(worker => worker !== undefined)
    await Promise.all(all.map(retire))
    process.exit(0)
  }

  process.on('SIGTERM', () => void stop())
  process.on('SIGINT', () => void stop())
  ignoreSignals()
  process.on('SIGHUP', () => {
    restarting = restarting.then(restart).catch((error: unknown) => {
      if (!stopping) logFailure(error)
    })
  })

  try {
    const port = await start()
    await Promise.all(Array.from({ length: count - 1 }, () => replace(0)))
    return port
  } catch (error) {
    // Its first worker did not start, and has logged why.
    const code = error instanceof Error && typeof error.cause === 'number' ? error.cause : 1
    process.exit(stopping ? 0 : code)
  }
}

/** Resolves with the port when the worker listens; rejects if it exits before, with its exit code as the cause. */
function listening(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port))
    worker.once('exit', (code: number | null) =>
      reject(new Error(`a worker exited with ${code ?? 1} before it listened`, { cause: code ?? 1 })),
    )
  })
}

/** Lets a worker finish its requests, and kills it if that takes too long. Resolves when it has exited. */
async function drain(worker: Worker, maxStopMs: number, logFailure: Supervision['logFailure']): Promise<void> {
  if (worker.isDead()) return
  const killTimer = setTimeout(() => {
    logFailure(new Error(`worker ${worker.id} did not stop in time: killed`))
    worker.process.kill('SIGKILL')
  }, maxStopMs)
  worker.process.kill('SIGTERM')
  await once(worker, 'exit')
  clearTimeout(killTimer)
}

/** Calls `stop` once when this worker has to stop, then exits. Signals that a terminal sends to all processes are ignored. */
export function onRetirement(stop: () => Promise<void>) {
  let stopped: Promise<void> | undefined
  const retire = () => {
    stopped ??= stop().then(exitWorker, (error: unknown) => {
      say(String(error))
      process.exit(1)
    })
  }
  process.on('SIGTERM', retire)
  process.on('SIGINT', () => {})
}

/** What does not end a service, whether it is one process or several; the launcher switches SIGUSR1 off. */
export const IGNORED_SIGNALS = ['SIGHUP', 'SIGUSR2'] as const

export function ignoreSignals() {
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => {})
}

/** Exits once the supervisor knows that this worker accepts no more connections: it could pass a new one to a dead worker. */
function exitWorker() {
  process.once('disconnect', () => process.exit(0))
  cluster.worker?.disconnect()
}

/** Calls the listener when a worker has changed a connection to a source. */
export function onPullDue(listener: () => void) {
  cluster.on('message', (_worker, message) => {
    if (message === PULL_DUE) listener()
  })
}

/** Tells the supervisor that a connection to a source was changed. */
export function tellPullDue() {
  process.send?.(PULL_DUE)
}

/** Calls `listener` in a worker with the secret that its supervisor sends. */
export function onSecret(listener: (secret: string) => void) {
  void sentSecret.then(listener)
}

// From the start, because its supervisor hears that it listens before this process has gone on.
if (isWorker) ignoreSignals()

const PULL_DUE = 'pull due'
const MIN_LIFE_MS = 1000

/** Listens from the start, because the message comes before the service has started. */
const sentSecret = new Promise<string>(resolve => {
  if (!isWorker) return
  process.on('message', (message: unknown) => {
    if (isObject(message) && typeof message['secret'] === 'string') resolve(message['secret'])
  })
})
