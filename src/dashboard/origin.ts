import type { IncomingMessage } from 'node:http'
import type { Config } from '../config.ts'
import { clientAddress } from '../accounts/addresses.ts'
import { FormError } from './form-errors.ts'
import type { PageContext } from './page-context.ts'

/** How the browser reaches the dashboard, which decides on cookies, forms and whether a password may be sent at all. */
export interface Reached {
  /** Scheme, host and port as the browser knows them. */
  readonly origin: string
  /** Where lines to copy begin. */
  readonly baseUrl: string
  /** Whether there is TLS between the browser and the service, or a proxy in front of it. */
  readonly secure: boolean
  /** Whether a password may travel: over TLS, within this machine, or where the settings allow it. */
  readonly maySignIn: boolean
  /** Whether browsers take it for safe, and so tell where a form comes from even without a referrer. */
  readonly trustworthy: boolean
}

export function reachedAt({ request, target }: PageContext, config: Config): Reached {
  const { publicUrl, insecureHttp, trustedProxies } = config
  const { host = 'localhost' } = target
  const baseUrl = publicUrl === '' ? `http://${host}` : publicUrl
  const { origin, protocol, hostname } = new URL(baseUrl)
  const secure = protocol === 'https:'
  // A peer on this machine may be a proxy that speaks for the whole world; the name it was asked for tells.
  const local = isLoopback(clientAddress(request, trustedProxies)) && isLoopbackName(hostname)
  return { origin, baseUrl, secure, maySignIn: secure || local || insecureHttp, trustworthy: secure || local }
}

/** Refuses a form that a page of another site sent. Throws FormError. */
export function checkSameOrigin({ headers }: IncomingMessage, { origin }: Reached) {
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
