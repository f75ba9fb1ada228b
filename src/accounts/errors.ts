/** A request that is understood but not allowed. The message says why and, where there is one, what to do instead. */
export class RefusedError extends Error {
  override readonly name = 'RefusedError'
}
