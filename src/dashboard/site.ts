import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { hash } from 'node:crypto'
import { raw } from 'hono/html'
import { type Config, publicPath } from '../config.ts'
import { isLoopbackAddress } from '../contract/address.ts'
import { clientAddress, isLoopbackName } from '../http/addresses.ts'
import { ApiError, HttpError } from '../contract/errors.ts'
import type { RequestContext } from '../http/log.ts'
import type { Html } from './html.ts'

/** How browsers see this service: its address, the path below which it is, cookies, and the headers of pages. */

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
  const isOwnPeer = () => isLoopbackAddress(clientAddress(request, trustedProxies))
  // The peer of a container is a gateway. If the public address is on this machine, nobody elsewhere has another one to come from.
  const isPublishedHere = () => publicUrl !== '' && isLoopbackName(sent.hostname)
  const trustworthy = secure || (isLoopbackName(hostname) && (isOwnPeer() || isPublishedHere()))
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

/** Refuses a form that a page of another site sent. Throws HttpError. */
export function checkSameOrigin({ headers }: IncomingMessage, { origin }: SiteOrigin) {
  const site = headers['sec-fetch-site']
  if (site === undefined ? headers.origin !== origin : site !== 'same-origin') {
    const text = 'This form was not sent from a page of this service. Open the page and try again'
    throw new HttpError('cross_site_request', 403, text)
  }
}

/** Refuses a file that a page of another site, or of another host of this site, leads to. Throws HttpError. */
export function checkDownloadOrigin(request: IncomingMessage) {
  const text = 'This download was started by another site, and nothing was sent. Start it from a page of this service'
  if (isFromAnotherSite(request)) throw new HttpError('cross_site_download', 403, text)
}

/** Whether a page of another site made the request. Typed addresses come from nowhere; without TLS browsers do not say where from. */
export function isFromAnotherSite({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  return !['same-origin', 'none'].includes(headers['sec-fetch-site'] ?? 'none')
}

/** A path of this service to redirect to; the overview for anything that could lead to another site. */
export function safePath(path: string | null | undefined): string {
  return path != null && /^\/(?![/\\])[A-Za-z0-9/?&=%+:,._~-]*$/.test(path) ? path : '/'
}

/**
 * The path below which browsers see the service, as `/lockstep`; empty at the root of a host. Pages, redirects and scripts name paths
 * as they are routed, and the prefix comes before them where a page leaves the process. A process serves at one address, so it is
 * set once, before the first page.
 */
let prefix = ''
/** The end of the names of cookies, because browsers send each other program on the host the same ones. */
let suffix = ''

/** Takes the prefix from the public address; an empty one has none. */
export function servePagesBelow(publicUrl: string) {
  prefix = publicPath(publicUrl)
  suffix = prefix === '' ? '' : `-${hash('sha256', prefix).slice(0, 8)}`
}

/** The address of a path of the service for a browser. Addresses of other services stay as they are. */
export function addressOfPath(path: string): string {
  return path.startsWith('/') && !path.startsWith('//') ? `${prefix}${path}` : path
}

/** A document in which each path of the service has the prefix. Text and values are escaped, so only attributes have this form. */
export function withPrefix(document: Html): Html {
  if (prefix === '') return document
  return raw(document.toString().replaceAll(PATHS, `$1${prefix}/`))
}

/** `data-root` tells it to scripts. */
const PATHS = /( (?:href|action|formaction|src|data-root)=")\/(?!\/)/g

/** The cookies of a request by name. If one is sent twice, the first counts, as it has the more specific path. */
export function parseCookies(header: string | undefined): Map<string, string> {
  const cookies = new Map<string, string>()
  for (const pair of header?.split(';') ?? []) {
    const mark = pair.indexOf('=')
    const name = pair.slice(0, Math.max(0, mark)).trim()
    if (name !== '' && !cookies.has(name)) cookies.set(name, pair.slice(mark + 1).trim())
  }
  return cookies
}

/** Over TLS all names have a prefix, with which browsers take a cookie from this host alone, for all paths, and never without TLS. */
const PREFIX = '__Host-'

function cookieName(name: string, { secure }: Pick<CookieOptions, 'secure'>): string {
  return `${secure ? PREFIX : ''}${name}${suffix}`
}

/** The value of a cookie that `cookie` made for the same site. */
export function cookieValue(
  cookies: ReadonlyMap<string, string>,
  name: string,
  site: Pick<CookieOptions, 'secure'>,
): string | undefined {
  return cookies.get(cookieName(name, site))
}

/** The value of a cookie of either form. For what others may as well set: how pages look. */
export function displayValue(cookies: ReadonlyMap<string, string>, name: string): string | undefined {
  return cookieValue(cookies, name, { secure: true }) ?? cookieValue(cookies, name, { secure: false })
}

export interface CookieOptions {
  /** Seconds; 0 deletes it. */
  readonly maxAge: number
  readonly secure: boolean
}

/** A `Set-Cookie` value for a cookie that scripts cannot read and other sites cannot send with a form. */
export function cookie(name: string, value: string, { maxAge, secure }: CookieOptions): string {
  return `${cookieName(name, { secure })}=${value}; Path=/; Max-Age=${maxAge}; HttpOnly; SameSite=Lax${secure ? '; Secure' : ''}`
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** The headers that every page has besides those of all responses. */
export const PAGE_HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
  'Content-Security-Policy': POLICY,
}

/**
 * Lets the browser remove what it stored of this site, unless other programs are on the same host: they would lose theirs. Not
 * "cookies": theme and discreet mode belong to the browser, whoever uses it next.
 */
export function clearSiteData(): Record<string, string> {
  return prefix !== '' ? {} : { 'Clear-Site-Data': '"cache", "storage"' }
}
