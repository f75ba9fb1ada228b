import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync } from 'node:zlib'
import { sqliteFile } from '../../src/store/index.ts'
import { connect } from './postgres.ts'

/** What the version of 2026-11-24 wrote, with a row in every table, and a version to come. */

/** A password of the account `ann`, and an API key of `ben`, who may read what she has. */
export const RELEASED = { password: 'correct horse battery', key: 'lks_qp6FkBD0dUAnQw0Jf58lWpDhEjRulQ1rtRH7' }

/** Makes an empty database what that version left. */
export async function makeReleased(url: string): Promise<void> {
  const file = sqliteFile(url)
  if (file !== undefined) return makeReleasedFile(file)
  await using client = await connect(url)
  await client.query(released('postgres.sql').toString())
}

/** The same for an SQLite file, in which some SQL is run then. */
export function makeReleasedFile(path: string, changes = '') {
  using database = new DatabaseSync(path)
  database.exec(`pragma journal_mode = wal; ${released('sqlite.sql').toString()}; ${changes}`)
}

/** The bytes of a backup. */
export function releasedBackup(): Buffer {
  return released('backup')
}

function released(name: string): Buffer {
  return gunzipSync(readFileSync(join(import.meta.dirname, `released/schema-21.${name}.gz`)))
}

/** Variables with which a command is that of the next version: its schema has the steps of `next-steps.ts`. */
export const nextVersion = { NODE_OPTIONS: `--import=${join(import.meta.dirname, 'next-version.ts')}` }
