import { ResponseTooLargeError } from '../contract/received-json.ts'
import { settings } from '../config.ts'

/** Why a sign-in at an OpenID Connect issuer failed, in words for its people and for the log. */

/** Nobody was identified: the issuer cannot be used (`away`), the person declined, or the response does not fit the request. */
export class OidcError extends Error {
  override readonly name = 'OidcError'
  readonly reason: 'away' | 'declined' | 'refused'
  /** A clause whose subject is the issuer. */
  readonly why: string

  /** Keeps no part of `cause` that can contain the code or a token. */
  constructor(cause: unknown, reason = reasonOf(cause)) {
    const kind = kindOf(cause)
    const why = WORDS[kind] ?? detailOf(kind, cause)
    super(`the sign-in at the OIDC issuer was not completed: ${why} (${kind})`)
    this.reason = reason
    this.why = why
  }
}

/** What an issuer calls itself, if that is not what the settings call it. */
export function statedIssuer(error: unknown): unknown {
  return objectOf(innermost(error).facts['body'])['issuer']
}

function reasonOf(error: unknown): OidcError['reason'] {
  const kind = kindOf(error)
  if (DECLINED.includes(kind)) return 'declined'
  return AWAY.has(kind) ? 'away' : 'refused'
}

/** The code of an error, which is one of a few words, or else its name. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'none'
  if (error.cause instanceof ResponseTooLargeError) return error.cause.name
  // It can come from the address that the browser was sent back to.
  if ('error' in error)
    return typeof error.error === 'string' && Object.hasOwn(WORDS, error.error) ? error.error : 'other'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

const SECRET_REFUSED = `it accepts neither the client id with this secret nor, perhaps, the way in which the secret is sent (${settings.oidcAuth.env})`
const NO_JSON = 'its response is no JSON'

const WORDS: Readonly<Record<string, string>> = {
  access_denied: 'the sign-in was declined there',
  interaction_required: 'it must ask the person, and was told not to',
  invalid_client: SECRET_REFUSED,
  invalid_grant: 'it does not accept the code: that was used, is too old, or belongs to another redirect address',
  invalid_request: 'it takes the request for invalid: perhaps it knows another redirect address',
  invalid_scope: 'it does not allow this client the scope openid',
  login_required: 'the person is not signed in there',
  none: 'it sent no ID token',
  other: 'it answered with an error that Lockstep does not know',
  redirect_uri_mismatch: 'it knows another redirect address',
  server_error: 'it has an error of its own',
  temporarily_unavailable: 'it is not available',
  unauthorized_client: 'it does not allow this client the code flow',
  unsupported_grant_type: 'it does not offer the code flow',
  unsupported_response_type: 'it does not offer the code flow',
  OAUTH_KEY_SELECTION_FAILED: 'its ID token is signed with a key that it does not publish',
  OAUTH_PARSE_ERROR: NO_JSON,
  OAUTH_RESPONSE_IS_NOT_JSON: NO_JSON,
  OAUTH_TIMEOUT: 'it did not answer in time',
  OAUTH_WWW_AUTHENTICATE_CHALLENGE: SECRET_REFUSED,
  ResponseTooLargeError: 'its response is too large',
}

const DECLINED: readonly string[] = ['access_denied', 'login_required', 'interaction_required']

/** The issuer does not respond, not as an issuer should, or not to this service: no guess of anybody. */
const AWAY: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'server_error',
  'temporarily_unavailable',
  'TypeError',
  'AbortError',
  'ResponseTooLargeError',
  'TimeoutError',
  'OAUTH_TIMEOUT',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
])

function detailOf(kind: string, error: unknown): string {
  const { message, facts } = innermost(error)
  switch (kind) {
    case 'TypeError':
      return `it cannot be reached (${message})`
    case 'OAUTH_RESPONSE_IS_NOT_CONFORM':
      return `it answered with status ${Number(facts['status'])}`
    case 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED':
      return `it calls itself ${quoted(statedIssuer(error))}, and ${settings.oidcIssuer.env} is ${quoted(facts['expected'])}`
    case 'OAUTH_JWT_CLAIM_COMPARISON_FAILED':
      return CLAIMS[String(facts['claim'])] ?? message
    case 'OAUTH_JWT_TIMESTAMP_CHECK_FAILED':
      return timeProblem(facts)
    default:
  }
  const alg = objectOf(facts['header'])['alg'] ?? facts['alg']
  if (typeof alg === 'string' && / JWS algorithm|"alg"/.test(message)) {
    return `its ID token is signed with ${/^\w{1,20}$/.test(alg) ? alg : 'another algorithm'}: choose RS256 or ES256 for this client there`
  }
  // The library's own texts contain no values.
  return kind.startsWith('OAUTH_') ? `its response was refused: ${message}` : 'its response cannot be used'
}

const CLAIMS: Readonly<Record<string, string>> = {
  aud: 'its ID token is for another client',
  azp: 'its ID token is for another client',
  iss: 'its ID token names another issuer',
  nonce: 'its ID token is for another sign-in',
}

function timeProblem({ claim, claims, now }: Facts): string {
  const { iat } = objectOf(claims)
  const ahead = Math.round(Number(iat) - Number(now))
  if (Math.abs(ahead) > MAX_CLOCK_SECONDS) {
    return `its clock is ${Math.abs(ahead)} seconds ${ahead > 0 ? 'ahead of' : 'behind'} that of this service, which allows ${MAX_CLOCK_SECONDS}`
  }
  if (claim === 'auth_time') return 'it did not ask the person to sign in again'
  return claim === 'exp' ? 'its ID token has expired' : 'its ID token is not valid yet'
}

/** The tolerance of the library. */
const MAX_CLOCK_SECONDS = 30

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
