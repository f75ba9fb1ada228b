import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isFromAnotherSite } from './origin.ts'

/** Content codings of responses. */

export type Encoding = 'br' | 'gzip'

/** The coding of the response to a request; undefined for none. */
export function acceptedEncoding({ headers }: Pick<FastifyRequest, 'headers'>): Encoding | undefined {
  const accepted = new Set<string>()
  for (const part of (headers['accept-encoding'] ?? '').split(',')) {
    const [name = '', ...parameters] = part.toLowerCase().split(';')
    if (!parameters.some(parameter => /^\s*q=0(\.0*)?\s*$/.test(parameter))) accepted.add(name.trim())
  }
  return (['br', 'gzip'] as const).find(encoding => accepted.has(encoding))
}

/** Compresses in another thread, with more effort for what is sent often. */
export async function compress(encoding: Encoding, body: Uint8Array, sent: 'once' | 'often'): Promise<Uint8Array> {
  if (encoding === 'gzip') return gzipAsync(body)
  return brotliAsync(body, {
    params: {
      [constants.BROTLI_PARAM_QUALITY]: sent === 'often' ? 9 : 4,
      [constants.BROTLI_PARAM_SIZE_HINT]: body.length,
    },
  })
}

/**
 * Sends a page, compressed if that reveals nothing: the length of a compressed page reveals which parts of the request are also in
 * the page. So requests that other sites make are answered uncompressed, and so are responses to forms, which may show a key.
 */
export async function sendPage(reply: FastifyReply, page: string) {
  const body = Buffer.from(page)
  const { request } = reply
  const revealsNothing = request.method === 'GET' && !isFromAnotherSite(request)
  const encoding = revealsNothing && body.length >= MIN_COMPRESSED ? acceptedEncoding(request) : undefined
  varyByEncoding(reply.type('text/html; charset=utf-8'))
  if (encoding === undefined) return reply.send(body)
  return reply.header('Content-Encoding', encoding).send(await compress(encoding, body, 'once'))
}

/** Adds to what caches keep apart: with allowed origins a response has them there already. */
export function varyByEncoding(reply: FastifyReply) {
  reply.header('Vary', [reply.getHeader('Vary'), 'Accept-Encoding'].filter(name => name !== undefined).join(', '))
}

/** Smaller bodies fit into one packet. */
export const MIN_COMPRESSED = 1024

const brotliAsync = promisify(brotliCompress)
const gzipAsync = promisify(gzip)
