import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Everything a page loads beside itself, by the name it has below /assets/. A file that is not named here is not served. */
const files = {
  'style.css': ours('style.css'),
  'history.css': ours('history.css'),
  'dashboard.js': ours('dashboard.js'),
  'copy.js': ours('copy.js'),
  'dialogs.js': ours('dialogs.js'),
  'events.js': ours('events.js'),
  'key-test.js': ours('key-test.js'),
  'charts.js': ours('charts.js'),
  'chart-bars.js': ours('chart-bars.js'),
  'chart-draw.js': ours('chart-draw.js'),
  'chart-format.js': ours('chart-format.js'),
  'chart-grade.js': ours('chart-grade.js'),
  'chart-rates.js': ours('chart-rates.js'),
  'chart-segments.js': ours('chart-segments.js'),
  'chart-table.js': ours('chart-table.js'),
  'chart-targets.js': ours('chart-targets.js'),
  'chart-timeline.js': ours('chart-timeline.js'),
  'favicon.svg': ours('favicon.svg'),
  'd3.js': theirs(import.meta.resolve('d3'), 'd3.min.js'),
  'plot.js': theirs(import.meta.resolve('@observablehq/plot'), '../dist/plot.umd.min.js'),
} satisfies Record<string, string>

export type AssetName = keyof typeof files

export interface Asset {
  readonly type: string
  readonly body: Buffer
  readonly version: string
}

const types: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.svg': 'image/svg+xml',
}

const loaded = new Map<AssetName, Asset>()

/** An asset as it is while the service runs. */
export function asset(name: AssetName): Asset {
  const known = loaded.get(name)
  if (known !== undefined) return known
  const file = readFileSync(files[name])
  const body = extname(name) === '.js' ? withVersions(file) : file
  const made = {
    type: types[extname(name)] ?? 'application/octet-stream',
    body,
    version: hash('sha1', body, 'hex').slice(0, 12),
  }
  loaded.set(name, made)
  return made
}

/** A module that imports others by addresses with a version, which browsers may cache for good. */
function withVersions(file: Buffer): Buffer {
  return Buffer.from(
    file.toString().replaceAll(/^((?:import|\} from) .*')\.\/([a-z-]+\.js)'$/gm, (_, start: string, name: string) => {
      if (!isAsset(name)) throw new Error(`${name} is imported, but not listed as an asset`)
      return `${start}${assetUrl(name)}'`
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

function ours(name: string): string {
  return fileURLToPath(new URL(`assets/${name}`, import.meta.url))
}

/** A file of an installed package, beside the one that the package is imported by. */
function theirs(main: string, file: string): string {
  return fileURLToPath(new URL(file, main))
}
