import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { matchesEtag } from '../contract/validators.ts'
import { joinModules } from './joined-modules.ts'
import { isFromAnotherSite } from './site.ts'

/** Assets and pages as they are sent: compressed where that reveals nothing, and kept by browsers where they do not change. */

/** The files that pages load, by their name below /assets/, and the typed client. Others are not served. */
const files = {
  'dashboard.css': ['text/css', styles],
  'dashboard.js': ['text/javascript', () => joinModules(FOLDER, 'dashboard.js')],
  'favicon.svg': ['image/svg+xml', () => read('favicon.svg')],
  'app.webmanifest': ['application/manifest+json', () => read('app.webmanifest')],
  'client.js': ['text/javascript', () => read('../../openapi/client.js')],
  'client.d.ts': ['text/plain', () => read('../../openapi/client.d.ts')],
} satisfies Record<string, readonly [type: string, content: () => string]>

/** What most pages have. */
const components = [
  'text',
  'menus',
  'buttons',
  'fields',
  'notices',
  'filters',
  'cards',
  'facts',
  'tables',
  'marks',
  'tabs',
  'code',
  'charts',
  'calendar',
  'records',
  'print',
]

export type AssetName = keyof typeof files

type Asset = ReturnType<typeof assetOf>

/** Content that stays the same while the service runs. Its version is the part of an address that changes with it. */
export function assetOf(type: string, content: string) {
  const body = Buffer.from(content)
  let compressed: Promise<Buffer> | undefined
  return {
    type,
    body,
    version: hash('sha1', body, 'base64url').slice(0, 16),
    /** Once, for the first request that accepts it. */
    compressed: () => (compressed ??= compress(body)),
  }
}

/** Sends an asset, or 304 if the browser has it. If the URL names its version, the browser may cache it for good. */
export async function sendAsset(reply: FastifyReply, asset: Asset, version?: string | null) {
  const isCompressed = asset.body.length >= MIN_COMPRESSED && acceptsGzip(reply.request)
  // What is compressed has an ETag of its own.
  const etag = `"${asset.version}${isCompressed ? '-gzip' : ''}"`
  reply.headers({ ETag: etag, 'Cache-Control': version === asset.version ? IMMUTABLE : 'no-cache' })
  varyByEncoding(reply)
  const ifNoneMatch = reply.request.headers['if-none-match']
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag)) return reply.code(304).send()
  reply.type(asset.type)
  if (!isCompressed) return reply.send(asset.body)
  return reply.header('Content-Encoding', 'gzip').send(await asset.compressed())
}

const IMMUTABLE = 'public, max-age=31536000, immutable'

const loaded = new Map<AssetName, Asset>()

/** The asset of a page; its files are read once. */
export function asset(name: AssetName): Asset {
  return loaded.getOrInsertComputed(name, () => {
    const [type, content] = files[name]
    return assetOf(`${type}; charset=utf-8`, content())
  })
}

/** In layers: a rule of a later one wins, however specific the other is. */
function styles(): string {
  const layers = {
    base: ['base.css'],
    components: components.map(name => `components/${name}.css`),
    pages: ['pages.css'],
  }
  return Object.entries(layers)
    .map(([layer, names]) => `@layer ${layer} {\n${names.map(read).join('\n')}}\n`)
    .join('')
}

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8')
}

const FOLDER = new URL('./assets/', import.meta.url)

/** Where a page finds an asset. The address changes with its content, so a browser may keep it. */
export function assetUrl(name: AssetName): string {
  return `/assets/${name}?v=${asset(name).version}`
}

export function isAsset(name: string): name is AssetName {
  return Object.hasOwn(files, name)
}

/** Responses are compressed by gzip alone: browsers accept it also without TLS. */
function acceptsGzip({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
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
function varyByEncoding(reply: FastifyReply) {
  reply.header('Vary', [reply.getHeader('Vary'), 'Accept-Encoding'].filter(name => name !== undefined).join(', '))
}

/** Smaller bodies fit into one packet. */
const MIN_COMPRESSED = 1024

/** Compresses in another thread. */
const compress = promisify<string | Uint8Array, Buffer>(gzip)
