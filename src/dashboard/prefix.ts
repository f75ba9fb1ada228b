import { raw } from 'hono/html'
import type { Html } from './html.ts'

/**
 * The path below which browsers see the service, as `/lockstep`; empty at the root of a host. Pages, redirects and scripts name paths
 * as they are routed, and the prefix comes before them where a page leaves the process. A process serves at one address, so it is
 * set once, before the first page.
 */
let prefix = ''

/** Takes the prefix from the public address; an empty one has none. */
export function servePagesBelow(publicUrl: string) {
  prefix = publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
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
