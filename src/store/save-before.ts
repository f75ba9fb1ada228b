import { closeSync, existsSync, openSync, renameSync, rmSync, statSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { open, StoreError, syncFile } from './index.ts'
import { rewritesAfter, schemaVersion } from './migrations.ts'
import { sql } from '../vendor/kysely.js'

/**
 * Copies an SQLite database next to it if bringing its schema up to date rewrites records, and returns the path of the copy. Throws
 * StoreError if the disk has no room for it.
 */
export async function saveBeforeRewrite(url: string): Promise<string | undefined> {
  const path = url.replace(/^sqlite:/, '')
  if (path === url || !existsSync(path)) return undefined
  const store = await open(url, { busyTimeoutMs: 0, schema: 'any', inspect: true })
  try {
    const version = await schemaVersion(store)
    if (version === 0 || !rewritesAfter(version)) return undefined
    const { bavail, bsize } = await statfs(dirname(resolve(path)))
    if (bavail * bsize < statSync(path).size * 2)
      throw new StoreError(
        `the records of ${path} have to be rewritten, and the disk has no room for a copy of it first: make room for twice its size`,
      )
    const copy = `${path}.schema-${version}`
    const unfinished = `${copy}.${process.pid}.unfinished`
    try {
      // Only its owner may read it.
      closeSync(openSync(unfinished, 'wx', 0o600))
      await sql`vacuum into ${unfinished}`.execute(store.reads)
      syncFile(unfinished)
      renameSync(unfinished, copy)
    } finally {
      rmSync(unfinished, { force: true })
    }
    return copy
  } finally {
    await store.close()
  }
}
