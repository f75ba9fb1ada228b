import type { Config } from '../config.ts'
import { newHolder } from '../jobs/jobs.ts'
import { systemClock } from '../pull/source.ts'
import { makeGuardedFetch } from '../pull/guarded-fetch.ts'
import { isPullDue, pullDue } from '../pull/scheduled.ts'
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

/** Pulls from the connections that are due, until none is or the service has ended. */
export async function pullScheduled(): Promise<void> {
  const stopped = new AbortController()
  const stop = () => {
    stopped.abort()
    // A request may take longer than a service that stops can wait; what was stored is whole.
    setTimeout(() => process.exit(), STOP_MS).unref()
  }
  process.once('SIGTERM', stop).once('SIGINT', stop)
  await runAsChild<PullConfig & { readonly passing: string }>(stop, (order, showLife) => {
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

/** Starts a process whenever a connection is due. `look` looks now whether something is; `close` stops the process. */
export function startScheduler(store: Store, config: PullConfig, report: (problem: unknown) => void) {
  let child: ReturnType<typeof startChild> | undefined
  let timer: NodeJS.Timeout | undefined
  let isLooking = false
  let isClosed = false
  let failures = 0
  let reported = ''

  const look = async () => {
    if (isLooking || isClosed || child !== undefined) return
    isLooking = true
    try {
      if (await isPullDue(store, () => openSecret(config).id)) start()
      else wait(LOOK_MS)
    } catch (error) {
      // Once; whether the database is up is told elsewhere.
      if (isRefusal(error, 'refused') && error.message !== reported) report(error)
      reported = isRefusal(error, 'refused') ? error.message : ''
      wait(LOOK_MS)
    } finally {
      isLooking = false
    }
  }

  const wait = (ms: number) => {
    clearTimeout(timer)
    if (isClosed) return
    timer = setTimeout(() => void look(), Math.max(ms, MIN_PAUSE_MS)).unref()
  }

  const start = () => {
    if (isClosed) return
    // Nothing but these settings, whatever else is set.
    const settings = Object.fromEntries(SETTINGS.map(name => [name, config[name]]))
    const started = performance.now()
    child = startChild(['pull', '--scheduled'], { ...settings, passing: passingSecret() }, MAX_SILENCE_MS)
    child.ended.then(
      code => end(started, code === 0 ? undefined : new Error(`the process that pulls ended (${code ?? 'killed'})`)),
      (error: unknown) => {
        const isSilent = error instanceof SilentChildError
        end(started, isSilent ? new Error(`the process that pulls: ${error.message}`) : error)
      },
    )
  }

  const end = (started: number, problem: unknown) => {
    child = undefined
    if (problem !== undefined && !isClosed) report(problem)
    failures = problem === undefined ? 0 : failures + 1
    // One that ends at once, whatever the reason, is not started again at once.
    const pause = failures > 0 ? MIN_PAUSE_MS * 2 ** Math.min(failures, 6) : 0
    wait(Math.max(pause, MIN_LIFE_MS - (performance.now() - started)))
  }

  void look()
  return {
    look,
    async close() {
      isClosed = true
      clearTimeout(timer)
      child?.stop()
      await child?.ended.catch(() => {})
    },
  }
}

/** How often the service looks; at once where this process has changed a connection. */
const LOOK_MS = 5000
const MIN_PAUSE_MS = 500
const MIN_LIFE_MS = 1000

const MAX_SILENCE_MS = 120_000
