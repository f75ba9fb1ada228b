import { ApiError } from '../contract/errors.ts'
import { READ_METHODS } from '../contract/responses.ts'
import type { Store } from '../store/index.ts'
import type { Handle, Target } from './request.ts'
import type { Responder } from './respond.ts'
import type { Shutdown } from './shutdown.ts'

/** Finds the handler of a health path: /healthz tells whether the process is alive, /readyz whether it can serve requests. */
export function makeHealth(store: Store, responder: Responder, shutdown: Shutdown) {
  const states: Readonly<Record<string, () => Promise<object>>> = {
    '/healthz': async () => ({ ok: true }),
    '/readyz': async () => {
      if (shutdown.isDraining) throw new ApiError('unavailable')
      await store.health()
      // No more than a load balancer can act on.
      return { ok: true }
    },
  }

  return ({ decodedPath: path = '' }: Target): Handle | undefined => {
    const state = Object.hasOwn(states, path) ? states[path] : undefined
    if (state === undefined) return undefined
    return async context => {
      context.route = path
      if (context.method === 'OPTIONS') return responder.options(context)
      if (!READ_METHODS.includes(context.method)) throw new ApiError('method_not_allowed')
      responder.json(context, JSON.stringify(await state()))
    }
  }
}
