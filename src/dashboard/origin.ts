import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import type { Config } from '../config.ts'
import { isLoopbackAddress } from '../contract/loopback.ts'
import { clientAddress, isLoopbackName } from '../http/addresses.ts'
import { ApiError } from '../contract/errors.ts'
import type { RequestContext } from '../http/context.ts'
import { FormError } from './layout/form-errors.ts'

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

/** Throws malformed_request for a Host header that names no host. */
export function siteOriginOf({ request }: Pick<RequestContext, 'request'>, config: Config): SiteOrigin {
  const { publicUrl, insecureHttp, trustedProxies } = config
  // HTTP/1.0 need not send one.
  const { host = 'localhost' } = request.headers
  const sent = HOST.test(host) ? URL.parse(`http://${host}`) : null
  if (sent === null) throw new ApiError('malformed_request')
  const baseUrl = publicUrl === '' ? sent.origin : publicUrl
  const { origin, hostname } = publicUrl === '' ? sent : new URL(publicUrl)
  const secure = origin.startsWith('https:')
  // A peer on this machine may be a proxy for remote clients, so the host name must be local too.
  const isOwnPeer = isLoopbackAddress(clientAddress(request, trustedProxies))
  // The peer of a container is a gateway. If the public address is on this machine, nobody elsewhere has another one to come from.
  const isPublishedHere = publicUrl !== '' && isLoopbackName(sent.hostname)
  const local = isLoopbackName(hostname) && (isOwnPeer || isPublishedHere)
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

const HOST = /^[^\s/?#@\\]+$/

/** Refuses a form that a page of another site sent. Throws FormError. */
export function checkSameOrigin({ headers }: IncomingMessage, { origin }: SiteOrigin) {
  const site = headers['sec-fetch-site']
  if (site === undefined ? headers.origin !== origin : site !== 'same-origin') {
    throw new FormError('cross_site_request')
  }
}

/** Refuses a file that a page of another site, or of another host of this site, leads to. Throws FormError. */
export function checkDownloadOrigin(request: IncomingMessage) {
  if (isFromAnotherSite(request)) throw new FormError('cross_site_download')
}

/** Whether a page of another site made the request. Typed addresses come from nowhere; without TLS browsers do not say where from. */
export function isFromAnotherSite({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return !['same-origin', 'none'].includes(headers['sec-fetch-site'] ?? 'none')
}

/** A path of this service to redirect to; the overview for anything that could lead to another site. */
export function safePath(path: string | null | undefined): string {
  return path != null && /^\/(?![/\\])[A-Za-z0-9/?&=%+:,._~-]*$/.test(path) ? path : '/'
}
