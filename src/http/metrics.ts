import cluster from 'node:cluster'
import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ClusterRegistry, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client'
import type { ErrorCode } from '../contract/errors.ts'
import { SECURITY_HEADERS } from '../contract/responses.ts'
import type { Store } from '../store/index.ts'
import type { LimitName } from './limits.ts'
import type { Config } from '../config.ts'
import { version } from '../version.ts'
import { isLoopbackName, withoutMapping } from './addresses.ts'
import type { RequestSummary } from './context.ts'

/** Metrics for Prometheus. No label holds an identifier. */
export interface Metrics {
  request(summary: RequestSummary): void
  /** Counts a limit that was reached without a request to refuse. */
  limitReached(name: LimitName): void
  /** The same store, with its reads timed. */
  timed(store: Store): Store
  /** Adds metrics that are read whenever the metrics are requested. */
  watch(values: readonly StoredValue[]): void
  /** All metrics, in the format of Prometheus. */
  text(): Promise<string>
  /** Sends the metrics of a worker that exits to its supervisor, so that counters never decrease. */
  handOver(): Promise<void>
}

/** A value of the store that every process reads. */
export interface StoredValue {
  readonly name: string
  readonly help: string
  /** Undefined while it is unknown. */
  readonly read: () => Promise<number | undefined>
}

/** Collects the metrics of this process. A supervisor can ask its workers for theirs. */
export function makeMetrics(): Metrics {
  const registry = new Registry()
  ClusterRegistry.setRegistries([registry])
  // The constructor registers a listener that responds to the supervisor.
  const asWorker = cluster.isWorker ? new ClusterRegistry() : undefined
  const { durations, authentications, limited, reads } = registerMetrics(registry)

  return {
    watch: values => registerGauges(registry, values),
    text: () => registry.metrics(),
    async handOver() {
      // The types of the package lack this method.
      await (asWorker as { shutdown?: () => Promise<void> } | undefined)?.shutdown?.()
    },
    request({ status, method, route = 'none', startedAt, keyId, code, limit }) {
      durations.observe({ method, route, status }, (performance.now() - startedAt) / 1000)
      if (keyId !== undefined) authentications.inc({ result: 'ok' })
      else if (code !== undefined && REFUSED.has(code)) authentications.inc({ result: code })
      if (limit !== undefined) limited.inc({ limit })
    },
    limitReached: name => limited.inc({ limit: name }),
    timed(store) {
      return {
        ...store,
        read(query, values) {
          const start = performance.now()
          const rows = store.read(query, values)
          if (!(rows instanceof Promise)) {
            reads.observe((performance.now() - start) / 1000)
            return rows
          }
          return rows.finally(() => reads.observe((performance.now() - start) / 1000))
        },
      }
    },
  }
}

function registerMetrics(registry: Registry) {
  const registers = [registry]
  const durations = new Histogram({
    name: 'lockstep_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers,
  })
  const authentications = new Counter({
    name: 'lockstep_authentications_total',
    help: 'Requests with credentials, by result.',
    labelNames: ['result'],
    registers,
  })
  const limited = new Counter({
    name: 'lockstep_limited_requests_total',
    help: 'Requests that were refused or had to wait, and connections that were closed, by limit.',
    labelNames: ['limit'],
    registers,
  })
  const reads = new Histogram({
    name: 'lockstep_store_read_duration_seconds',
    help: 'Time of one read of the store.',
    buckets: [0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.01, 0.1, 1],
    registers,
  })
  new Gauge({
    name: 'lockstep_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node'],
    aggregator: 'first',
    registers,
  }).set({ version, node: process.version }, 1)
  registerProcess(registry)
  return { durations, authentications, limited, reads }
}

/** What the process uses, under the names that dashboards for any program know. Those of several workers are added up. */
function registerProcess(registry: Registry) {
  let counted = 0
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'CPU time of user and system.',
    registers: [],
    collect() {
      const { user, system } = process.cpuUsage()
      this.inc((user + system - counted) / 1e6)
      counted = user + system
    },
  })
  const memory = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Memory that is resident.',
    registers: [],
    collect() {
      this.set(process.memoryUsage.rss())
    },
  })
  const start = new Gauge({
    name: 'process_start_time_seconds',
    help: 'When the process started; of several workers the first.',
    aggregator: 'min',
    registers: [],
  })
  start.set(performance.timeOrigin / 1000)
  const files = new Gauge({
    name: 'process_open_fds',
    help: 'Files and connections that are open.',
    registers: [],
    async collect() {
      this.set((await readdir(FILES)).length)
    },
  })
  for (const metric of [cpu, memory, start]) registry.registerMetric(metric)
  if (existsSync(FILES)) registry.registerMetric(files)
}

const FILES = '/proc/self/fd'

function registerGauges(registry: Registry, gauges: readonly StoredValue[]) {
  for (const { name, help, read } of gauges) {
    registry.registerMetric(
      new Gauge({
        name,
        help,
        // Every worker reads the same store.
        aggregator: 'max',
        registers: [],
        async collect() {
          // No sample while the value is unknown or the store is unavailable.
          this.remove()
          const value = await read().catch(() => undefined)
          if (value !== undefined) this.set(value)
        },
      }),
    )
  }
}

/** The metrics of all workers of this process, added up. */
export function makeClusterMetrics(): Pick<Metrics, 'text'> {
  const registry = new ClusterRegistry()
  return { text: () => registry.clusterMetrics() }
}

export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

/** Far more than those that collect metrics need. */
const MAX_METRICS_CONNECTIONS = 32

/** Serves metrics on a separate listener, which is not for clients of the API. Rejects if it cannot be bound. */
export async function serveMetrics(
  metrics: Pick<Metrics, 'text'>,
  { metricsHost: host, metricsPort: port, allowedHosts }: Pick<Config, 'metricsHost' | 'metricsPort' | 'allowedHosts'>,
): Promise<MetricsListener> {
  const ownNames = new Set([host.toLowerCase(), ...allowedHosts])
  const server = createServer((request, response) => {
    response.setHeaders(new Map(Object.entries(SECURITY_HEADERS)))
    if (!isOwnHost(request, ownNames)) {
      response.writeHead(421).end()
      return
    }
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    metrics.text().then(
      text => response.writeHead(200, { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text),
      () => response.writeHead(500).end(),
    )
  })
  server.maxConnections = MAX_METRICS_CONNECTIONS
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, resolve)
  })

  return {
    port: (server.address() as AddressInfo).port,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/**
 * Whether a request names the address that it arrived at, a name of this machine, or one of `ownNames`. A page of another site, whose
 * name was made to point here, cannot read metrics from the browsers of this network.
 */
function isOwnHost({ headers, socket }: IncomingMessage, ownNames: ReadonlySet<string>): boolean {
  if (headers.host === undefined) return true
  const { hostname } = URL.parse(`http://${headers.host}`) ?? { hostname: '' }
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isLoopbackName(hostname) || ownNames.has(address) || address === withoutMapping(socket.localAddress ?? '')
}

const REFUSED: ReadonlySet<string> = new Set<ErrorCode>([
  'missing_token',
  'invalid_token',
  'token_revoked',
  'token_expired',
])
