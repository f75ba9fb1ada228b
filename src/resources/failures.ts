import { ApiError, HttpError } from '../contract/errors.ts'
import { StoreUnavailableError } from '../store/index.ts'

/** The error that a caller gets; the cause of an internal error is hidden. */
export function toHttpError(error: unknown): HttpError {
  if (error instanceof HttpError) return error
  return new ApiError(error instanceof StoreUnavailableError ? 'unavailable' : 'internal_error')
}
