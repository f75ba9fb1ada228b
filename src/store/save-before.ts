import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { sql } from 'kysely'
import { syncFile, syncFolder } from './disk-sync.ts'
import { open } from './index.ts'
import { StoreError } from './store.ts'

/**
 * Copies an SQLite database next to it, as it is before the transaction that has the write lock, and returns the path of the copy. Throws
 * StoreError if the disk has no room for it. Does nothing for a database without a file.
 */
export async function saveBefore(path: string, version: number): Promise<string | undefined> {
  if (!existsSync(path)) return undefined
  const folder = dirname(resolve(path))
  const { bavail, bsize } = await statfs(folder)
  if (bavail * bsize < statSync(path).size * 2)
    throw new StoreError(
      `the records of ${path} have to be rewritten, and the disk has no room for a copy of it first: make room for twice its size`,
    )
  const copy = `${path}.schema-${version}`
  // Always the same name, so that what a killed process left is removed.
  const unfinished = `${copy}.unfinished`
  const remove = () => [unfinished, `${unfinished}-journal`].forEach(name => rmSync(name, { force: true }))
  remove()
  const store = await open(`sqlite:${path}`, { busyTimeoutMs: 0, schema: 'any', inspect: true })
  try {
    // Only its owner may read it.
    closeSync(openSync(unfinished, 'wx', 0o600))
    await sql`vacuum into ${unfinished}`.execute(store.reads)
    syncFile(unfinished)
    renameSync(unfinished, copy)
    syncFolder(folder)
  } finally {
    await store.close()
    remove()
  }
  return copy
}
