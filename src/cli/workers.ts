import cluster, { type Worker } from 'node:cluster'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isObject } from '../archive/values.ts'
import { say } from './terminal.ts'

interface Supervision {
  /** How many workers to run. */
  readonly count: number
  /** How long a worker may take to stop. */
  readonly maxStopMs: number
  readonly logFailure: (error: unknown) => void
  /** Is sent to each worker, because others could see it in an environment. */
  readonly secret: string
}

/** Whether this process is a worker of a supervisor. */
export const isWorker = cluster.isWorker

/**
 * Runs workers, each started like this process, and replaces those that die. SIGHUP restarts them one by one without
 * losing a request. SIGTERM and SIGINT stop them; a second signal kills them. Resolves with their port when they listen; exits with
 * the exit code of the first worker if it cannot start.
 */
export async function supervise({ count, maxStopMs, logFailure, secret }: Supervision): Promise<number> {
  const fork = makeFork(secret)
  const serving = new Set<Worker>()
  let stopping = false
  let restarting = Promise.resolve()

  const start = async () => {
    const started = performance.now()
    const worker = await fork.start()
    serving.add(worker)
    worker.once('exit', (code: number | null, signal: string | null) => {
      // A worker that is being stopped was removed from the set before.
      if (!serving.delete(worker) || stopping) return
      logFailure(new Error(`worker ${worker.id} exited (${signal ?? code}): starting another`))
      void replace(MIN_LIFE_MS - (performance.now() - started))
    })
  }

  /** Starts a worker, and retries until it listens. */
  const replace = async (delayMs: number): Promise<void> => {
    await sleep(Math.max(0, delayMs))
    if (stopping) return
    await start().catch((error: unknown) => {
      logFailure(error)
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
  ignoreSignals()
  process.on('SIGHUP', () => {
    restarting = restarting.then(restart).catch(logFailure)
  })

  try {
    await start()
  } catch (error) {
    // The worker has logged why.
    process.exit(error instanceof WorkerStartError ? error.code : 1)
  }
  await Promise.all(Array.from({ length: count - 1 }, () => replace(0)))
  return fork.port()
}

/** Starts workers that all listen on the port of the first one. */
function makeFork(secret: string) {
  let port: number | undefined
  const environment: Record<string, string> = {}
  return {
    port: () => port ?? 0,
    /** Resolves when it listens. */
    async start(): Promise<Worker> {
      // While one of them listens, the others get the same port from Node, also where the system has chosen it.
      if (port !== undefined && Object.keys(cluster.workers ?? {}).length === 0)
        environment[PORT_OF_WORKERS] = String(port)
      const worker = cluster.fork(environment)
      // An error here means that it has exited already.
      worker.send({ secret }, () => {})
      const ownPort = await listening(worker)
      port ??= ownPort
      if (ownPort === port) return worker
      worker.kill()
      throw new Error(`worker ${worker.id} listened on another port: the others had ended`)
    },
  }
}

/** Resolves with the port when the worker listens; rejects with WorkerStartError if it exits before. */
function listening(worker: Worker): Promise<number> {
  return new Promise((resolve, reject) => {
    worker.once('listening', ({ port }) => resolve(port))
    worker.once('exit', (code: number | null) => reject(new WorkerStartError(code ?? 1)))
  })
}

/** The port that this worker is to listen on, if all before it have ended. */
export function portOfWorkers(): number | undefined {
  const text = process.env[PORT_OF_WORKERS]
  return text === undefined ? undefined : Number(text)
}

const PORT_OF_WORKERS = 'PORT_OF_WORKERS'

/** Lets a worker finish its requests, and kills it if that takes too long. Resolves when it has exited. */
async function drain(worker: Worker, maxStopMs: number, logFailure: Supervision['logFailure']): Promise<void> {
  if (worker.isDead()) return
  const exited = once(worker, 'exit')
  const killTimer = setTimeout(() => {
    logFailure(new Error(`worker ${worker.id} did not stop in time: killed`))
    worker.process.kill('SIGKILL')
  }, maxStopMs)
  // An error here means that it has exited already.
  worker.send(DRAIN, () => {})
  await exited
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
  void stopRequested.then(retire)
  process.on('SIGTERM', retire)
  process.on('SIGINT', () => {})
}

/** What does not end a service, whether it is one process or several; the launcher switches SIGUSR1 off. */
export const IGNORED_SIGNALS = ['SIGHUP', 'SIGUSR2'] as const

export function ignoreSignals() {
  for (const signal of IGNORED_SIGNALS) process.on(signal, () => {})
}

class WorkerStartError extends Error {
  override readonly name = 'WorkerStartError'
  readonly code: number
  constructor(code: number) {
    super(`a worker exited with ${code} before it listened`)
    this.code = code
  }
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

const DRAIN = 'drain'
const PULL_DUE = 'pull due'
const MIN_LIFE_MS = 1000

/** Resolves with the message to drain. Listens from the start, because the message may come before the service has started. */
const stopRequested = new Promise<void>(resolve => {
  if (!isWorker) return
  process.on('message', message => {
    if (message === DRAIN) resolve()
  })
})

const sentSecret = new Promise<string>(resolve => {
  if (!isWorker) return
  process.on('message', (message: unknown) => {
    if (isObject(message) && typeof message['secret'] === 'string') resolve(message['secret'])
  })
})
