import { ResponseTooLargeError } from '../contract/received-json.ts'
import { settings } from '../config.ts'

/** Why a sign-in at an OpenID Connect issuer failed, in words for its people and for the log. */

/** Nobody was identified: the issuer cannot be used (`away`), the person declined, or the response does not fit the request. */
export class OidcError extends Error {
  override readonly name = 'OidcError'
  readonly reason: Reason
  /** A clause whose subject is the issuer. */
  readonly why: string

  /** Keeps no part of `cause` that can contain the code or a token. */
  constructor(cause: unknown, reason?: Reason) {
    const type = typeOf(cause)
    const [known, words] = TYPES[type] ?? (['refused', undefined] as const)
    const why = words ?? detailOf(type, cause)
    super(`the sign-in at the OIDC issuer was not completed: ${why} (${type})`)
    this.reason = reason ?? known
    this.why = why
  }
}

type Reason = 'away' | 'declined' | 'refused'

/** What an issuer calls itself, if that is not what the settings call it. */
export function statedIssuer(error: unknown): unknown {
  return objectOf(innermost(error).facts['body'])['issuer']
}

/** The code of an error, which is one of a few words, or else its name. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'none'
  if (error.cause instanceof ResponseTooLargeError) return error.cause.name
  // It can come from the address that the browser was sent back to.
  if ('error' in error)
    return typeof error.error === 'string' && Object.hasOwn(TYPES, error.error) ? error.error : 'other'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

const DECLINED = ['declined', 'the sign-in was declined there'] as const
const UNAVAILABLE = ['away', 'it is not available'] as const
const NO_JSON = ['away', 'its response is no JSON'] as const
const SECRET_REFUSED = [
  'away',
  `it accepts neither the client id with this secret nor, perhaps, the way in which the secret is sent (${settings.oidcAuth.env})`,
] as const

/** `away` where the issuer does not respond, not as an issuer should, or not to this service: no guess of anybody. */
const TYPES: Readonly<Record<string, readonly [reason: Reason, words?: string]>> = {
  access_denied: DECLINED,
  interaction_required: DECLINED,
  login_required: DECLINED,
  invalid_client: SECRET_REFUSED,
  none: ['refused', 'it sent no ID token'],
  other: ['refused', 'it answered with an error that Lockstep does not know'],
  redirect_uri_mismatch: ['refused', 'it knows another redirect address'],
  server_error: UNAVAILABLE,
  temporarily_unavailable: UNAVAILABLE,
  unauthorized_client: ['away', 'it does not allow this client the code flow'],
  AbortError: UNAVAILABLE,
  OAUTH_PARSE_ERROR: NO_JSON,
  OAUTH_RESPONSE_IS_NOT_CONFORM: ['away'],
  OAUTH_RESPONSE_IS_NOT_JSON: NO_JSON,
  OAUTH_TIMEOUT: UNAVAILABLE,
  OAUTH_WWW_AUTHENTICATE_CHALLENGE: SECRET_REFUSED,
  ResponseTooLargeError: ['away', 'its response is too large'],
  TimeoutError: UNAVAILABLE,
  TypeError: ['away'],
}

function detailOf(type: string, error: unknown): string {
  const { message, facts } = innermost(error)
  if (type === 'TypeError') return `it cannot be reached (${message})`
  if (type === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
    return `it calls itself ${quoted(statedIssuer(error))}, and ${settings.oidcIssuer.env} is ${quoted(facts['expected'])}`
  }
  // The library's own texts contain no values.
  return type.startsWith('OAUTH_') ? `its response was refused: ${message}` : 'its response cannot be used'
}

type Facts = Readonly<Record<string, unknown>>

/** The message of the first cause that is an error, or its code, and the facts that it has. */
function innermost(error: unknown): { readonly message: string; readonly facts: Facts } {
  if (!(error instanceof Error)) return { message: '', facts: {} }
  if (error.cause instanceof Error) return innermost(error.cause)
  const code = 'code' in error && typeof error.code === 'string' && /^[A-Z_]+$/.test(error.code) ? error.code : ''
  return { message: code === '' || code.startsWith('OAUTH_') ? error.message : code, facts: objectOf(error.cause) }
}

function objectOf(value: unknown): Facts {
  // Any object has named values.
  return typeof value === 'object' && value !== null ? (value as Facts) : {}
}

function quoted(name: unknown): string {
  return typeof name === 'string' ? JSON.stringify(name.slice(0, MAX_ISSUER_LENGTH)) : 'nothing'
}

const MAX_ISSUER_LENGTH = 200
