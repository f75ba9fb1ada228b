import { closeSync, fsyncSync, mkdirSync, openSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

/** Files and folders that survive a power failure. */

/** Makes a folder and those above it that are missing; only this user may read them. */
export function makeFolders(path: string) {
  const first = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (first === undefined) return
  for (let folder = resolve(path); folder.length >= resolve(first).length; folder = dirname(folder))
    syncFolder(dirname(folder))
}

/** Until the folder is synced, a power failure can undo that a file in it was created, renamed or removed. */
export function syncFolder(path: string) {
  // Windows cannot open a folder.
  if (process.platform !== 'win32') syncFile(path)
}

export function syncFile(path: string) {
  withFile(path, 'r', fsyncSync)
}

/** Runs work with an open file, by its descriptor. */
export function withFile<Result>(path: string, flags: 'r' | 'r+', work: (file: number) => Result): Result {
  const file = openSync(path, flags)
  try {
    return work(file)
  } finally {
    closeSync(file)
  }
}
