import type { Endpoint } from '../contract/endpoint.ts'
import type { Target } from './request.ts'
import { api } from '../contract/index.ts'
import type { Caller, Handler, Handlers, Result } from '../resources/handler.ts'
import { handlers } from '../resources/index.ts'
import { type Query, readParameters } from './parameters.ts'

/** The route of a target, and the text in the place of its id. */
export interface Match<Route> {
  readonly route: Route
  readonly id: string | undefined
}

export interface Routed {
  readonly endpoint: Pick<Endpoint, 'path'>
}

/** Finds routes by path: segments are decoded once and compared exactly. */
export function makeRouter<Route extends Routed>(routes: readonly Route[]) {
  const fixedPaths = routes.map(({ endpoint: { path } }) => (path.endsWith(ID) ? undefined : path))
  const parents = routes.map(({ endpoint: { path } }) => (path.endsWith(ID) ? path.slice(0, -ID.length) : undefined))
  // No map: it would enter each path into a table of all texts first, and the paths of records are many.
  const routeAt = (paths: readonly (string | undefined)[], path: string) => {
    const index = paths.indexOf(path)
    return index === -1 ? undefined : routes[index]
  }
  return ({ path, segments }: Target): Match<Route> | undefined => {
    if (segments === undefined) {
      const route = routeAt(fixedPaths, path)
      if (route !== undefined) return { route, id: undefined }
      const end = path.lastIndexOf('/')
      return matchId(routeAt(parents, path.slice(0, end)), path.slice(end + 1))
    }
    // An encoded slash is part of its segment: joining would make two segments of it.
    const last = segments.at(-1) ?? ''
    const others = segments.slice(0, -1)
    if (others.some(segment => segment.includes('/'))) return undefined
    const parent = others.join('/')
    const route = last.includes('/') ? undefined : routeAt(fixedPaths, `${parent}/${last}`)
    return route === undefined ? matchId(routeAt(parents, parent), last) : { route, id: undefined }
  }
}

const ID = '/:id'

function matchId<Route>(route: Route | undefined, id: string): Match<Route> | undefined {
  return route === undefined || id === '' || id === '.' || id === '..' ? undefined : { route, id }
}

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
