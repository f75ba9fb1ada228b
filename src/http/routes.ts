import type { Endpoint } from '../contract/endpoint.ts'
import { api } from '../contract/index.ts'
import type { Caller, Handler, Handlers } from '../resources/handler.ts'
import { handlers } from '../resources/index.ts'
import type { Result } from '../resources/results.ts'
import { type Query, readParameters } from './parameters.ts'

/** An endpoint with its handler. */
export interface Route {
  readonly endpoint: Endpoint
  /** Throws ApiError where the parameters are wrong, or the handler refuses. */
  readonly handle: (caller: Caller, query: Query, id: string | undefined) => Promise<Result | undefined>
}

export const routes: readonly Route[] = join(api, handlers)

function join<Api extends Readonly<Record<string, Endpoint>>>(endpoints: Api, handlers: Handlers<Api>): Route[] {
  const routeOf = <Name extends keyof Api>(name: Name) => makeRoute<Api[Name]>(endpoints[name], handlers[name])
  // An object that nobody extends has exactly the keys of its type.
  return (Object.keys(endpoints) as (keyof Api)[]).map(routeOf)
}

function makeRoute<E extends Endpoint>(endpoint: E, handler: Handler<E>): Route {
  return {
    endpoint,
    handle: (caller, query, id) =>
      handler(caller, readParameters(endpoint, { query, id, callerId: caller.grant.accountId, now: caller.now })),
  }
}
