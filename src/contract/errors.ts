/** Every way a request can fail: the status, the default text, and when it happens. */
export const errors = {
  invalid_request: failure(
    400,
    'The request carries its credentials in a way that is not accepted',
    'Two `Authorization` headers, or an API key in the URL, with or without a header: revoke that key.',
  ),
  invalid_parameter: failure(
    400,
    'A parameter is not in its syntax or bounds',
    'A value is not in its syntax or bounds: `fieldErrors` names the parameter.',
  ),
  unknown_parameter: failure(
    400,
    'The query has a parameter that is not known here',
    'The query has a name that this path does not have. `fieldErrors` lists those that it has. Case counts.',
  ),
  repeated_parameter: failure(
    400,
    'A parameter is given more than once',
    'A name is given more than once, even with equal values.',
  ),
  malformed_url: failure(400, 'The URL is not well-formed', 'Invalid percent-encoding.'),
  malformed_request: failure(400, 'The request is not well-formed HTTP', 'The request is not well-formed HTTP.'),
  missing_token: failure(
    401,
    'Missing or invalid Authorization header',
    'No `Authorization` header, or one that is not `Bearer <API key>`.',
  ),
  invalid_token: failure(401, 'Invalid token', 'The value after `Bearer` is not an API key that this service knows.'),
  token_revoked: failure(401, 'Token has been revoked', 'The API key was revoked.'),
  token_expired: failure(401, 'Token has expired', 'The API key has expired.'),
  subscription_required: failure(
    403,
    'An Ultra subscription is required',
    'The account of the API key has no tier, or one that has ended. The key works again when the tier does.',
  ),
  insufficient_scope: failure(
    403,
    'The token does not have the scope for this',
    'The API key does not have the scope that the path needs: the operation lists those that allow it.',
  ),
  owner_not_accessible: failure(
    403,
    'The records of this account are not accessible',
    'A parameter names an account whose records the caller cannot read.',
  ),
  not_found: failure(404, 'Not found', 'There is no record with this id that the caller may read.'),
  no_route: failure(404, 'There is nothing at this path', 'The path is unknown. Case and a trailing slash count.'),
  method_not_allowed: failure(
    405,
    'The method is not allowed here',
    'The path has no such method; `Allow` lists the methods that it has.',
  ),
  request_timeout: failure(
    408,
    'The request did not arrive in time',
    'The request did not arrive in time. The connection closes.',
  ),
  misdirected_request: failure(
    421,
    'This service does not answer for that host',
    'The `Host` header names a host that is not in the setting `LOCKSTEP_ALLOWED_HOSTS`.',
  ),
  rate_limited: failure(
    429,
    'Too many requests',
    'Too many requests with the API key, in a minute or at the same time, or too many failed attempts from the address.',
  ),
  headers_too_large: failure(
    431,
    'The request headers are too large',
    'The URL and the headers together are larger than 16 KiB. The connection closes.',
  ),
  internal_error: failure(
    500,
    'Internal server error',
    'A fault of the service. Its log has the cause under the `requestId`: report that.',
  ),
  unavailable: failure(
    503,
    'The service is not available right now',
    'The database does not respond, the service is overloaded or stopping, or an account has too many records for figures.',
  ),
} as const

function failure(status: number, text: string, meaning: string) {
  return { status, text, meaning }
}

export type ErrorCode = keyof typeof errors

export interface FieldError {
  readonly field: string
  readonly message: string
}

interface Details {
  readonly fieldErrors?: readonly FieldError[]
  /** Seconds to wait before another try. */
  readonly retryAfter?: number
  /** The methods of a path that was asked with another. */
  readonly allow?: readonly string[]
}

/** An error that a caller may see. Its message never contains anything from the request. */
export class HttpError extends Error {
  readonly code: string
  readonly status: number
  readonly fieldErrors: readonly FieldError[] | undefined
  readonly retryAfter: number | undefined
  readonly allow: readonly string[] | undefined

  constructor(code: string, status: number, message: string, { fieldErrors, retryAfter, allow }: Details = {}) {
    // The stack of a refused request is never read, and capturing it costs more than the response.
    const { stackTraceLimit } = Error
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
    this.code = code
    this.status = status
    this.fieldErrors = fieldErrors
    this.retryAfter = retryAfter
    this.allow = allow
  }
}

export class ApiError extends HttpError {
  override readonly name = 'ApiError'
  declare readonly code: ErrorCode

  constructor(code: ErrorCode, message: string = errors[code].text, details: Details = {}) {
    super(code, errors[code].status, message, details)
  }
}

export const notFound = (resourceName: string) => new ApiError('not_found', `${resourceName} not found`)
