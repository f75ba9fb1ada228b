/** Every way a request can fail: its status, and the text where an answer gives no better one. */
export const errors = {
  invalid_request: { status: 400, text: 'The request carries its credentials in a way that is not accepted' },
  invalid_parameter: { status: 400, text: 'A parameter is not in its syntax or bounds' },
  unknown_parameter: { status: 400, text: 'The query has a parameter that is not known here' },
  repeated_parameter: { status: 400, text: 'A parameter is given more than once' },
  malformed_url: { status: 400, text: 'The URL is not well-formed' },
  malformed_request: { status: 400, text: 'The request is not well-formed HTTP' },
  host_invalid: { status: 400, text: 'The Host header is missing, repeated or not well-formed' },
  body_not_allowed: { status: 400, text: 'A body is not allowed here' },
  missing_token: { status: 401, text: 'Missing or invalid Authorization header' },
  invalid_token: { status: 401, text: 'Invalid token' },
  token_revoked: { status: 401, text: 'Token has been revoked' },
  token_expired: { status: 401, text: 'Token has expired' },
  subscription_required: { status: 403, text: 'An Ultra subscription is required' },
  insufficient_scope: { status: 403, text: 'The token does not have the scope for this' },
  owner_not_accessible: { status: 403, text: 'The records of this account are not accessible' },
  not_found: { status: 404, text: 'Not found' },
  no_route: { status: 404, text: 'There is nothing at this path' },
  method_not_allowed: { status: 405, text: 'The method is not allowed here' },
  not_acceptable: { status: 406, text: 'The answer is application/json, which the Accept header excludes' },
  request_timeout: { status: 408, text: 'The request did not arrive in time' },
  uri_too_long: { status: 414, text: 'The request target is too long' },
  expectation_failed: { status: 417, text: 'The expectation cannot be met' },
  misdirected_request: { status: 421, text: 'This service does not answer for that host' },
  rate_limited: { status: 429, text: 'Too many requests' },
  headers_too_large: { status: 431, text: 'The request headers are too large' },
  internal_error: { status: 500, text: 'Internal server error' },
  unavailable: { status: 503, text: 'The service is not available right now' },
} as const satisfies Record<string, { status: number; text: string }>

export type ErrorCode = keyof typeof errors

export interface FieldError {
  readonly field: string
  readonly message: string
}

/** A refusal a caller may see. Its message never holds anything taken from the request. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly fieldErrors: readonly FieldError[] | undefined

  constructor(code: ErrorCode, message: string = errors[code].text, fieldErrors?: readonly FieldError[]) {
    super(message)
    this.name = 'ApiError'
    this.code = code
    this.status = errors[code].status
    this.fieldErrors = fieldErrors
  }
}

export const notFound = (noun: string) => new ApiError('not_found', `${noun} not found`)

/** One parameter is wrong: `rule` completes the sentence that its name begins. */
export const invalidParameter = (field: string, rule: string) =>
  new ApiError('invalid_parameter', `${field} ${rule}`, [{ field, message: rule }])
