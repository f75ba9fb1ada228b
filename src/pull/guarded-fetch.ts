import { lookup as lookUp } from 'node:dns/promises'
import type { LookupAddress } from 'node:dns'
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp, type RequestOptions } from 'node:http'
import { Agent as HttpsAgent, request as requestHttps } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { pipeline, type Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { type Config, settings } from '../config.ts'
import { isBlockedPort } from '../contract/address.ts'
import { isLoopbackAddress, isLoopbackHost } from '../contract/loopback.ts'
import { isOwn, isPublic } from './public-addresses.ts'
import { CERTIFICATE_ERROR, type Send, SourceError, UnreachableError } from './source.ts'

/**
 * Requests to addresses that somebody typed into a page. They must not lead to what only this machine can reach, and must not
 * tell what is there. The proxies that the environment names are not used: they would connect to any address.
 */

interface Guard {
  /** Whether a connection to an address may be made. */
  readonly isAllowed: (address: string) => boolean
  /** All addresses of a name. */
  readonly resolve: (name: string) => Promise<LookupAddress[]>
  /** How long a connection may take, and how long one that fails takes. */
  readonly connectMs: number
}

/**
 * Sends requests to the origins of the setting; without it, to https origins whose every address is public. Rejects with a
 * SourceError, before anything is sent, if the URL is none of these.
 */
export function makeGuardedFetch(
  { sourceOrigins }: Pick<Config, 'sourceOrigins'>,
  { isAllowed = isForeign, resolve = resolveAll, connectMs = CONNECT_MS }: Partial<Guard> = {},
): Send {
  const isListed = sourceOrigins.length > 0
  const agents = { http: new HttpAgent({ keepAlive: true }), https: new HttpsAgent({ keepAlive: true }) }
  return async (text, { headers, signal }) => {
    const url = new URL(text)
    const problem = problemOf(url, sourceOrigins)
    if (problem !== undefined) throw new SourceError(`${url.origin} ${problem}`)
    const isPlain = url.protocol === 'http:'
    const guard: Guard = {
      isAllowed: isPlain ? isLoopbackAddress : isListed ? () => true : isAllowed,
      resolve,
      connectMs,
    }
    const options: RequestOptions = {
      agent: isPlain ? agents.http : agents.https,
      headers: { ...headers, 'Accept-Encoding': 'gzip' },
      signal,
    }
    const response = await connect(url, options, guard)
    return {
      // A response of a server always has a status.
      status: response.statusCode ?? 0,
      headers: { get: name => response.headers[name.toLowerCase()]?.toString() ?? null },
      body: read(response, signal),
    }
  }
}

const CONNECT_MS = 10_000

/** Why no request is sent to this URL, as far as that can be told without the network. */
function problemOf({ protocol, hostname, origin, port, username, password }: URL, origins: readonly string[]) {
  if (username !== '' || password !== '') return 'must not be used with a username or a password'
  if (origins.length > 0) {
    return origins.includes(origin) ? undefined : `is not in ${settings.sourceOrigins.env}, so nothing is read there`
  }
  if (protocol !== 'https:') return 'is not an https address'
  if (isBlockedPort(port)) return 'has a port that is blocked for HTTP: use another one'
  const literal = literalOf(hostname)
  if (isLoopbackHost(hostname) || (literal !== undefined && !isPublic(literal))) {
    return `is not a public address: the operator can allow it with ${settings.sourceOrigins.env}`
  }
  return undefined
}

/** The IP address that a host is; undefined for a name. */
function literalOf(hostname: string): string | undefined {
  const address = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(address) === 0 ? undefined : address
}

function isForeign(address: string): boolean {
  return isPublic(address) && !isOwn(address)
}

function resolveAll(name: string): Promise<LookupAddress[]> {
  return lookUp(name, { all: true })
}

/**
 * The response to a request. Every failure to send it reads the same and takes the same time, except that of a certificate:
 * otherwise whoever asks could find out which names and ports there are in the network of this machine.
 */
async function connect(url: URL, options: RequestOptions, guard: Guard): Promise<IncomingMessage> {
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

async function* read(response: IncomingMessage, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  const isGzip = response.headers['content-encoding'] === 'gzip'
  const body: Readable = isGzip ? pipeline(response, createGunzip(), () => {}) : response
  try {
    // Without an encoding a stream has buffers.
    for await (const chunk of body) yield chunk as Uint8Array
  } catch (error) {
    signal.throwIfAborted()
    throw error
  }
}
