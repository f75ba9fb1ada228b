import type { FastifyPluginCallback } from 'fastify'
import { ApiError } from '../contract/errors.ts'
import { READ_METHODS } from '../contract/responses.ts'
import type { Store } from '../store/index.ts'
import type { Answers } from './answers.ts'
import type { Connections } from './connections.ts'

interface HealthOptions {
  readonly store: Store
  readonly answers: Answers
  readonly connections: Pick<Connections, 'isDraining'>
}

/** /healthz tells whether the process is alive, /readyz whether it can serve requests. Neither tells more. */
export const healthPlugin: FastifyPluginCallback<HealthOptions> = (app, { store, answers, connections }, done) => {
  const add = (path: string, check: () => Promise<void>) =>
    app.route({
      method: [...READ_METHODS],
      url: path,
      handler: async ({ context }, reply) => {
        context.route = path
        await check()
        answers.json(reply, '{"ok":true}')
      },
    })
  add('/healthz', async () => {})
  add('/readyz', async () => {
    if (connections.isDraining) throw new ApiError('unavailable')
    await store.health()
  })
  done()
}
