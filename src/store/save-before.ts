import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { sql } from 'kysely'
import { open, sqliteFile, type Store, StoreError, syncFile, syncFolder, waitForLock } from './index.ts'
import { rewritesAfter, schemaVersion } from './migrations.ts'

/**
 * Copies an SQLite database next to it if bringing its schema up to date rewrites records, and returns the path of the copy. Throws
 * StoreError if the disk has no room for it, or another process copies the database for longer than `maxWaitMs`.
 */
export async function saveBeforeRewrite(url: string, maxWaitMs = MAX_WAIT_MS): Promise<string | undefined> {
  const path = sqliteFile(url)
  if (path === undefined || !existsSync(path)) return undefined
  if (!(await inspected(url, async store => isRewritten(await schemaVersion(store))))) return undefined
  const release = await lock(path, maxWaitMs)
  try {
    return await inspected(url, async store => {
      // Another process may have brought it up to date meanwhile.
      const version = await schemaVersion(store)
      return isRewritten(version) ? copyOf(store, path, version) : undefined
    })
  } finally {
    await release()
  }
}

/** Copying takes this long only for hundreds of gigabytes. The lock of a process that was killed ends with it. */
const MAX_WAIT_MS = 600_000

function isRewritten(version: number): boolean {
  return version > 0 && rewritesAfter(version)
}

async function inspected<Result>(url: string, work: (store: Store) => Promise<Result>): Promise<Result> {
  const store = await open(url, { busyTimeoutMs: 0, schema: 'any', inspect: true })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

async function copyOf(store: Store, path: string, version: number): Promise<string> {
  const { bavail, bsize } = await statfs(dirname(resolve(path)))
  if (bavail * bsize < statSync(path).size * 2)
    throw new StoreError(
      `the records of ${path} have to be rewritten, and the disk has no room for a copy of it first: make room for twice its size`,
    )
  const copy = `${path}.schema-${version}`
  // Always the same name, so that what a killed process left is removed.
  const unfinished = `${copy}.unfinished`
  const remove = () => [unfinished, `${unfinished}-journal`].forEach(name => rmSync(name, { force: true }))
  remove()
  try {
    // Only its owner may read it.
    closeSync(openSync(unfinished, 'wx', 0o600))
    await sql`vacuum into ${unfinished}`.execute(store.reads)
    syncFile(unfinished)
    renameSync(unfinished, copy)
    syncFolder(dirname(resolve(path)))
  } finally {
    remove()
  }
  return copy
}

async function lock(path: string, maxWaitMs: number): Promise<() => Promise<void>> {
  const release = await waitForLock(`${path}.schema.lock`, maxWaitMs)
  if (release !== undefined) return release
  throw new StoreError(
    `another process has been copying ${path} for ${maxWaitMs / 1000} seconds: try again when it has ended`,
  )
}
