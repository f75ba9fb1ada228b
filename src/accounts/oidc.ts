import type { Configuration, CustomFetch } from 'openid-client'
import { ResponseTooLargeError, checkJsonSize, readBody } from '../contract/received-json.ts'

/** Signing in at an OpenID Connect issuer: the code flow with PKCE, `state`, `nonce` and `iss`. */

export interface OidcSettings {
  readonly issuer: string
  readonly clientId: string
  /** Undefined for a public client. */
  readonly clientSecret: string | undefined
  /** Its name on pages. */
  readonly name: string
}

/** What must be kept while the browser is at the issuer. */
export interface OidcRequest {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  /** In seconds since 1970. */
  readonly startedAt: number
  /** Whether the issuer must ask the person to sign in, even if they are signed in there. */
  readonly asksAgain: boolean
}

/** Whom the issuer has identified. */
export interface OidcIdentity {
  readonly issuer: string
  readonly subject: string
  /** When it last asked the person to sign in; undefined if it does not say. */
  readonly authenticatedAt: number | undefined
}

export interface Oidc {
  readonly name: string
  readonly issuer: string
  /** The address at the issuer that the browser is sent to. Throws OidcError. */
  begin(redirectUri: string, options: { readonly asksAgain: boolean }): Promise<{ url: string; request: OidcRequest }>
  /** Whom the issuer has identified, by the address that it sent the browser back to. Throws OidcError. */
  finish(returned: URL, request: OidcRequest): Promise<OidcIdentity>
}

/** Nobody was identified: the issuer is unavailable (`away`), the person declined, or the response does not fit the request. */
export class OidcError extends Error {
  override readonly name = 'OidcError'
  readonly reason: 'away' | 'declined' | 'refused'

  /** Keeps only the kind of `cause`, which can contain the code or a token. */
  constructor(reason: OidcError['reason'], cause: unknown) {
    super(`the sign-in at the OIDC issuer was not completed: ${reason} (${kindOf(cause)})`)
    this.reason = reason
  }
}

export function makeOidc({ issuer, clientId, clientSecret, name }: OidcSettings): Oidc {
  let known: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined

  /** The configuration of the issuer. A failure is cached for a moment, so that not every click waits for an unavailable issuer. */
  const configurationOf = () => {
    if (known !== undefined && performance.now() < known.until) return known.configuration
    const configuration = discover({ issuer, clientId, clientSecret }).catch((error: unknown) => {
      known = { configuration, until: performance.now() + MAX_FAILURE_MS }
      throw new OidcError('away', error)
    })
    known = { configuration, until: performance.now() + MAX_CONFIGURATION_MS }
    return configuration
  }

  return {
    name,
    issuer,
    async begin(redirectUri, { asksAgain }) {
      const configuration = await configurationOf()
      const client = await loadClient()
      const request: OidcRequest = {
        state: client.randomState(),
        nonce: client.randomNonce(),
        verifier: client.randomPKCECodeVerifier(),
        startedAt: Math.floor(Date.now() / 1000),
        asksAgain,
      }
      const url = client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: 'openid',
        state: request.state,
        nonce: request.nonce,
        code_challenge: await client.calculatePKCECodeChallenge(request.verifier),
        code_challenge_method: 'S256',
        // With any value, the issuer returns when it last asked the person to sign in.
        max_age: String(asksAgain ? 0 : MAX_AGE_SECONDS),
      })
      return { url: url.href, request }
    },
    async finish(returned, { state, nonce, verifier, startedAt, asksAgain }) {
      const configuration = await configurationOf()
      const client = await loadClient()
      const elapsed = Math.max(0, Math.floor(Date.now() / 1000) - startedAt)
      const tokens = await client
        .authorizationCodeGrant(configuration, returned, {
          expectedState: state,
          expectedNonce: nonce,
          pkceCodeVerifier: verifier,
          // The issuer must have asked since the request began.
          ...(asksAgain ? { maxAge: elapsed } : {}),
        })
        .catch((error: unknown) => {
          throw new OidcError(reasonOf(error), error)
        })
      const claims = tokens.claims()
      if (claims === undefined) throw new OidcError('refused', undefined)
      const { sub, auth_time: seconds } = claims
      // As the settings spell it, with or without a slash at its end; the library has compared it with what the issuer says.
      return { issuer, subject: sub, authenticatedAt: typeof seconds === 'number' ? seconds * 1000 : undefined }
    },
  }
}

const MAX_CONFIGURATION_MS = 3_600_000
const MAX_FAILURE_MS = 2000
/** Less than the five seconds within which a page must respond. */
const REQUEST_TIMEOUT_SECONDS = 4
const MAX_AGE_SECONDS = 7 * 86_400

async function discover({ issuer, clientId, clientSecret }: Omit<OidcSettings, 'name'>): Promise<Configuration> {
  const client = await loadClient()
  const address = new URL(issuer)
  const execute = [
    client.enableNonRepudiationChecks,
    // oxlint-disable-next-line typescript/no-deprecated -- Settings allow it for an issuer on this machine.
    ...(address.protocol === 'http:' ? [client.allowInsecureRequests] : []),
  ]
  const options = { execute, timeout: REQUEST_TIMEOUT_SECONDS, [client.customFetch]: boundedFetch }
  if (clientSecret === undefined) return client.discovery(address, clientId, undefined, client.None(), options)
  const found = await client.discovery(address, clientId, undefined, client.ClientSecretBasic(clientSecret), options)
  const methods = found.serverMetadata().token_endpoint_auth_methods_supported ?? ['client_secret_basic']
  if (methods.includes('client_secret_basic')) return found
  return client.discovery(address, clientId, undefined, client.ClientSecretPost(clientSecret), options)
}

/** Far more than the keys and the metadata of an issuer take. */
const MAX_BODY_MIB = 1

/** Throws ResponseTooLargeError. */
const boundedFetch: CustomFetch = async (url, options) => {
  // The two types differ only in how they say that a field is absent.
  const response = await fetch(url, options as RequestInit)
  const body = await readBody(response, MAX_BODY_MIB)
  checkJsonSize(body)
  const { status, headers } = response
  return new Response(body === '' ? null : body, { status, headers })
}

/** Loaded when somebody first signs in at the issuer. */
function loadClient() {
  return import('openid-client')
}

function reasonOf(error: unknown): OidcError['reason'] {
  const kind = kindOf(error)
  if (kind === 'access_denied' || kind === 'login_required' || kind === 'interaction_required') return 'declined'
  return AWAY.has(kind) ? 'away' : 'refused'
}

/** The code of an error, which is one of a few words, or else its name. */
function kindOf(error: unknown): string {
  if (!(error instanceof Error)) return 'none'
  if (error.cause instanceof ResponseTooLargeError) return error.cause.name
  if ('error' in error && typeof error.error === 'string' && /^[a-z_]{1,40}$/.test(error.error)) return error.error
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name
}

/** The issuer does not respond, or not as an issuer should. */
const AWAY: ReadonlySet<string> = new Set([
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
])
