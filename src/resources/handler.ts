import { ApiError, HttpError } from '../contract/errors.ts'
import type { Params, Endpoint } from '../contract/endpoint.ts'
import { type Store, StoreUnavailableError } from '../store/index.ts'
import type { Grant } from '../accounts/grants.ts'
import { hash } from 'node:crypto'
import type { Area } from '../contract/areas.ts'

export interface Caller {
  readonly store: Store
  readonly grant: Grant
  /** The clock of the request, in milliseconds since 1970. */
  readonly now: number
  readonly ifNoneMatch?: string | undefined
}

/** Handles a request. Returns undefined if the caller may see nothing under the identifier. Throws ApiError to refuse. */
export type Handler<E extends Endpoint> = (caller: Caller, params: Params<E>) => Promise<Result | undefined>

/** A handler for each endpoint of a resource, by the same name. */
export type Handlers<Resource extends Readonly<Record<string, Endpoint>>> = {
  readonly [Name in keyof Resource]: Handler<Resource[Name]>
}

export interface Result {
  /** A strong validator. */
  readonly etag: string
  /** The JSON text of `data`, in parts, because joining them would cost a copy; undefined if the caller has it. */
  readonly data?: readonly string[] | LongText
  /** Whose records it holds, or could hold. */
  readonly ownersRead?: readonly { readonly area: Area; readonly owners: readonly number[] }[] | undefined
  /** The paging parameters of the next and the previous page, where there is one. */
  readonly next?: PageStart | undefined
  readonly previous?: PageStart | undefined
}

/** A text that is too long to hold in memory. */
export interface LongText {
  /** Its length in UTF-8. */
  readonly bytes: number
  /** Can be read once. Throws if a row has changed meanwhile. */
  readonly parts: AsyncIterable<string>
}

type PageStart = { readonly offset: number } | { readonly cursor: string }

/** Data that is computed, not stored. */
export function jsonResult(data: string): Result {
  return { data: [data], etag: etagOf(data) }
}

export function etagOf(text: string): string {
  return hash('sha1', text, 'base64url')
}

/** The error that a caller gets; the cause of an internal error is hidden. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  return new ApiError(error instanceof StoreUnavailableError ? 'unavailable' : 'internal_error')
}
