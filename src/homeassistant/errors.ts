import { LockstepError, NoResponseError } from '../client.ts'

export function serviceFailure(error: unknown): string {
  if (error instanceof LockstepError) return `the service answered: ${error.message}`
  if (error instanceof NoResponseError) return error.message
  return 'the service does not answer'
}

/** Whether the same request will fail again: the key is wrong, or not allowed to read this. */
export function isRefused(error: unknown): boolean {
  return error instanceof LockstepError && error.status >= 400 && error.status < 500 && error.status !== 429
}
