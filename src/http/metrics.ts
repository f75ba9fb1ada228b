import cluster from 'node:cluster'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ClusterRegistry, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client'
import packageJson from '../../package.json' with { type: 'json' }
import type { ErrorCode } from '../contract/errors.ts'
import { readBackupFacts } from '../backup/facts.ts'
import { countSetAside } from '../archive/set-aside.ts'
import { oldestCompleteRound } from '../pull/status.ts'
import type { Store } from '../store/index.ts'
import type { RequestSummary } from './request-context.ts'

/** Metrics for Prometheus. No label holds an identifier. */
export interface Metrics {
  request(summary: RequestSummary): void
  /** The same store, with its reads timed. */
  timed(store: Store): Store
  /** Adds metrics of imports, pulls and backups, which are read from the store whenever the metrics are requested. */
  watchIntake(store: Store): void
  /** All metrics, in the format of Prometheus. */
  text(): Promise<string>
  /** Sends the metrics of a worker that exits to its supervisor, so that counters never decrease. */
  handOver(): Promise<void>
}

/** Collects the metrics of this process. A supervisor can ask its workers for theirs. */
export function makeMetrics(): Metrics {
  const registry = new Registry()
  ClusterRegistry.setRegistries([registry])
  // The constructor registers a listener that responds to the supervisor.
  const asWorker = cluster.isWorker ? new ClusterRegistry() : undefined
  const { durations, authentications, limited, reads } = registerMetrics(registry)

  return {
    watchIntake: store => registerIntakeMetrics(registry, store),
    text: () => registry.metrics(),
    async handOver() {
      // The types of the package lack this method.
      await (asWorker as { shutdown?: () => Promise<void> } | undefined)?.shutdown?.()
    },
    request({ status, method, route = 'none', startedAt, tokenId, code, limit }) {
      durations.observe({ method, route, status }, (performance.now() - startedAt) / 1000)
      if (tokenId !== undefined) authentications.inc({ result: 'ok' })
      else if (code !== undefined && REFUSED.has(code)) authentications.inc({ result: code })
      if (limit !== undefined) limited.inc({ limit })
    },
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
    help: 'Requests refused by a limit.',
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
    name: 'lockstep_build_info',
    help: 'Always 1; the labels say what runs.',
    labelNames: ['version', 'node'],
    aggregator: 'first',
    registers,
  }).set({ version: packageJson.version, node: process.version }, 1)
  return { durations, authentications, limited, reads }
}

function registerIntakeMetrics(registry: Registry, store: Store) {
  const gauge = (name: string, help: string, read: () => Promise<number | undefined>) =>
    registry.registerMetric(
      new Gauge({
        name,
        help,
        // Every worker reads the same store.
        aggregator: 'max',
        registers: [],
        async collect() {
          await setFrom(this, read)
        },
      }),
    )
  gauge('lockstep_set_aside_rows', 'Rows that imports and pulls could not store, kept for another try.', () =>
    countSetAside(store),
  )
  gauge(
    'lockstep_pull_completed_timestamp_seconds',
    'End of the last complete round of a pull; of several sources the one that is furthest behind.',
    async () => {
      const oldest = await oldestCompleteRound(store)
      return oldest === null ? undefined : oldest / 1000
    },
  )
  const seconds = (time: number | undefined) => (time === undefined ? undefined : time / 1000)
  gauge('lockstep_backup_timestamp_seconds', 'Moment of the last backup of this database.', async () =>
    seconds((await readBackupFacts(store)).madeAt),
  )
  gauge(
    'lockstep_backup_size_bytes',
    'Size of the last backup of this database.',
    async () => (await readBackupFacts(store)).bytes,
  )
  gauge('lockstep_backup_check_timestamp_seconds', 'When a backup last passed its check.', async () =>
    seconds((await readBackupFacts(store)).checkedAt),
  )
}

/** A gauge has no sample while its value is unknown or the store is unavailable. */
async function setFrom(gauge: Gauge, read: () => Promise<number | undefined>) {
  gauge.remove()
  const value = await read().catch(() => undefined)
  if (value !== undefined) gauge.set(value)
}

/** The metrics of all workers of this process, added up. */
export function makeClusterMetrics(): Pick<Metrics, 'text'> {
  const registry = new ClusterRegistry()
  return { text: () => registry.clusterMetrics() }
}

/** Where metrics are served. */
export interface MetricsListener {
  readonly port: number
  close(): Promise<void>
}

/** Serves metrics on a separate listener, which is not for clients of the API. Rejects if it cannot be bound. */
export async function serveMetrics(
  metrics: Pick<Metrics, 'text'>,
  host: string,
  port: number,
): Promise<MetricsListener> {
  const server = createServer((request, response) => {
    if (request.method !== 'GET' || request.url !== '/metrics') {
      response.writeHead(404).end()
      return
    }
    metrics.text().then(
      text => response.writeHead(200, { 'Content-Type': Registry.PROMETHEUS_CONTENT_TYPE }).end(text),
      () => response.writeHead(500).end(),
    )
  })
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

const REFUSED: ReadonlySet<string> = new Set<ErrorCode>([
  'missing_token',
  'invalid_token',
  'token_revoked',
  'token_expired',
])
