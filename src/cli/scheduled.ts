import type { Config } from '../config.ts'
import { newHolder } from '../jobs/jobs.ts'
import { systemClock } from '../pull/source.ts'
import { makeGuardedFetch } from '../pull/guarded-fetch.ts'
import { nextRound, pullDue } from '../pull/scheduled.ts'
import { openSecret, passingSecret, setPassingSecret } from '../pull/stored-key.ts'
import { messageOf, type Store } from '../store/index.ts'
import { runAsChild, SilentChildError, startChild } from './child.ts'
import { withStore } from './opening.ts'
import { say } from './print.ts'
import { isRefusal } from '../contract/refusal.ts'

/** The process that pulls from connected sources, and what starts it. */

const SETTINGS = [
  'databaseUrl',
  'pullDatabaseUrl',
  'secretFile',
  'sourceOrigins',
  'pullRate',
  'maxRecords',
  'maxBytes',
] as const
type PullConfig = Pick<Config, (typeof SETTINGS)[number]>

interface PullOrder extends PullConfig {
  readonly passing: string
}

/** Pulls from the connections that are due, until none is or the service has ended. */
export async function pullScheduled(): Promise<void> {
  const stopped = new AbortController()
  const stop = () => {
    stopped.abort()
    // A request may take longer than a service that stops can wait; what was stored is whole.
    setTimeout(() => process.exit(), STOP_MS).unref()
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)
  await runAsChild<PullOrder>(stop, (order, showLife) => {
    setPassingSecret(order.passing)
    const database = order.pullDatabaseUrl === '' ? order.databaseUrl : order.pullDatabaseUrl
    return withStore({ database }, store =>
      pullDue({
        store,
        holder: newHolder('the service'),
        // The secret is beside the database of the service.
        secret: openSecret(order),
        send: makeGuardedFetch(order),
        quota: order,
        rate: order.pullRate,
        clock: systemClock,
        stop: stopped.signal,
        showLife,
        onProblem: problem => say(`lockstep: ${messageOf(problem)}`),
      }),
    )
  })
}

const STOP_MS = 3000

interface SchedulerOptions {
  readonly store: Store
  readonly config: PullConfig
  readonly report: (problem: unknown) => void
}

/** Starts a process whenever a connection is due. */
export class Scheduler {
  readonly #options: SchedulerOptions
  #child: ReturnType<typeof startChild> | undefined
  #timer: NodeJS.Timeout | undefined
  #isLooking = false
  #isClosed = false
  #failures = 0
  #reported = ''

  constructor(options: SchedulerOptions) {
    this.#options = options
    void this.look()
  }

  /** Looks now whether something is due. */
  async look() {
    if (this.#isLooking || this.#isClosed || this.#child !== undefined) return
    const { store, config, report } = this.#options
    this.#isLooking = true
    try {
      const next = await nextRound(store, () => openSecret(config).id)
      if (next !== undefined && next <= 0) this.#start()
      else this.#wait(next ?? LOOK_MS)
    } catch (error) {
      // Once; whether the database is up is told elsewhere.
      if (isRefusal(error, 'refused') && error.message !== this.#reported) report(error)
      this.#reported = isRefusal(error, 'refused') ? error.message : ''
      this.#wait(LOOK_MS)
    } finally {
      this.#isLooking = false
    }
  }

  /** Stops the process that pulls. */
  async close() {
    this.#isClosed = true
    clearTimeout(this.#timer)
    this.#child?.stop()
    await this.#child?.ended.catch(() => {})
  }

  #wait(ms: number) {
    clearTimeout(this.#timer)
    if (this.#isClosed) return
    this.#timer = setTimeout(() => void this.look(), Math.min(Math.max(ms, MIN_PAUSE_MS), LOOK_MS)).unref()
  }

  #start() {
    if (this.#isClosed) return
    const { config } = this.#options
    // Nothing but these settings, whatever else is set.
    const order = {
      ...Object.fromEntries(SETTINGS.map(name => [name, config[name]])),
      passing: passingSecret(),
    }
    const started = performance.now()
    this.#child = startChild(['pull', '--scheduled'], order, MAX_SILENCE_MS)
    this.#child.ended.then(
      code =>
        this.#ended(started, code === 0 ? undefined : new Error(`the process that pulls ended (${code ?? 'killed'})`)),
      (error: unknown) =>
        this.#ended(
          started,
          error instanceof SilentChildError ? new Error(`the process that pulls: ${error.message}`) : error,
        ),
    )
  }

  #ended(started: number, problem: unknown) {
    this.#child = undefined
    if (problem !== undefined && !this.#isClosed) this.#options.report(problem)
    this.#failures = problem === undefined ? 0 : this.#failures + 1
    // One that ends at once, whatever the reason, is not started again at once.
    const pause = this.#failures > 0 ? MIN_PAUSE_MS * 2 ** Math.min(this.#failures, 6) : 0
    this.#wait(Math.max(pause, MIN_LIFE_MS - (performance.now() - started)))
  }
}

/** How often the service looks, at most and at least. */
const LOOK_MS = 20_000
const MIN_PAUSE_MS = 500
const MIN_LIFE_MS = 1000

const MAX_SILENCE_MS = 120_000
