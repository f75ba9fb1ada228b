import closeWithGrace from 'close-with-grace'
import { InvalidArgumentError, Option } from 'commander'
import { eraseDeleted } from '../accounts/removal.ts'
import { type Config, settings } from '../config.ts'
import type { SampleAccount } from '../dashboard/options.ts'
import { makeLog, writeToStderr } from '../http/log.ts'
import type { Metrics, MetricsListener } from '../http/metrics.ts'
import type { Service } from '../http/server.ts'
import { messageOf, type Store } from '../store/index.ts'
import type { FullServiceOptions } from './service.ts'
import { storedMetrics } from './stored-metrics.ts'
import { sourceOf } from './options.ts'
import { errorCode } from './terminal.ts'
import { IGNORED_SIGNALS, ignoreSignals, isWorker, onRetirement } from './workers.ts'
import { Refusal } from '../contract/refusal.ts'

interface RunOptions {
  readonly sample?: SampleAccount
  /** How many ports to try, from the configured one up. */
  readonly ports?: number
  /** Starts what pulls from connected sources, and returns what stops that. */
  readonly startPulls?: (store: Store) => { close(): Promise<void> }
}

/** Runs the service until the process gets a signal to stop, then closes the store. */
export async function runService(
  store: Store,
  config: Config,
  { sample, ports = 1, startPulls }: RunOptions = {},
): Promise<Service> {
  const log = makeLog(writeToStderr, config)
  const metrics = config.metricsPort === undefined ? undefined : new (await loadMetrics()).Metrics()
  metrics?.watch(storedMetrics(store))
  let listener: MetricsListener | undefined
  let service: Service
  try {
    // The metrics of workers are served by their supervisor.
    if (metrics !== undefined && !isWorker) listener = await listenForMetrics(metrics, config)
    service = await listen({ store, config, log, metrics, sample }, ports)
  } catch (error) {
    // An open listener or store would keep the process alive.
    await listener?.close()
    await store.close()
    throw error
  }
  const report = (error: unknown) => log.failure(error, undefined)
  // An earlier run may have been stopped before it erased what it had deleted.
  const background = eraseDeleted(store, Infinity).catch(report)
  const erasing = setInterval(() => void eraseDeleted(store).catch(report), ERASING_MS).unref()
  const pulls = startPulls?.(store)
  const stop = async () => {
    clearInterval(erasing)
    await Promise.all([service.close(), pulls?.close()])
    await background
    await (isWorker ? metrics?.handOver() : listener?.close())
    await store.close()
    log.flush()
  }
  if (isWorker) onRetirement(stop)
  else {
    // A program for a terminal ends with it; a service is stopped by SIGTERM or SIGINT.
    if (sample === undefined) ignoreSignals()
    const delay = maxStopMs(config)
    const skip = sample === undefined ? IGNORED_SIGNALS.slice() : []
    const onTimeout = () => sayEnd(`stopping took longer than ${delay / 1000} seconds`)
    closeWithGrace({ skip, delay, logger: false, onTimeout, onSecondError: sayEnd }, async ({ err }) => {
      if (err !== undefined) {
        log.failure(err, undefined)
        log.flush()
        sayEnd(err)
      }
      await stop()
    })
  }
  return service
}

/** Says why the service ends, if nobody has stopped it. */
function sayEnd(reason: unknown) {
  writeToStderr(`lockstep: the service ends: ${messageOf(reason)}\n`)
}

export function maxStopMs({ drainDelay }: Config): number {
  return drainDelay + MAX_CLOSE_MS
}

/** Loaded only if there are metrics. */
export const loadMetrics = () => import('../http/metrics.ts')

/** Throws Refusal if the port of metrics cannot be bound. */
export async function listenForMetrics(metrics: Pick<Metrics, 'text'>, config: Config): Promise<MetricsListener> {
  const { serveMetrics } = await loadMetrics()
  try {
    return await serveMetrics(metrics, config)
  } catch (error) {
    const { metricsHost: host, metricsPort: port } = settings
    const instead = `choose others for metrics with ${host.env} and ${port.env}`
    throw cannotListen(error, config.metricsHost, config.metricsPort ?? 0, instead)
  }
}

export function portOption(): Option {
  return new Option('--port <port>', `port to listen on (${sourceOf(settings.port)})`).argParser(text => {
    try {
      return settings.port.parse(text)
    } catch {
      throw new InvalidArgumentError('It must be a port from 0 to 65535.')
    }
  })
}

/** Less than the five seconds within which a response is due. */
export const SERVER_BUSY_TIMEOUT_MS = 4000

const MAX_CLOSE_MS = 10_000

/** How often it is looked for what waits to be erased. */
const ERASING_MS = 300_000

async function listen(options: FullServiceOptions, ports: number): Promise<Service> {
  const { config } = options
  // Loaded here, because most other commands do not need it.
  const { startService } = await import('./service.ts')
  try {
    return await startService(options)
  } catch (error) {
    if (errorCode(error) === 'EADDRINUSE' && ports > 1) {
      return listen({ ...options, config: { ...config, port: config.port + 1 } }, ports - 1)
    }
    throw cannotListen(error, config.host, config.port, OTHER_ADDRESS)
  }
}

const OTHER_ADDRESS = 'choose others with --host and --port'

function cannotListen(error: unknown, host: string, port: number, instead: string): unknown {
  const code = errorCode(error)
  if (code === undefined || error instanceof Refusal) return error
  return new Refusal(
    'usage',
    code === 'EADDRINUSE'
      ? `port ${port} on ${host} is taken: ${instead}`
      : `cannot listen on ${host}, port ${port} (${code}): ${instead}`,
  )
}
