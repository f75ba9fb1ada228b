import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { EventCounter } from '../accounts/event-counter.ts'
import { makeGrantCache } from '../accounts/grants.ts'
import { makeKeyUsage, type KeyUsage } from '../accounts/key-usage.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import { type Config, settings } from '../config.ts'
import type { Store } from '../store/index.ts'
import { networkPart, senderAddress } from './addresses.ts'
import { makeAnswers } from './answers.ts'
import { apiPlugin } from './api.ts'
import { makeApp } from './app.ts'
import { Connections } from './connections.ts'
import { healthPlugin } from './health.ts'
import { limits } from './limits.ts'
import { type Load, watchLoad } from './load.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { makeRateLimits } from './rate-limits.ts'
import { stop } from './stop.ts'

export interface Service {
  /** The address of the service, to print. */
  readonly url: string
  readonly port: number
  /**
   * Drains: /readyz responds 503 while the service continues for the drain delay; then it stops listening, responds to
   * every request that has arrived, and ends its connections. The store stays open.
   */
  close(): Promise<void>
}

/** All paths except the API and health. */
export interface Pages {
  readonly plugin: FastifyPluginCallback
  /** Shows a page for an unknown path; false if the client wants none. */
  readonly sendUnknown: (request: FastifyRequest, reply: FastifyReply) => boolean
}

export interface ServiceOptions {
  readonly store: Store
  readonly config: Config
  readonly log: Log
  readonly metrics?: Metrics | undefined
  readonly readLog: ReadLog
  readonly events: EventCounter
  readonly makePages: (load: Load) => Pages
}

function usageOf({ store, config, log, events }: ServiceOptions): KeyUsage {
  return makeKeyUsage(store, {
    networkOf: sender => networkPart(senderAddress(sender, config.trustedProxies)),
    events,
    onFailure: error => log.failure(error, undefined),
  })
}

/** Starts the service on an open store. Rejects if the address cannot be bound. */
export async function startServer(options: ServiceOptions): Promise<Service> {
  const { store, config, log, metrics, readLog, events, makePages } = options
  const rateLimits = makeRateLimits(config)
  const usage = usageOf(options)
  const load = watchLoad(config.overloadLag)
  const state = { isDraining: false, isClosing: false }
  const answers = makeAnswers(rateLimits, config)
  const timedStore = metrics?.timed(store) ?? store
  const pages = makePages(load)

  const app = await makeApp({
    config,
    log,
    answers,
    load,
    state,
    connections: () => connections,
    sendUnknown: pages.sendUnknown,
    finish(context, aborted) {
      if (context.isActive && context.windows !== undefined) rateLimits.release(context.windows)
      log.request(context, aborted)
      metrics?.request(context)
    },
  })
  const connections = new Connections(app.server, {
    config,
    limitReached: limit => metrics?.limitReached(limit),
    onTooMany: address => log.failure(new Error(tooMany(address, config)), undefined),
  })
  await app.register(healthPlugin, { store, answers, state })
  await app.register(apiPlugin, {
    store: timedStore,
    config,
    answers,
    grants: makeGrantCache(timedStore),
    limits: rateLimits,
    usage,
    readLog,
    load,
  })
  await app.register(pages.plugin)

  // Fastify would listen on each address of `localhost`.
  const { address } = await lookup(config.host)
  await app.listen({ host: address, port: config.port, backlog: BACKLOG })
  const { port } = app.server.address() as AddressInfo
  return {
    url: urlOf(config.host, port),
    port,
    async close() {
      await stop(app, state, { connections, load, drainDelay: config.drainDelay })
      load.close()
      await usage.close()
      await events.close()
      await readLog.close()
      log.flush()
    },
  }
}

/** The address of a listener, to print. */
export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function tooMany(address: string, { addressConnections }: Pick<Config, 'addressConnections'>): string {
  const { addressConnections: most, trustedProxies } = settings
  return `${address} has ${addressConnections} open connections, so more are closed (${most.env}). If it is a proxy, name it in ${trustedProxies.env}`
}

/** How many connections may wait to be accepted, if the system allows as many. */
const BACKLOG = limits.connections.max
