import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { clientAddress } from '../accounts/addresses.ts'
import { FormError } from './form-errors.ts'
import type { PageContext } from './page-context.ts'

/** The address at which the browser sees the dashboard. Cookies, form checks and sign-in depend on it. */
export interface SiteOrigin {
  /** Scheme, host and port as the browser knows them. */
  readonly origin: string
  /** The start of addresses in commands to copy. */
  readonly baseUrl: string
  /** Whether there is TLS between the browser and the service, or a proxy in front of it. */
  readonly secure: boolean
  /** Whether a password may be sent: over TLS, within this machine, or if the settings allow it. */
  readonly maySignIn: boolean
  /** Whether browsers treat it as a secure context, and so send Sec-Fetch-Site with forms. */
  readonly trustworthy: boolean
  /** The host that passkeys belong to; undefined where browsers do not allow passkeys. */
  readonly rpId: string | undefined
}

export function siteOriginOf({ request, target }: PageContext, config: Config): SiteOrigin {
  const { publicUrl, insecureHttp, trustedProxies } = config
  const { host = 'localhost' } = target
  const baseUrl = publicUrl === '' ? `http://${host}` : publicUrl
  const { origin, protocol, hostname } = new URL(baseUrl)
  const secure = protocol === 'https:'
  // A peer on this machine may be a proxy for remote clients, so the host name must be local too.
  const local = isLoopback(clientAddress(request, trustedProxies)) && isLoopbackName(hostname)
  const trustworthy = secure || local
  const isAddress = isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0
  return {
    origin,
    baseUrl,
    secure,
    maySignIn: trustworthy || insecureHttp,
    trustworthy,
    rpId: trustworthy && !isAddress ? hostname : undefined,
  }
}

/** Refuses a form that a page of another site sent. Throws FormError. */
export function checkSameOrigin({ headers }: IncomingMessage, { origin }: SiteOrigin) {
  const site = headers['sec-fetch-site']
  if (site === undefined ? headers.origin !== origin : site !== 'same-origin') {
    throw new FormError('cross_site_request')
  }
}

function isLoopback(address: string): boolean {
  return address === '::1' || address.startsWith('127.')
}

function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost') || name === '[::1]' || /^127(\.\d+){3}$/.test(name)
}
