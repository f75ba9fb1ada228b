import type { FastifyPluginCallback } from 'fastify'
import { ApiError } from '../contract/errors.ts'
import { READ_METHODS } from '../contract/responses.ts'
import type { Store } from '../store/index.ts'
import type { Answers } from './answers.ts'

interface HealthOptions {
  readonly store: Store
  readonly answers: Answers
  readonly state: { readonly isDraining: boolean }
}

/** /healthz tells whether the process is alive, /readyz whether it can serve requests. Neither tells more. */
export const healthPlugin: FastifyPluginCallback<HealthOptions> = (app, { store, answers, state }, done) => {
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
    if (state.isDraining) throw new ApiError('unavailable')
    await store.health()
  })
  done()
}
