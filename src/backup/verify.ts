import { copyFileSync, existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { sql } from 'kysely'
import { InvalidError } from '../archive/faults.ts'
import type { Kind } from '../archive/kind.ts'
import { kinds } from '../archive/kinds.ts'
import { migrate } from '../archive/migrate.ts'
import { readAgain } from '../archive/records.ts'
import { Refusal } from '../contract/refusal.ts'
import { open, SchemaError, type Store, StoreError, StoreUnavailableError } from '../store/index.ts'
import { currentVersion, schemaVersion } from '../store/migrations.ts'
import { isDamaged, type Watching } from './copy.ts'
import { decryptFile, isEncryptedFile } from './encryption.ts'
import { digestFile, readDigest, removeDatabase, sha256Of, startOf } from './files.ts'
import { checkFileDigest, type Manifest, readManifest } from './manifest.ts'
import { countRows, readRows, readTables } from './tables.ts'

export type VerifiedBackup = Awaited<ReturnType<typeof openVerified>>

export interface VerifyOptions extends Watching {
  readonly identities?: readonly string[] | undefined
  readonly workFolder: string
  /** Whether the file may be a plain copy of a database, which has no manifest. */
  readonly plainCopy?: boolean | undefined
}

/** Opens a backup after everything in it was checked. Throws Refusal. */
export async function openVerified(path: string, options: VerifyOptions) {
  await checkDigest(path, options.signal)
  const plain = await decrypted(path, options)
  if (startOf(plain, SQLITE_START.length) !== SQLITE_START) throw new Refusal('no-backup', `${path} is not a backup`)
  let store: Store | undefined
  try {
    store = await open(`sqlite:${plain}`, { busyTimeoutMs: 0, inspect: true, schema: 'any' })
    const manifest = await readManifest(store.db)
    if (manifest === undefined) await checkCopy(store, plain, options.plainCopy)
    else await checkFileDigest(plain, manifest)
    const schema = await schemaVersion(store)
    if (manifest !== undefined) await checkCounts(store, manifest)
    if (schema < currentVersion) {
      await store.close()
      store = await migratedCopy(plain, options.workFolder)
    }
    // A plain copy has no manifest. The tables are in the current schema.
    const { close } = store
    return { store, manifest, ...(await checkRecords(store, options)), close, [Symbol.asyncDispose]: close }
  } catch (error) {
    await store?.close()
    throw fileError(error, path)
  }
}

/** Compares a file with the digest beside it; returns whether there is one. Throws Refusal. */
export async function checkDigest(path: string, signal?: AbortSignal): Promise<boolean> {
  const digest = readDigest(path)
  if (digest === undefined) return false
  if (digest !== (await sha256Of(path, signal))) {
    throw new Refusal('no-backup', `${path} does not match ${digestFile(path)}: it was changed or is damaged`)
  }
  return true
}

const SQLITE_START = 'SQLite format 3\0'

async function decrypted(path: string, { identities, workFolder, signal }: VerifyOptions): Promise<string> {
  if (!isEncryptedFile(path)) return path
  if (identities === undefined) throw new Refusal('no-identity', `${path} is encrypted: name a file with --identity`)
  const plain = join(workFolder, 'decrypted.db')
  await decryptFile(path, plain, identities, signal)
  return plain
}

/** A plain copy has no digest: what can be checked is its structure, and each record. */
async function checkCopy(store: Store, path: string, isAllowed = false) {
  if (existsSync(`${path}-wal`) && statSync(`${path}-wal`).size > 0) {
    throw new Refusal('no-backup', `${path} is a database in use, not a backup: make one with \`lockstep backup\``)
  }
  if ((await schemaVersion(store)) === 0) throw new Refusal('no-backup', `${path} is not a backup`)
  if (!isAllowed) throw new Refusal('no-backup', `${path} ${NO_MANIFEST}`)
  const { rows } = await sql<{ integrity_check: string }>`pragma integrity_check`.execute(store.db)
  if (rows.length !== 1 || rows[0]?.integrity_check !== 'ok') throw new Refusal('no-backup', `${path} is damaged`)
}

const NO_MANIFEST = `has no manifest of a backup: it may be a database file that lacks what was written last, because its -wal file was not copied with it, and nothing in it shows that. If it is complete, or was written by the command \`backup\` of a version that had no \`restore\`, add --plain-copy.`

async function checkCounts({ db }: Store, manifest: Manifest) {
  for (const [table, count] of Object.entries(manifest.rows)) {
    if ((await countRows(db, table)) !== count) {
      throw new Refusal('no-backup', `the backup does not have the ${count} rows of ${table} that its manifest names`)
    }
  }
}

/** Opens a copy of the backup with the current schema; the file itself stays as it is. */
async function migratedCopy(path: string, workFolder: string): Promise<Store> {
  const newer = join(workFolder, 'current.db')
  removeDatabase(newer)
  copyFileSync(path, newer)
  const store = await open(`sqlite:${newer}`, { busyTimeoutMs: 0, exclusive: true, bulk: true, schema: 'any' })
  await migrate(store, Date.now())
  return store
}

/** Reads each record as an import would, and compares it with what is stored. */
async function checkRecords({ db }: Store, { signal, progress }: Watching) {
  const tables = new Map((await readTables()).map(table => [table.name, table]))
  let records = 0
  let accounts = 0
  for (const kind of kinds) {
    const table = tables.get(kind.table)
    if (table === undefined) throw new Error(`there is no table ${kind.table}`)
    let count = 0
    for await (const rows of readRows(db, table)) {
      for (const row of rows) {
        const reason = isDamaged(row) ? 'its content does not match its hash' : damageOf(kind, row)
        if (reason !== undefined) {
          throw new Refusal('no-backup', `${kind.name} ${row[kind.recordColumn]} of the backup is damaged: ${reason}`)
        }
      }
      count += rows.length
      progress?.(kind.table, count)
      signal?.throwIfAborted()
    }
    if (kind.name === 'account') accounts = count
    else records += count
  }
  return { accounts, records }
}

function damageOf(kind: Kind, row: Readonly<Record<string, string | number | null>>): string | undefined {
  try {
    const read = readAgain(kind, row)
    const differing = kind.columns.find(column => column !== 'extra' && (read[column] ?? null) !== row[column])
    return differing === undefined ? undefined : `its column ${differing} does not follow from its content`
  } catch (error) {
    if (error instanceof InvalidError) return error.message
    throw error
  }
}

/** Turns errors of the engine about the file, and a newer schema, into Refusal. */
function fileError(error: unknown, path: string): unknown {
  if (error instanceof SchemaError) return new Refusal('no-backup', error.message.replace('the database', path))
  const { cause } = error instanceof StoreUnavailableError || error instanceof StoreError ? error : { cause: error }
  if (cause instanceof Error && 'errcode' in cause) {
    return new Refusal('no-backup', `${path} is damaged: ${cause.message}`, { cause })
  }
  return error
}
