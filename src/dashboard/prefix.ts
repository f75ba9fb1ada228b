import { hash } from 'node:crypto'
import { raw } from 'hono/html'
import { publicPath } from '../config.ts'
import type { Html } from './html.ts'

/**
 * The path below which browsers see the service, as `/lockstep`; empty at the root of a host. Pages, redirects and scripts name paths
 * as they are routed, and the prefix comes before them where a page leaves the process. A process serves at one address, so it is
 * set once, before the first page.
 */
let prefix = ''
let suffix = ''

/** Takes the prefix from the public address; an empty one has none. */
export function servePagesBelow(publicUrl: string) {
  prefix = publicPath(publicUrl)
  suffix = prefix === '' ? '' : `-${hash('sha256', prefix).slice(0, 8)}`
}

/** Whether other programs may be on the same host. */
export function sharesHost(): boolean {
  return prefix !== ''
}

/** The end of the names of cookies, because browsers send each other program on the host the same ones. */
export function cookieSuffix(): string {
  return suffix
}

/** The address of a path of the service for a browser. Addresses of other services stay as they are. */
export function addressOfPath(path: string): string {
  return isPath(path) ? `${prefix}${path}` : path
}

/** A document in which each path of the service has the prefix. Text and values are escaped, so only attributes have this form. */
export function withPrefix(document: Html): Html {
  if (prefix === '') return document
  return raw(document.toString().replaceAll(PATHS, `$1${prefix}/`))
}

/** `data-root` tells it to scripts. */
const PATHS = /( (?:href|action|formaction|src|data-root)=")\/(?!\/)/g

function isPath(address: string): boolean {
  return address.startsWith('/') && !address.startsWith('//')
}
