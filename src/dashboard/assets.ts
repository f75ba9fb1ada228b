import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyReply } from 'fastify'
import { matchesEtag } from '../contract/responses.ts'
import { acceptedEncoding, compress, type Encoding, MIN_COMPRESSED } from './encoding.ts'

/** The files that pages load, by their name below /assets/; several are sent as one. Others are not served. */
const files = {
  'base.css': ownFile('base.css'),
  'components.css': [
    ownFile('components/text.css'),
    ownFile('components/menus.css'),
    ownFile('components/buttons.css'),
    ownFile('components/fields.css'),
    ownFile('components/notices.css'),
    ownFile('components/filters.css'),
    ownFile('components/cards.css'),
    ownFile('components/facts.css'),
    ownFile('components/tables.css'),
    ownFile('components/marks.css'),
    ownFile('components/tabs.css'),
    ownFile('components/code.css'),
    ownFile('components/dialogs.css'),
    ownFile('components/charts.css'),
    ownFile('components/calendar.css'),
    ownFile('components/narrow.css'),
    ownFile('components/records.css'),
    ownFile('components/bottom-bar.css'),
    ownFile('components/print.css'),
  ],
  'pages.css': ownFile('pages.css'),
  'reference.css': ownFile('reference.css'),
  'start.js': ownFile('start.js'),
  'addresses.js': ownFile('addresses.js'),
  'dashboard.js': ownFile('dashboard.js'),
  'live-updates.js': ownFile('live-updates.js'),
  'copy.js': ownFile('copy.js'),
  'display.js': ownFile('display.js'),
  'focus.js': ownFile('focus.js'),
  'forms.js': ownFile('forms.js'),
  'keyboard.js': ownFile('keyboard.js'),
  'notices.js': ownFile('notices.js'),
  'dialogs.js': ownFile('dialogs.js'),
  'events.js': ownFile('events.js'),
  'key-test.js': ownFile('key-test.js'),
  'sign-out.js': ownFile('sign-out.js'),
  'signin.js': ownFile('signin.js'),
  'passkeys.js': ownFile('passkeys.js'),
  'webauthn-get.js': ownFile('webauthn-get.js'),
  'webauthn-create.js': ownFile('webauthn-create.js'),
  'console.js': ownFile('console.js'),
  'charts.js': ownFile('charts.js'),
  'chart-bars.js': ownFile('chart-bars.js'),
  'chart-breaks.js': ownFile('chart-breaks.js'),
  'chart-data.js': ownFile('chart-data.js'),
  'chart-draw.js': ownFile('chart-draw.js'),
  'chart-format.js': ownFile('chart-format.js'),
  'chart-grade.js': ownFile('chart-grade.js'),
  'chart-print.js': ownFile('chart-print.js'),
  'chart-segments.js': ownFile('chart-segments.js'),
  'chart-spread.js': ownFile('chart-spread.js'),
  'chart-timeline.js': ownFile('chart-timeline.js'),
  'favicon.svg': ownFile('favicon.svg'),
  'plot.js': ownFile('plot.js'),
} satisfies Record<string, string | readonly string[]>

export type AssetName = keyof typeof files

/** Content that stays the same while the service runs. It is compressed once, for the first request that accepts it. */
export class Asset {
  readonly type: string
  readonly body: Uint8Array
  readonly etag: string
  readonly #compressed = new Map<string, Promise<Uint8Array>>()

  constructor(type: string, content: string | Uint8Array) {
    this.type = type
    this.body = typeof content === 'string' ? Buffer.from(content) : content
    this.etag = `"${hash('sha1', this.body, 'base64url').slice(0, 16)}"`
  }

  /** Part of an address that changes with the content. */
  get version(): string {
    return this.etag.slice(1, -1)
  }

  async bodyIn(encoding: Encoding): Promise<Uint8Array> {
    return this.#compressed.getOrInsertComputed(encoding, () => compress(encoding, this.body, 'often'))
  }
}

/** Sends an asset, or 304 if the browser has it. If the URL names its version, the browser may cache it for good. */
export async function sendAsset(reply: FastifyReply, asset: Asset, version?: string | null) {
  const encoding = asset.body.length < MIN_COMPRESSED ? undefined : acceptedEncoding(reply.request)
  // Each encoding has an ETag of its own.
  const etag = encoding === undefined ? asset.etag : `${asset.etag.slice(0, -1)}-${encoding}"`
  reply.headers({
    ETag: etag,
    'Cache-Control': version === asset.version ? IMMUTABLE : 'no-cache',
    Vary: 'Accept-Encoding',
  })
  const ifNoneMatch = reply.request.headers['if-none-match']
  if (ifNoneMatch !== undefined && matchesEtag(ifNoneMatch, etag)) return reply.code(304).send()
  reply.type(asset.type)
  if (encoding === undefined) return reply.send(asset.body)
  return reply.header('Content-Encoding', encoding).send(await asset.bodyIn(encoding))
}

const IMMUTABLE = 'public, max-age=31536000, immutable'

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml; charset=utf-8',
}

const loaded = new Map<AssetName, Asset>()

/** The asset of a page; its file is read once. */
export function asset(name: AssetName): Asset {
  let known = loaded.get(name)
  if (known === undefined) {
    const file = Buffer.concat([files[name]].flat().map(path => readFileSync(path)))
    const body = extname(name) === '.js' ? withVersions(file) : file
    known = new Asset(types[extname(name)] ?? 'application/octet-stream', body)
    loaded.set(name, known)
  }
  return known
}

/** The modules that a module needs before it runs, and those that they need. */
export function importsOf(name: AssetName): readonly AssetName[] {
  return imports.getOrInsertComputed(name, () => [...collectImports(name, new Set())].filter(found => found !== name))
}

const imports = new Map<AssetName, readonly AssetName[]>()

function collectImports(name: AssetName, found: Set<AssetName>): Set<AssetName> {
  if (found.has(name)) return found
  found.add(name)
  for (const [, imported = ''] of asset(name)
    .body.toString()
    .matchAll(/^(?:import|\}) .*from '\.\/([a-z-]+\.js)/gm)) {
    if (isAsset(imported)) collectImports(imported, found)
  }
  return found
}

/** A module that imports others by addresses with a version, which browsers may cache for good. They are in the same folder. */
function withVersions(file: Buffer): Buffer {
  return Buffer.from(
    file
      .toString()
      .replaceAll(/^(.*\b(?:import|from) ?\(?.*')\.\/([a-z-]+\.js)'(?=\)|$)/gm, (_, start: string, name: string) => {
        if (!isAsset(name)) throw new Error(`${name} is imported, but is not an asset`)
        return `${start}./${name}?v=${asset(name).version}'`
      }),
  )
}

/** Where a page finds an asset. The address changes with its content, so a browser may keep it. */
export function assetUrl(name: AssetName): string {
  return `/assets/${name}?v=${asset(name).version}`
}

export function isAsset(name: string): name is AssetName {
  return Object.hasOwn(files, name)
}

function ownFile(name: string): string {
  return fileURLToPath(new URL(`assets/${name}`, import.meta.url))
}

/** Does the work on the first call, and again only if it failed. */
export function memoizeAsync<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => {
    result ??= work().catch((error: unknown) => {
      result = undefined
      throw error
    })
    return result
  }
}
