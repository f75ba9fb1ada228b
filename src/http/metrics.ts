import cluster from 'node:cluster'
import type { IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ClusterRegistry, collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from '@prometheus-io/client'
import fastify from 'fastify'
import { SECURITY_HEADERS } from '../contract/responses.ts'
import type { LimitName } from './limits.ts'
import type { Config } from '../config.ts'
import { version } from '../version.ts'
import { isLoopbackName, withoutMapping } from './addresses.ts'
import type { RequestSummary } from './log.ts'

/** A value of the store that every process reads. */
export interface StoredMetric {
  readonly name: string
  readonly help: string
  /** Undefined while it is unknown. */
  readonly read: () => Promise<number | undefined>
}

/** Metrics of this process for Prometheus. No label holds an identifier. A supervisor can ask its workers for theirs. */
export class Metrics {
  readonly #registry = new Registry()
  /** The constructor registers a listener that responds to the supervisor. */
  readonly #asWorker = cluster.isWorker ? new ClusterRegistry() : undefined
  readonly #durations = new Histogram({
    name: 'lockstep_request_duration_seconds',
    help: 'Time from the headers of a request to the end of its response.',
    labelNames: ['method', 'route', 'status'],
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5],
    registers: [this.#registry],
  })
  readonly #authentications = new Counter({
    name: 'lockstep_authentications_total',
    help: 'Requests with credentials, by result.',
    labelNames: ['result'],
    registers: [this.#registry],
  })
  readonly #limited = new Counter({
    name: 'lockstep_limited_requests_total',
    help: 'Requests that were refused or had to wait, and connections that were closed, by limit.',
    labelNames: ['limit'],
    registers: [this.#registry],
  })

  constructor() {
    ClusterRegistry.setRegistries([this.#registry])
    new Gauge({
      name: 'lockstep_info',
      help: 'Always 1; the labels say what runs.',
      labelNames: ['version', 'node'],
      aggregator: 'first',
      registers: [this.#registry],
    }).set({ version, node: process.version }, 1)
    collectDefaultMetrics({ register: this.#registry })
  }

  request({ status, method, route = 'none', startedAt, keyId, code, limit }: RequestSummary) {
    this.#durations.observe({ method, route, status }, (performance.now() - startedAt) / 1000)
    if (keyId !== undefined) this.#authentications.inc({ result: 'ok' })
    else if (code !== undefined && status === 401) this.#authentications.inc({ result: code })
    if (limit !== undefined) this.limitReached(limit)
  }

  limitReached(limit: LimitName) {
    this.#limited.inc({ limit })
  }

  /** Adds metrics that are read whenever the metrics are requested. */
  watch(values: readonly StoredMetric[]) {
    for (const { name, help, read } of values) {
      const gauge = new Gauge({
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
      })
      this.#registry.registerMetric(gauge)
    }
  }

  text(): Promise<string> {
    return this.#registry.metrics()
  }

  /** Sends the metrics of a worker that exits to its supervisor, so that counters never decrease. */
  async handOver() {
    // The types of the package lack this method.
    await (this.#asWorker as { shutdown?: () => Promise<void> } | undefined)?.shutdown?.()
  }
}

/** The metrics of all workers of this process, added up. */
export function makeClusterMetrics(): Pick<Metrics, 'text'> {
  const registry = new ClusterRegistry()
  return { text: () => registry.clusterMetrics() }
}

export type MetricsListener = Awaited<ReturnType<typeof serveMetrics>>

/** Far more than those that collect metrics need. */
const MAX_METRICS_CONNECTIONS = 32

/** Serves metrics on a separate listener, which is not for clients of the API. Rejects if it cannot be bound. */
export async function serveMetrics(
  metrics: Pick<Metrics, 'text'>,
  { metricsHost: host, metricsPort: port, allowedHosts }: Pick<Config, 'metricsHost' | 'metricsPort' | 'allowedHosts'>,
) {
  const ownNames = new Set([host.toLowerCase(), ...allowedHosts])
  const app = fastify({ forceCloseConnections: true })
  app.server.maxConnections = MAX_METRICS_CONNECTIONS
  app.addHook('onRequest', (request, reply, next) => {
    reply.headers(SECURITY_HEADERS)
    if (isOwnHost(request.raw, ownNames)) next()
    else reply.code(421).send()
  })
  app.setErrorHandler((_error, _request, reply) => reply.code(500).send())
  app.setNotFoundHandler((_request, reply) => reply.code(404).send())
  app.get('/metrics', async (_request, reply) => {
    reply.type(Registry.PROMETHEUS_CONTENT_TYPE)
    return metrics.text()
  })
  await app.listen({ host, port: port ?? 0 })
  return { port: (app.server.address() as AddressInfo).port, close: () => app.close() }
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
