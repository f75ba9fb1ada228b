import type { ServerResponse } from 'node:http'
import { randomBytes } from 'node:crypto'
import type { ApiError } from '../contract/errors.ts'

/** Headers of every answer of the API, as name and value in turn. */
export const constantHeaders = [
  'Cache-Control',
  'no-store',
  'X-Content-Type-Options',
  'nosniff',
  'Referrer-Policy',
  'no-referrer',
  'Cross-Origin-Resource-Policy',
  'same-origin',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
] as const

export const JSON_TYPE = 'application/json; charset=utf-8'

/** 16 characters that nobody can guess and no two requests share. */
export function makeRequestId(): string {
  if (used === pool.length) {
    pool = randomBytes(pool.length)
    used = 0
  }
  used += REQUEST_ID_BYTES
  return pool.toString('base64url', used - REQUEST_ID_BYTES, used)
}

/** The body of a refusal: the same wherever it is raised. */
export function errorBody({ code, status, message, fieldErrors }: ApiError, requestId: string): string {
  return JSON.stringify({ ok: false, error: message, code, status, requestId, fieldErrors })
}

/** Headers that belong to a refusal. */
export function errorHeaders(error: ApiError, scope: string | undefined): string[] {
  const { code, status, message } = error
  if (code === 'missing_token') return ['WWW-Authenticate', 'Bearer realm="api"']
  if (status === 401) return ['WWW-Authenticate', challenge('invalid_token', `error_description="${message}"`)]
  if (code === 'invalid_request') return ['WWW-Authenticate', challenge(code, `error_description="${message}"`)]
  if (code === 'insufficient_scope') return ['WWW-Authenticate', challenge(code, `scope="${scope ?? ''}"`)]
  if (code === 'method_not_allowed') return ['Allow', ALLOW]
  if (code === 'unavailable') return ['Retry-After', '1']
  return []
}

export const ALLOW = 'GET, HEAD, OPTIONS'

/** After these the state of the connection is in doubt, so it is closed. */
export const closing: ReadonlySet<string> = new Set([
  'malformed_request',
  'host_invalid',
  'body_not_allowed',
  'request_timeout',
  'uri_too_long',
  'headers_too_large',
])

/** Sends an answer with all headers in one write. */
export function send(response: ServerResponse, status: number, headers: readonly string[], body: string | undefined) {
  response.writeHead(status, headers as string[])
  response.end(body)
}

const REQUEST_ID_BYTES = 12
let pool = randomBytes(REQUEST_ID_BYTES * 256)
let used = 0

function challenge(error: string, rest: string): string {
  return `Bearer realm="api", error="${error}", ${rest}`
}
