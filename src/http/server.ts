import { lookup } from 'node:dns/promises'
import type { AddressInfo } from 'node:net'
import type { FastifyPluginCallback, FastifyReply, FastifyRequest } from 'fastify'
import type { EventCounter } from '../accounts/event-counter.ts'
import { makeGrantCache } from '../accounts/grants.ts'
import { makeKeyUsage } from '../accounts/key-usage.ts'
import type { ReadLog } from '../accounts/read-log.ts'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { READ_METHODS } from '../contract/responses.ts'
import { Load } from '../fairness.ts'
import type { Store } from '../store/index.ts'
import { Answers } from './answers.ts'
import { apiPlugin } from './api.ts'
import { makeApp } from './app.ts'
import { limits } from './limits.ts'
import type { Log } from './log.ts'
import type { Metrics } from './metrics.ts'
import { RateLimits } from './rate-limits.ts'

export type Service = Awaited<ReturnType<typeof startServer>>

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

/** Starts the service on an open store. Rejects if the address cannot be bound. */
export async function startServer(options: ServiceOptions) {
  const { store, config, log, readLog, events } = options
  const rateLimits = new RateLimits(config)
  const usage = makeKeyUsage(store, error => log.failure(error, undefined))
  const load = new Load(config.overloadLag)
  const answers = new Answers(rateLimits, config)
  const { plugin, sendUnknown } = options.makePages(load)
  const { app, connections } = await makeApp({ ...options, answers, rateLimits, load, sendUnknown })
  const isReady = async () => {
    if (connections.isDraining) throw new ApiError('unavailable')
    await store.health()
  }
  await app.register(healthPlugin, { answers, isReady })
  await app.register(apiPlugin, { ...options, answers, grants: makeGrantCache(store), rateLimits, usage, load })
  await app.register(plugin)

  // Fastify would listen on each address of `localhost`.
  const { address } = await lookup(config.host)
  // As many may wait to be accepted, if the system allows it.
  await app.listen({ host: address, port: config.port, backlog: limits.connections.max })
  const { port } = app.server.address() as AddressInfo
  return {
    /** The address of the service, to print. */
    url: urlOf(config.host, port),
    port,
    /**
     * Drains: /readyz responds 503 while the service continues for the drain delay; then it stops listening, responds to
     * every request that has arrived, and ends its connections. The store stays open.
     */
    async close() {
      await connections.close(app, load)
      load.close()
      for (const part of [usage, events, readLog]) await part.close()
      log.flush()
    },
  }
}

/** Neither path tells more than what its name asks: whether the process is alive, and whether it can serve requests. */
const healthPlugin: FastifyPluginCallback<{ answers: Answers; isReady: () => Promise<void> }> = (app, own, done) => {
  const { answers, isReady } = own
  for (const [path, check] of Object.entries({ '/healthz': async () => {}, '/readyz': isReady })) {
    app.route({
      method: [...READ_METHODS],
      url: path,
      handler: async ({ context }, reply) => {
        context.route = path
        await check()
        answers.json(reply, '{"ok":true}')
      },
    })
  }
  done()
}

export function urlOf(host: string, port: number): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}
