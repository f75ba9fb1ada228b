import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isFromAnotherSite } from './origin.ts'

/** Compressed responses, by gzip alone: browsers accept it also without TLS. */

export function acceptsGzip({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return GZIP.test(headers['accept-encoding'] ?? '')
}

const GZIP = /\bgzip\b(?!\s*;\s*q=0(?:\.0*)?\s*(?:,|$))/i

/**
 * Sends a page, compressed if that reveals nothing: the length of a compressed page reveals which parts of the request are also in
 * the page. So requests that other sites make are answered uncompressed, and so are responses to forms, which may show a key.
 */
export async function sendPage(reply: FastifyReply, page: string) {
  const { request } = reply
  const revealsNothing = request.method === 'GET' && !isFromAnotherSite(request)
  varyByEncoding(reply.type('text/html; charset=utf-8'))
  if (!revealsNothing || page.length < MIN_COMPRESSED || !acceptsGzip(request)) return reply.send(page)
  return reply.header('Content-Encoding', 'gzip').send(await compress(page))
}

/** Adds to what caches keep apart: with allowed origins a response has them there already. */
export function varyByEncoding(reply: FastifyReply) {
  reply.header('Vary', [reply.getHeader('Vary'), 'Accept-Encoding'].filter(name => name !== undefined).join(', '))
}

/** Smaller bodies fit into one packet. */
export const MIN_COMPRESSED = 1024

/** Compresses in another thread. */
export const compress = promisify<string | Uint8Array, Buffer>(gzip)
