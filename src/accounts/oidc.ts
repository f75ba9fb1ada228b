import type { ClientAuth, Configuration, CustomFetch } from 'openid-client'
import { type Config, settings } from '../config.ts'
import { checkJsonSize, readBody } from '../contract/received-json.ts'
import { Refusal, renamed } from '../contract/refusal.ts'
import type { Identity } from './identities.ts'
import { OidcError, statedIssuer } from './oidc-errors.ts'
import { readSecretFile } from './secret-files.ts'

/** Signing in at an OpenID Connect issuer: the code flow with PKCE, `state`, `nonce` and `iss`. */

export type OidcSettings = NonNullable<ReturnType<typeof readOidcSettings>>

/** The issuer of the settings; undefined if there is none. Throws Refusal if something is missing. */
export function readOidcSettings({ oidcIssuer: issuer, oidcClientId: clientId, ...config }: Config) {
  if (issuer === '') return undefined
  if (clientId === '')
    throw new Refusal('usage', `${settings.oidcClientId.env} must be set with ${settings.oidcIssuer.env}`)
  const file = config.oidcClientSecretFile
  // A public client has none.
  const clientSecret = file === '' ? undefined : readClientSecret(file)
  return { issuer, clientId, clientSecret, auth: config.oidcAuth, name: config.oidcName }
}

function readClientSecret(file: string): string {
  const { env } = settings.oidcClientSecretFile
  const secret = renamed(`${env}:`, ['refused', 'usage'], () => readSecretFile(file).trim())
  if (secret === '') throw new Refusal('usage', `${env}: ${file} is empty`)
  return secret
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

export type Oidc = ReturnType<typeof makeOidc>

/** Why nobody can sign in at the issuer now: it does not respond, or calls itself otherwise; undefined if neither. */
export async function issuerProblem(issuer: OidcSettings): Promise<string | undefined> {
  try {
    await discover(issuer)
    return undefined
  } catch (error) {
    if (error instanceof OidcError) return error.why
    throw error
  }
}

export function makeOidc(provider: OidcSettings) {
  const { issuer, name } = provider
  let known: { readonly configuration: Promise<Configuration>; readonly until: number } | undefined

  /** The configuration of the issuer. A failure is cached for a moment, so that not every click waits for an unavailable issuer. */
  const configurationOf = () => {
    if (known !== undefined && performance.now() < known.until) return known.configuration
    const configuration = discover(provider).catch((error: unknown) => {
      known = { configuration, until: performance.now() + MAX_FAILURE_MS }
      throw error
    })
    known = { configuration, until: performance.now() + MAX_CONFIGURATION_MS }
    return configuration
  }

  return {
    name,
    issuer,
    /** The address at the issuer that the browser is sent to. Throws OidcError. */
    async begin(redirectUri: string, { asksAgain }: { readonly asksAgain: boolean }) {
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
    /** Whom the issuer has identified, by the address that it sent the browser back to. Throws OidcError. */
    async finish(returned: URL, { state, nonce, verifier, startedAt, asksAgain }: OidcRequest): Promise<Identity> {
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
          throw new OidcError(error)
        })
      const claims = tokens.claims()
      if (claims === undefined) throw new OidcError(undefined)
      const { sub, auth_time: seconds } = claims
      // The library has compared it with what the issuer says.
      return { issuer, subject: sub, authenticatedAt: typeof seconds === 'number' ? seconds * 1000 : undefined }
    },
  }
}

const MAX_CONFIGURATION_MS = 3_600_000
const MAX_FAILURE_MS = 2000
/** Less than the five seconds within which a page must respond. */
const REQUEST_TIMEOUT_SECONDS = 4
const MAX_AGE_SECONDS = 7 * 86_400

/** Throws OidcError. */
async function discover(provider: OidcSettings): Promise<Configuration> {
  const { issuer } = provider
  try {
    return await discoverAt(new URL(issuer), provider)
  } catch (error) {
    if (statedIssuer(error) !== `${issuer}/`) throw new OidcError(error, true)
    return discoverAt(new URL(`${issuer}/`), provider).catch((again: unknown) => {
      throw new OidcError(again, true)
    })
  }
}

async function discoverAt(address: URL, { clientId, clientSecret, auth }: OidcSettings): Promise<Configuration> {
  const client = await loadClient()
  const execute = [
    client.enableNonRepudiationChecks,
    // oxlint-disable-next-line typescript/no-deprecated -- Settings allow it for an issuer on this machine.
    ...(address.protocol === 'http:' ? [client.allowInsecureRequests] : []),
  ]
  const options = { execute, timeout: REQUEST_TIMEOUT_SECONDS, [client.customFetch]: boundedFetch }
  if (clientSecret === undefined) return client.discovery(address, clientId, undefined, client.None(), options)
  const ways = { basic: client.ClientSecretBasic(clientSecret), post: client.ClientSecretPost(clientSecret) }
  const sendSecret: ClientAuth = (server, ...request) => {
    const offered = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    ways[auth ?? (offered.includes('client_secret_basic') ? 'basic' : 'post')](server, ...request)
  }
  return client.discovery(address, clientId, undefined, sendSecret, options)
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
