/** Every way a request can fail: the status, the default text, and when it happens. */
export const errors = {
  invalid_request: {
    status: 400,
    text: 'The request carries its credentials in a way that is not accepted',
    meaning: 'Two `Authorization` headers, or an API key in the URL, with or without a header: revoke that key.',
  },
  invalid_parameter: {
    status: 400,
    text: 'A parameter is not in its syntax or bounds',
    meaning: 'A value is not in its syntax or bounds: `fieldErrors` names the parameter.',
  },
  unknown_parameter: {
    status: 400,
    text: 'The query has a parameter that is not known here',
    meaning: 'The query has a name that this path does not have. `fieldErrors` lists those that it has. Case counts.',
  },
  repeated_parameter: {
    status: 400,
    text: 'A parameter is given more than once',
    meaning: 'A name is given more than once, even with equal values.',
  },
  malformed_url: {
    status: 400,
    text: 'The URL is not well-formed',
    meaning: 'Invalid percent-encoding.',
  },
  malformed_request: {
    status: 400,
    text: 'The request is not well-formed HTTP',
    meaning: 'The request is not well-formed HTTP.',
  },
  missing_token: {
    status: 401,
    text: 'Missing or invalid Authorization header',
    meaning: 'No `Authorization` header, or one that is not `Bearer <API key>`.',
  },
  invalid_token: {
    status: 401,
    text: 'Invalid token',
    meaning: 'The value after `Bearer` is not an API key that this service knows.',
  },
  token_revoked: {
    status: 401,
    text: 'Token has been revoked',
    meaning: 'The API key was revoked.',
  },
  token_expired: {
    status: 401,
    text: 'Token has expired',
    meaning: 'The API key has expired.',
  },
  subscription_required: {
    status: 403,
    text: 'An Ultra subscription is required',
    meaning: 'The account of the API key has no tier, or one that has ended. The key works again when the tier does.',
  },
  insufficient_scope: {
    status: 403,
    text: 'The token does not have the scope for this',
    meaning: 'The API key does not have the scope that the path needs: the operation lists those that allow it.',
  },
  owner_not_accessible: {
    status: 403,
    text: 'The records of this account are not accessible',
    meaning: 'A parameter names an account whose records the caller cannot read.',
  },
  not_found: {
    status: 404,
    text: 'Not found',
    meaning: 'There is no record with this id that the caller may read.',
  },
  no_route: {
    status: 404,
    text: 'There is nothing at this path',
    meaning: 'The path is unknown. Case and a trailing slash count.',
  },
  method_not_allowed: {
    status: 405,
    text: 'The method is not allowed here',
    meaning: 'The path has no such method; `Allow` lists the methods that it has.',
  },
  request_timeout: {
    status: 408,
    text: 'The request did not arrive in time',
    meaning: 'The request did not arrive in time. The connection closes.',
  },
  misdirected_request: {
    status: 421,
    text: 'This service does not answer for that host',
    meaning: 'The `Host` header names a host that is not in the setting `LOCKSTEP_ALLOWED_HOSTS`.',
  },
  rate_limited: {
    status: 429,
    text: 'Too many requests',
    meaning:
      'Too many requests with the API key, in a minute or at the same time, or too many failed attempts from the address.',
  },
  headers_too_large: {
    status: 431,
    text: 'The request headers are too large',
    meaning: 'The URL and the headers together are larger than 16 KiB. The connection closes.',
  },
  internal_error: {
    status: 500,
    text: 'Internal server error',
    meaning: 'A fault of the service. Its log has the cause under the `requestId`: report that.',
  },
  unavailable: {
    status: 503,
    text: 'The service is not available right now',
    meaning:
      'The database does not respond, the service is overloaded or stopping, or an account has too many records for figures.',
  },
} as const satisfies Record<string, { status: number; text: string; meaning: string }>

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
