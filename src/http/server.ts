import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import { type Store, StoreUnavailable } from '../store/index.ts'
import { closing, constantHeaders, errorBody, errorHeaders, JSON_TYPE, makeRequestId, send } from './answers.ts'
import { type Exchange, makeApi, sendOptions } from './api.ts'
import { type Head, readHead } from './head.ts'
import { parseTarget } from './target.ts'
import { makeUses } from './uses.ts'

/** The service, listening. */
export interface Service {
  /** Where it listens, for people. */
  readonly url: string
  readonly port: number
  /** Answers what has arrived, then stops listening. The store stays open. */
  close(): Promise<void>
}

/** What the log needs to know of a failure that a caller sees only as a request id. */
export type OnFailure = (error: unknown, requestId: string | undefined) => void

type Settings = Pick<Config, 'host' | 'port' | 'publicUrl' | 'allowedHosts'>

/** Starts the service on an open store. Rejects when the address cannot be had. */
export async function startServer(store: Store, settings: Settings, onFailure: OnFailure): Promise<Service> {
  const uses = makeUses(store, error => onFailure(error, undefined))
  const api = makeApi({ store, uses, publicUrl: settings.publicUrl })
  const pages = import('./pages.ts').then(({ makePages }) => makePages({ store, onFailure }))
  // Looked at when a page is asked for.
  pages.catch(() => {})

  const handle = (request: IncomingMessage, response: ServerResponse) => {
    const requestId = makeRequestId()
    const { method = '' } = request
    let exchange: Exchange | undefined
    let head: Head | undefined
    const fail = (thrown: unknown) => {
      const error = seen(thrown)
      if (error.status >= 500) onFailure(thrown, requestId)
      if (response.headersSent) return void response.destroy()
      sendError(response, error, requestId, exchange, closing.has(error.code) || (head?.bodyAnnounced ?? false))
    }
    try {
      head = readHead(request)
      if (request.url === '*' && method === 'OPTIONS') {
        sendOptions(response, requestId, head.bodyAnnounced)
        return
      }
      const target = parseTarget(request.url ?? '', head.host)
      if (!isAllowed(head.host, settings.allowedHosts)) throw new ApiError('misdirected_request')
      if (head.bodyAnnounced && (method === 'GET' || method === 'HEAD')) throw new ApiError('body_not_allowed')
      if (head.expect !== undefined && head.expect.toLowerCase() !== '100-continue') {
        throw new ApiError('expectation_failed')
      }
      if (!isApi(target.segments?.[1] ?? target.path)) {
        request.url = target.path + (target.query === '' ? '' : `?${target.query}`)
        pages.then(open => open(request, response), fail)
        return
      }
      exchange = { response, method, head, target, requestId, now: Date.now() }
      api(exchange).catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  const server = createServer({
    // A target and headers of the greatest size are judged here, with an answer that says which was too large.
    maxHeaderSize: 32 * 1024,
    requireHostHeader: false,
    headersTimeout: 10_000,
    requestTimeout: 15_000,
    keepAliveTimeout: 5_000,
    connectionsCheckingInterval: 1_000,
  })
  server.maxHeadersCount = 0
  server.on('request', handle)
  // Nothing here reads a body, so none is ever invited.
  server.on('checkContinue', handle)
  server.on('checkExpectation', handle)
  server.on('clientError', answerBelow)

  await listen(server, settings)
  const { port } = server.address() as AddressInfo
  return {
    url: `http://${settings.host.includes(':') ? `[${settings.host}]` : settings.host}:${port}`,
    port,
    async close() {
      await new Promise<void>(resolve => {
        server.close(() => resolve())
        server.closeIdleConnections()
      })
      await uses.close()
    },
  }
}

function listen(server: Server, { host, port }: Settings): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, host, () => {
      server.off('error', reject)
      resolve()
    })
  })
}

function isApi(path: string): boolean {
  return path === 'api' || path === '/api' || path.startsWith('/api/')
}

function isAllowed(host: string | undefined, allowed: readonly string[]): boolean {
  if (allowed.length === 0 || host === undefined) return true
  return allowed.includes(host.replace(/:\d*$/, '').toLowerCase())
}

/** What a caller may see of a failure. */
function seen(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(error instanceof StoreUnavailable ? 'unavailable' : 'internal_error')
}

function sendError(
  response: ServerResponse,
  error: ApiError,
  requestId: string,
  exchange: Exchange | undefined,
  close: boolean,
) {
  const body = errorBody(error, requestId)
  const headers = headersOfError(error, requestId, body, exchange?.endpoint?.scope)
  if (close) headers.push('Connection', 'close')
  send(response, error.status, headers, body)
}

function headersOfError(error: ApiError, requestId: string, body: string, scope: string | undefined): string[] {
  return [
    'X-Request-Id',
    requestId,
    ...constantHeaders,
    'Content-Type',
    JSON_TYPE,
    'Content-Length',
    String(Buffer.byteLength(body)),
    ...errorHeaders(error, scope),
  ]
}

/** Answers what the parser refused, or what did not arrive in time, with the same body and headers as all else. */
function answerBelow(thrown: NodeJS.ErrnoException, socket: Socket) {
  if (!socket.writable || thrown.code === 'ECONNRESET') return void socket.destroy()
  const error = new ApiError(
    thrown.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? 'request_timeout'
      : thrown.code === 'HPE_HEADER_OVERFLOW'
        ? 'headers_too_large'
        : 'malformed_request',
  )
  const requestId = makeRequestId()
  const body = errorBody(error, requestId)
  const headers = headersOfError(error, requestId, body, undefined)
  let head = `HTTP/1.1 ${error.status} ${error.status === 408 ? 'Request Timeout' : 'Bad Request'}\r\n`
  for (let index = 0; index < headers.length; index += 2) head += `${headers[index]}: ${headers[index + 1]}\r\n`
  socket.end(`${head}Date: ${new Date().toUTCString()}\r\nConnection: close\r\n\r\n${body}`)
}
