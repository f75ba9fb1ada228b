import { ResponseTooLargeError } from '../contract/received-json.ts'
import { settings } from '../config.ts'

/** Why a sign-in at an OpenID Connect issuer failed, in words for its people and for the log. */

/** Nobody was identified: the issuer cannot be used (`away`), the person declined, or the response does not fit the request. */
export class OidcError extends Error {
  override readonly name = 'OidcError'
  readonly reason: 'away' | 'declined' | 'refused'
  /** A clause whose subject is the issuer. */
  readonly why: string

  /** Keeps no part of `cause` that can contain the code or a token. `isAway`: whatever it is, it is no guess of anybody. */
  constructor(cause: unknown, isAway = false) {
    const type = typeOf(cause)
    const why = whyOf(type, cause)
    super(`the sign-in at the OIDC issuer was not completed: ${why} (${type})`)
    this.reason = DECLINED.has(type) ? 'declined' : isAway || AWAY.has(type) ? 'away' : 'refused'
    this.why = why
  }
}

/** What an issuer calls itself, if that is not what the settings call it. */
export function statedIssuer(error: unknown): unknown {
  return objectOf(innermost(error).facts['body'])['issuer']
}

/** The code of an error, which is one of a few words, or else its name. */
function typeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'none'
  if (error.cause instanceof ResponseTooLargeError) return error.cause.name
  // It can come from the address that the browser was sent back to.
  if ('error' in error) return [...DECLINED, ...AWAY].find(known => known === error.error) ?? 'other'
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

const DECLINED: ReadonlySet<string> = new Set(['access_denied', 'interaction_required', 'login_required'])

const SECRET_REFUSED = ['invalid_client', 'OAUTH_WWW_AUTHENTICATE_CHALLENGE']

/** The issuer does not respond, not as an issuer should, or not to this service. */
const AWAY: ReadonlySet<string> = new Set([
  ...SECRET_REFUSED,
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'AbortError',
  'OAUTH_PARSE_ERROR',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_TIMEOUT',
  'ResponseTooLargeError',
  'TimeoutError',
  'TypeError',
])

function whyOf(type: string, error: unknown): string {
  const { message, facts } = innermost(error)
  if (SECRET_REFUSED.includes(type)) {
    return `it accepts neither the client id with this secret nor, perhaps, the way in which the secret is sent (${settings.oidcAuth.env})`
  }
  if (type === 'TypeError') return `it cannot be reached (${message})`
  if (type === 'ResponseTooLargeError') return 'its response is too large'
  if (type === 'OAUTH_JSON_ATTRIBUTE_COMPARISON_FAILED') {
    return `it calls itself ${quoted(statedIssuer(error))}, and ${settings.oidcIssuer.env} is ${quoted(facts['expected'])}`
  }
  // The library's own texts contain no values.
  return type.startsWith('OAUTH_') ? `its response was refused: ${message}` : 'it sent an error or no ID token'
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
