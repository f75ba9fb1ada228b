import { randomBytes } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import * as Type from 'typebox'
import { Refusal } from '../contract/refusal.ts'
import type { Tables } from '../store/tables.ts'
import { overwrite, sha256Without } from './files.ts'

/** The description of a backup, stored in its table `backup` as names and values. */

export type Manifest = Readonly<Type.Static<typeof ManifestSchema>>

const ManifestSchema = Type.Object({
  version: Type.String(),
  schema: Type.Integer(),
  /** The time of its content. */
  madeAt: Type.String(),
  engine: Type.String(),
  rows: Type.Record(Type.String(), Type.Integer()),
  /** The SHA-256 of an export of all records. */
  exportSha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
  /** The SHA-256 of the file, in which these digits count as zeros. */
  fileSha256: Type.String({ pattern: '^[0-9a-f]{64}$' }),
})

/** Writes the manifest with random digits in place of the digest of the file, which `writeFileDigest` replaces. Returns these digits. */
export async function writeManifest(db: Kysely<Tables>, manifest: Omit<Manifest, 'fileSha256'>): Promise<string> {
  const placeholder = randomBytes(32).toString('hex')
  await sql`create table backup (name text primary key, value text not null) strict`.execute(db)
  for (const [name, value] of Object.entries({ ...manifest, fileSha256: placeholder })) {
    await sql`insert into backup values (${name}, ${typeof value === 'string' ? value : JSON.stringify(value)})`.execute(
      db,
    )
  }
  return placeholder
}

export async function writeFileDigest(path: string, placeholder: string) {
  const { digest, position } = await sha256Without(path, placeholder)
  overwrite(path, position, digest)
}

/** Throws Refusal if the file has changed since its digest was written. */
export async function checkFileDigest(path: string, { fileSha256 }: Manifest) {
  const { digest, position } = await sha256Without(path, fileSha256)
  if (position === -1 || digest !== fileSha256) throw new Refusal('no-backup', `${path} was changed or is damaged`)
}

/** The manifest; undefined in a plain copy of a database. Throws Refusal. */
export async function readManifest(db: Kysely<Tables>): Promise<Manifest | undefined> {
  const { rows: tables } = await sql`select 1 from sqlite_schema where type = 'table' and name = 'backup'`.execute(db)
  if (tables.length === 0) return undefined
  const { rows } = await sql<{ name: string; value: string }>`select name, value from backup`.execute(db)
  const found = Object.fromEntries(rows.map(({ name, value }) => [name, value]))
  // Loaded here, because it has three hundred modules that only those who read backups need.
  const { Value } = await import('typebox/value')
  try {
    const counts: unknown = JSON.parse(found['rows'] ?? '')
    return Value.Parse(ManifestSchema, { ...found, schema: Number(found['schema']), rows: counts })
  } catch {
    throw new Refusal('no-backup', 'the manifest of the backup cannot be read: the backup was changed or is damaged')
  }
}
