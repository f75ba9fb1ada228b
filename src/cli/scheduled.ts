import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { RefusedError } from '../accounts/errors.ts'
import { type Config, readConfig, settings } from '../config.ts'
import { systemClock } from '../pull/clock.ts'
import { makeGuardedFetch } from '../pull/guarded-fetch.ts'
import { nextRound } from '../pull/leases.ts'
import { pullDue } from '../pull/scheduled.ts'
import { openSecret } from '../pull/stored-key.ts'
import type { Store } from '../store/index.ts'
import { PROGRAM } from './child.ts'
import { say, stopSignals, type StoreOptions, withStore } from './terminal.ts'

/** The process that pulls from connected sources, and what starts it. */

const CHILD_SETTINGS = [
  'databaseUrl',
  'pullDatabaseUrl',
  'secretFile',
  'sourceOrigins',
  'pullRate',
  'maxRecords',
  'maxBytes',
] as const

/** Pulls from the connections that are due. */
export async function pullScheduled({ database }: StoreOptions): Promise<void> {
  const config = readConfig(process.env, CHILD_SETTINGS)
  const { signal } = stopSignals('stopped')
  const stopped = new AbortController()
  const stop = () => {
    stopped.abort()
    // A request may take longer than a service that stops can wait; what was stored is whole.
    setTimeout(() => process.exit(0), STOP_MS).unref()
  }
  signal.addEventListener('abort', stop)
  if (process.env[CHILD] !== undefined) {
    raiseOomScore()
    // Ends with the service, however that ends.
    process.stdin.on('end', stop).on('error', stop).resume().unref()
  }
  const databaseUrl = database ?? config.databaseUrl
  const url = config.pullDatabaseUrl === '' ? databaseUrl : config.pullDatabaseUrl
  await withStore({ database: url }, async store => {
    await pullDue({
      store,
      // The secret is beside the database of the service.
      secret: openSecret({ ...config, databaseUrl }),
      send: makeGuardedFetch(config),
      quota: { ...config, databaseUrl },
      rate: config.pullRate,
      clock: systemClock,
      stop: stopped.signal,
      onProblem: problem => say(`lockstep: ${problem instanceof Error ? problem.message : String(problem)}`),
    })
  })
  process.stdin.destroy()
}

/** If memory runs out, the system ends this process and not the service. */
function raiseOomScore() {
  try {
    writeFileSync('/proc/self/oom_score_adj', '500')
  } catch {
    // Only Linux has it.
  }
}

const STOP_MS = 3000

/** Set in the process that `serve` starts. */
const CHILD = 'PULLED_BY_SERVICE'

interface Scheduler {
  /** Looks now whether something is due. */
  wake(): void
  /** Stops the process that pulls. */
  close(): Promise<void>
}

interface SchedulerOptions {
  readonly store: Store
  readonly config: Config
  readonly databaseUrl: string
  readonly report: (problem: unknown) => void
}

/** Starts a process whenever a connection is due. */
export function startScheduler(options: SchedulerOptions): Scheduler {
  const scheduled = new ScheduledChild(options)
  process.once('exit', () => scheduled.kill())
  void scheduled.look()
  return { wake: () => void scheduled.look(), close: () => scheduled.close() }
}

class ScheduledChild {
  readonly #options: SchedulerOptions
  #child: ChildProcess | undefined
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #isClosed = false
  #failures = 0

  constructor(options: SchedulerOptions) {
    this.#options = options
  }

  async look() {
    if (this.#isLooking || this.#isClosed || this.#child !== undefined) return
    const { store, config, databaseUrl, report } = this.#options
    this.#isLooking = true
    try {
      const next = await nextRound(store, () => openSecret({ ...config, databaseUrl }).id)
      if (next !== undefined && next.inMs <= 0) this.#start()
      else this.#wait(next?.inMs ?? LOOK_MS)
    } catch (error) {
      // Whether the database is up is told elsewhere.
      if (error instanceof RefusedError) report(error)
      this.#wait(LOOK_MS)
    } finally {
      this.#isLooking = false
    }
  }

  kill() {
    this.#child?.kill('SIGTERM')
  }

  async close() {
    this.#isClosed = true
    clearTimeout(this.#timer)
    const child = this.#child
    if (child === undefined) return
    const exited = new Promise<void>(resolve => child.once('exit', () => resolve()))
    child.kill('SIGTERM')
    const killTimer = setTimeout(() => child.kill('SIGKILL'), 2 * STOP_MS)
    await exited
    clearTimeout(killTimer)
  }

  #wait(ms: number) {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.look(), Math.min(Math.max(ms, MIN_PAUSE_MS), LOOK_MS)).unref()
  }

  #start() {
    if (this.#isClosed) return
    const started = performance.now()
    const child = spawn(process.execPath, [...HEAP, PROGRAM, 'pull', '--scheduled'], {
      env: childEnvironment(this.#options.databaseUrl),
      stdio: ['pipe', 'ignore', 'inherit'],
    })
    this.#child = child
    child.once('error', error => this.#ended(started, error))
    child.once('exit', (code, signal) =>
      this.#ended(started, code === 0 ? undefined : new Error(`the process that pulls ended (${signal ?? code})`)),
    )
  }

  #ended(started: number, why: Error | undefined) {
    if (this.#child === undefined) return
    this.#child = undefined
    if (why !== undefined && !this.#isClosed) this.#options.report(why)
    this.#failures = why === undefined ? 0 : this.#failures + 1
    // One that ends at once, whatever the reason, is not started again at once.
    const pause = this.#failures > 0 ? MIN_PAUSE_MS * 2 ** Math.min(this.#failures, 6) : 0
    this.#wait(Math.max(pause, MIN_LIFE_MS - (performance.now() - started)))
  }
}

/** What a source sends is bounded, and so is what becomes of it here. */
const HEAP = ['--max-old-space-size=256', '--max-semi-space-size=2', '--heap-growing-percent=30']

/** How often the service looks, at most and at least. */
const LOOK_MS = 20_000
const MIN_PAUSE_MS = 500
const MIN_LIFE_MS = 1000

/** Without settings that the process does not need, some of which are secrets. */
function childEnvironment(databaseUrl: string): NodeJS.ProcessEnv {
  const used: readonly string[] = CHILD_SETTINGS.map(name => settings[name].env)
  const kept = Object.entries(process.env).filter(
    ([name]) => used.includes(name) || !/^(LOCKSTEP|NODE_CHANNEL|NODE_UNIQUE)_/.test(name),
  )
  return { ...Object.fromEntries(kept), [settings.databaseUrl.env]: databaseUrl, [CHILD]: '1' }
}
