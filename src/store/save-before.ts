import { closeSync, existsSync, openSync, renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { syncFile, syncFolder } from './disk-sync.ts'
import { StoreError } from './store.ts'

/**
 * Copies an SQLite database next to it, as it is before the transaction that has the write lock, and returns the path of the copy. Throws
 * StoreError if the disk has no room for it. Does nothing for a database without a file.
 */
export function saveBefore(path: string, version: number): string | undefined {
  if (!existsSync(path)) return undefined
  const folder = dirname(resolve(path))
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < statSync(path).size * 2)
    throw new StoreError(`no room to copy ${path} before its records are rewritten: make room for twice its size`)
  const copy = `${path}.schema-${version}`
  // Always the same name, so that what a killed process left is removed.
  const unfinished = `${copy}.unfinished`
  const remove = () => [unfinished, `${unfinished}-journal`].forEach(name => rmSync(name, { force: true }))
  remove()
  using _rest = { [Symbol.dispose]: remove }
  // Only its owner may read it.
  closeSync(openSync(unfinished, 'wx', 0o600))
  using database = new DatabaseSync(path, { readOnly: true })
  database.prepare('vacuum into ?').run(unfinished)
  syncFile(unfinished)
  renameSync(unfinished, copy)
  syncFolder(folder)
  return copy
}
