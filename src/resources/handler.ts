import type { Params, Endpoint } from '../contract/endpoint.ts'
import type { Store } from '../store/index.ts'
import type { Grant } from '../accounts/tokens.ts'
import type { Result } from './results.ts'

/** What an answer works with. */
export interface Caller {
  readonly store: Store
  readonly grant: Grant
  /** The clock of the request, in milliseconds since 1970. */
  readonly now: number
}

/**
 * Keeps the promise of an endpoint. Undefined when there is nothing the caller may see at that identifier; throws
 * ApiError for what is refused.
 */
type Handler<E extends Endpoint> = (caller: Caller, asked: Params<E>) => Promise<Result | undefined>

/** An answer for each endpoint of a resource, by the same name. */
export type Handlers<Resource extends Readonly<Record<string, Endpoint>>> = {
  readonly [Name in keyof Resource]: Handler<Resource[Name]>
}
