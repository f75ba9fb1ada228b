/** What was asked for is understood and not allowed; the message says why and, where there is one, the way out. */
export class RefusedError extends Error {
  override readonly name = 'Refused'
}
