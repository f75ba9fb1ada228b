import { ApiError, HttpError } from '../contract/errors.ts'
import { StoreUnavailableError } from '../store/index.ts'

/** What a caller may see of a failure. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  return new ApiError(error instanceof StoreUnavailableError ? 'unavailable' : 'internal_error')
}
