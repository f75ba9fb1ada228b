import { lookup as lookUp } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction, BlockList, isIPv4 } from 'node:net'
import { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import ipaddr from 'ipaddr.js'
import { type Config, settings } from '../config.ts'
import { isLoopbackHost, isPrivateAddress } from '../contract/address.ts'
import { CERTIFICATE_ERROR, type Send, SourceError, UnreachableError } from './source.ts'
import { networkInterfaces } from 'node:os'

/**
 * Requests to addresses that somebody typed into a page. They must not lead to what only this machine can reach, and must not
 * tell what is there. The proxies that the environment names are not used: they would connect to any address.
 */

interface Guard {
  /** Whether a connection to an address may be made. */
  readonly isAllowed: (address: string) => boolean
  readonly resolve: (name: string) => Promise<LookupAddress[]>
  /** How long a connection may take, and how long one that fails takes. */
  readonly connectMs: number
}

/**
 * Sends requests to the origins of the setting, without TLS in private networks only, and to https origins whose every address is
 * public. Rejects with a SourceError, before anything is sent, if the URL is none of these.
 */
export function makeGuardedFetch(
  { sourceOrigins }: Pick<Config, 'sourceOrigins'>,
  {
    isAllowed = address => isPublic(address) && !isOwn(address),
    resolve = name => lookUp(name, { all: true }),
    connectMs = CONNECT_MS,
  }: Partial<Guard> = {},
): Send {
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
  return async (text, { headers, signal }) => {
    const url = new URL(text)
    const isListed = sourceOrigins.includes(url.origin)
    const problem = isListed ? undefined : problemOf(url)
    if (problem !== undefined) throw new SourceError(`${url.origin} ${problem}`)
    const isPlain = url.protocol === 'http:'
    const guard: Guard = {
      isAllowed: isListed ? (isPlain ? isPrivateAddress : () => true) : isAllowed,
      resolve,
      connectMs,
    }
    const options: RequestOptions = {
      agent: isPlain ? agents.http : agents.https,
      headers: Object.fromEntries(new Headers(headers)),
      ...(signal ? { signal } : {}),
    }
    const response = await sendRequest(url, options, guard)
    // A response of a server always has a status.
    const { statusCode: status = 0 } = response
    const received = new Headers()
    for (const name of ['content-type', 'retry-after'] as const) {
      const value = response.headers[name]
      if (value !== undefined) received.set(name, value)
    }
    if (status >= 200 && status < 600 && !BODYLESS.has(status)) {
      // The types of Node and of browsers differ.
      const body = Readable.toWeb(response) as unknown as BodyInit
      return new Response(body, { status, headers: received })
    }
    response.resume()
    return new Response(null, { status: BODYLESS.has(status) ? status : 502 })
  }
}

const CONNECT_MS = 10_000

const BODYLESS: ReadonlySet<number> = new Set([204, 205, 304])

/** Why no request is sent to this URL, as far as that can be told without the network. */
function problemOf({ protocol, hostname, origin }: URL) {
  const literal = literalOf(hostname)
  const isPrivate = isLoopbackHost(hostname) || (literal !== undefined && !isPublic(literal))
  if (protocol === 'https:' && !isPrivate) return undefined
  const what = protocol === 'https:' ? 'is not a public address' : 'is not an https address'
  return `${what}: the operator can list it with ${settings.sourceOrigins.env}=${origin}`
}

/** The IP address that a host is; undefined for a name. */
function literalOf(hostname: string): string | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 ? undefined : address
}

/**
 * The response to a request. Every failure to send it reads the same and takes the same time, except that of a certificate:
 * otherwise whoever asks could find out which names and ports there are in the network of this machine.
 */
async function sendRequest(url: URL, options: RequestOptions, guard: Guard): Promise<IncomingMessage> {
  const connected = new AbortController()
  const floor = sleep(guard.connectMs, true, { signal: connected.signal }).catch(() => false)
  try {
    return await new Promise<IncomingMessage>((resolve, reject) => {
      const literal = literalOf(url.hostname)
      // A literal is never looked up.
      if (literal !== undefined && !guard.isAllowed(literal)) throw new Error('not allowed')
      const send = url.protocol === 'http:' ? requestHttp : requestHttps
      const request = send(url, { ...options, lookup: lookupOf(guard), ...VERIFIED })
      request.on('response', resolve).on('error', reject)
      request.on('socket', socket => {
        // It is connected, and would keep a listener for each request.
        if (request.reusedSocket) connected.abort()
        else socket.once(url.protocol === 'http:' ? 'connect' : 'secureConnect', () => connected.abort())
      })
      void floor.then(isOver => {
        if (isOver) request.destroy(new Error('no connection in time'))
      })
      request.end()
    })
  } catch (error) {
    options.signal?.throwIfAborted()
    const isCertificate = error instanceof Error && 'code' in error && CERTIFICATE_ERROR.test(String(error.code))
    if (connected.signal.aborted || isCertificate) throw new Error('the request failed', { cause: error })
    await floor
    throw new UnreachableError('no connection', { cause: error })
  } finally {
    connected.abort()
  }
}

/** Whatever the environment of the process says. */
const VERIFIED = { rejectUnauthorized: true }

/** Checks all addresses of a name. The connection is made to one of them, so a second answer of the name server changes nothing. */
function lookupOf({ isAllowed, resolve }: Guard): LookupFunction {
  return (name, options, callback) => {
    const check = (addresses: LookupAddress[]) => {
      const [first] = addresses
      if (first === undefined || !addresses.every(({ address }) => isAllowed(address))) {
        callback(new Error('not allowed'), '')
      } else if (options.all === true) callback(null, addresses)
      else callback(null, first.address, first.family)
    }
    resolve(name).then(check, (error: unknown) => callback(error instanceof Error ? error : new Error('unknown'), ''))
  }
}

/**
 * Whether an address is one of the public internet, by the registries of IANA for special purposes. What is not known to be public
 * is not, and neither is a form of IPv6 that leads to another address.
 */
function isPublic(text: string): boolean {
  const address = ipaddr.parse(text)
  // Translations of public IPv4 addresses are public: in networks without IPv4, names of other servers have only these.
  if (address.kind() === 'ipv6' && isIn(address, NAT64)) return isPublic(address.toByteArray().slice(-4).join('.'))
  if (address.range() !== 'unicast') return false
  return address.kind() === 'ipv6' ? isIn(address, GLOBAL_IPV6) && !isIn(address, DOCUMENTATION) : !isIn(address, CLOUD)
}

function isIn(address: ipaddr.IPv4 | ipaddr.IPv6, network: string): boolean {
  return address.match(ipaddr.parseCIDR(network))
}

const NAT64 = '64:ff9b::/96'
/** Of other IPv6 only these are public. */
const GLOBAL_IPV6 = '2000::/3'
const DOCUMENTATION = '3fff::/20'
/** The platform of a cloud, at a public address. */
const CLOUD = '168.63.129.16/32'

/** Whether an address is one of this machine, which may be public. */
function isOwn(address: string): boolean {
  const own = new BlockList()
  for (const known of Object.values(networkInterfaces()).flatMap(addresses => addresses ?? [])) {
    own.addAddress(known.address, known.family === 'IPv4' ? 'ipv4' : 'ipv6')
  }
  return own.check(address, isIPv4(address) ? 'ipv4' : 'ipv6')
}
