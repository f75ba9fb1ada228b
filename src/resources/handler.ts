import type { Params, Endpoint } from '../contract/endpoint.ts'
import type { Store } from '../store/index.ts'
import type { Grant } from '../accounts/tokens.ts'
import type { Result } from './results.ts'

/** What a handler works with. */
export interface Caller {
  readonly store: Store
  readonly grant: Grant
  /** The clock of the request, in milliseconds since 1970. */
  readonly now: number
}

/** Answers an endpoint. Undefined where the caller may see nothing at that identifier; throws ApiError to refuse. */
export type Handler<E extends Endpoint> = (caller: Caller, params: Params<E>) => Promise<Result | undefined>

/** A handler for each endpoint of a resource, by the same name. */
export type Handlers<Resource extends Readonly<Record<string, Endpoint>>> = {
  readonly [Name in keyof Resource]: Handler<Resource[Name]>
}
