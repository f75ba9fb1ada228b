import type { Params, Endpoint } from '../contract/endpoint.ts'
import type { Store } from '../store/index.ts'
import type { Grant } from '../accounts/tokens.ts'
import type { KeptResults } from './kept-results.ts'
import type { Result } from './results.ts'

/** The context of a handler. */
export interface Caller {
  readonly store: Store
  readonly grant: Grant
  /** The clock of the request, in milliseconds since 1970. */
  readonly now: number
  /** The If-None-Match header. */
  readonly ifNoneMatch?: string | undefined
  readonly kept?: KeptResults | undefined
}

/** Handles a request. Returns undefined if the caller may see nothing under the identifier. Throws ApiError to refuse. */
export type Handler<E extends Endpoint> = (caller: Caller, params: Params<E>) => Promise<Result | undefined>

/** A handler for each endpoint of a resource, by the same name. */
export type Handlers<Resource extends Readonly<Record<string, Endpoint>>> = {
  readonly [Name in keyof Resource]: Handler<Resource[Name]>
}
