import type { IncomingMessage, ServerResponse } from 'node:http'
import fastify from 'fastify'
import type { Store } from '../store/index.ts'
import type { OnFailure } from './server.ts'

interface PagesOptions {
  readonly store: Store
  readonly onFailure: OnFailure
}

/** Everything beside the API: health, the reference. */
export async function makePages(
  _: PagesOptions,
): Promise<(request: IncomingMessage, response: ServerResponse) => void> {
  const app = fastify()
  app.get('/healthz', () => ({ ok: true }))
  await app.ready()
  return app.routing
}
