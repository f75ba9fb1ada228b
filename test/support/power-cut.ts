import {
  copyFileSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { compileLibrary } from './preloaded.ts'

/**
 * What a disk holds after a power cut: the bytes that processes have synced, under the names of folders that they have synced.
 * Everything else is lost.
 */
export interface PowerCut extends Disposable {
  /** The settings of the processes. */
  readonly env: Readonly<Record<string, string>>
  /** How often something was synced since this was made. */
  syncs(): number
  /** Makes a folder that holds what is left if the power is cut right after so many syncs. */
  restoreTo(path: string, syncs: number, names: Names): void
}

/**
 * Which names the disk may have: those from when their folder was last synced, or the present ones, because a rename or a removal may
 * reach the disk before the folder is synced.
 */
export type Names = 'synced' | 'current'

interface Found {
  /** The same for a file or folder whatever its name. */
  readonly id: string
  readonly isFolder: boolean
  /** Empty for the root. */
  readonly path: string
  /** Where a symbolic link leads. The disk has that with its name. */
  readonly target?: string | undefined
}

interface Entry extends Found {
  readonly name: string
  /** The folder it is in; empty for the root. */
  readonly parent: string
}

/** Keeps what is synced below a folder from now on; needs a C compiler, undefined where there is none. */
export function makePowerCut(root: string): PowerCut | undefined {
  const kept = mkdtempSync(join(tmpdir(), 'lockstep-test-'))
  const library = compileLibrary('power-cut', kept)
  if (library === undefined) return undefined
  const atStart = treeOf(root)
  for (const { id, isFolder, path } of atStart) if (!isFolder) copyFileSync(join(root, path), join(kept, id))
  const log = join(kept, 'log')
  mkdirSync(log)

  return {
    env: { LD_PRELOAD: library, POWER_CUT_ROOT: root, POWER_CUT_LOG: log },
    syncs: () => numbersIn(log).length,
    restoreTo(path, syncs, names) {
      const contents = new Map(atStart.map(({ id }) => [id, join(kept, id)]))
      const folders = new Map(atStart.filter(({ isFolder }) => isFolder).map(({ id }) => [id, atStart]))
      const numbers = numbersIn(log)
      let current = atStart
      for (const number of numbers.slice(0, syncs)) {
        const { synced, entries } = readListing(join(log, `${number}.names`))
        current = entries
        if (synced.isFolder) folders.set(synced.id, entries)
        else contents.set(synced.id, join(log, `${number}.content`))
      }
      if (syncs >= numbers.length) current = treeOf(root)
      const build = ({ id }: Entry, to: string) => {
        mkdirSync(to)
        const known = names === 'synced' ? (folders.get(id) ?? []) : current
        for (const entry of known.filter(({ parent }) => parent === id)) {
          const content = contents.get(entry.id)
          if (entry.isFolder) build(entry, join(to, entry.name))
          else if (entry.target !== undefined) symlinkSync(entry.target, join(to, entry.name))
          // A file that was never synced has a name and no content.
          else if (content === undefined) writeFileSync(join(to, entry.name), '')
          else copyFileSync(content, join(to, entry.name))
        }
      }
      rmSync(path, { recursive: true, force: true })
      build(rootOf(atStart), path)
    },
    [Symbol.dispose]: () => rmSync(kept, { recursive: true, force: true }),
  }
}

function numbersIn(log: string): readonly string[] {
  const listings = readdirSync(log).filter(name => name.endsWith('.names') && !name.includes('unfinished'))
  return listings.map(name => basename(name, '.names')).toSorted()
}

function readListing(path: string): { synced: Entry; entries: readonly Entry[] } {
  const found = readFileSync(path, 'utf8').trimEnd().split('\n')
  const [synced, ...entries] = found.map(line => {
    const [kind, id = '', name = '', target] = line.split(' ')
    return { id, isFolder: kind === 'd', path: name, target: kind === 'l' ? target : undefined }
  })
  if (synced === undefined) throw new Error(`${path} is empty`)
  return { synced: { ...synced, name: '', parent: '' }, entries: withParents(entries) }
}

/** The root and everything below it. */
function treeOf(root: string): readonly Entry[] {
  const paths = ['', ...readdirSync(root, { recursive: true, encoding: 'utf8' })]
  const found = paths.map(path => {
    const file = lstatSync(join(root, path), { bigint: true })
    const target = file.isSymbolicLink() ? readlinkSync(join(root, path)) : undefined
    return { id: `${file.ino}.${file.birthtimeNs}`, isFolder: file.isDirectory(), path, target }
  })
  return withParents(found)
}

function withParents(found: readonly Found[]): readonly Entry[] {
  const ids = new Map(found.map(({ path, id }) => [path, id]))
  return found.map(one => {
    const slash = one.path.lastIndexOf('/')
    const parent = one.path === '' ? '' : (ids.get(one.path.slice(0, Math.max(0, slash))) ?? '')
    return { ...one, name: one.path.slice(slash + 1), parent }
  })
}

function rootOf(entries: readonly Entry[]): Entry {
  const [root] = entries
  if (root === undefined) throw new Error('there is no root')
  return root
}
