import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { baseline, forEngine } from './baseline.ts'
import { type Engine, query } from './query.ts'
import { type Step, steps } from './steps.ts'
import { SchemaError, type Store, StoreUnavailableError } from './store.ts'
import { newRevision, type RecordName, recordTables, type Tables } from './tables.ts'

const BASELINE: Step = { name: 'baseline', statements: baseline('sqlite') }

/** Its version: 21 steps made its schema before. */
const BASELINE_VERSION = 21

/** Hashes of what the table `migration` has up to there: the checksum of the baseline, or those of the 21 steps (one had two forms). */
const BASELINE_HASHES = [
  hash('sha256', checksumOf(BASELINE)),
  '5ca8516972b63c5b12594024a2e2a0f0b755ef7bd4012378cdbc08e96055c7d8',
  'e2b76d2f487dbd32c421df73a6860d9f0737db193137f793f87a22b0dc64f887',
]

export const currentVersion = BASELINE_VERSION + steps.length
const checksums = steps.map(checksumOf)

/** The version of a store; 0 if it is empty. Throws SchemaError if this program cannot use its schema. */
export async function schemaVersion({ db, engine }: Pick<Store, 'db' | 'engine'>): Promise<number> {
  if (!(await hasMigrations(db, engine))) return 0
  const applied = await db.selectFrom('migration').select(['version', 'checksum']).orderBy('version').execute()
  const version = applied.at(-1)?.version ?? 0
  if (version === 0) return 0
  if (version > currentVersion) {
    throw new SchemaError(
      `a newer version of Lockstep wrote this database (schema ${version}, this version supports ${currentVersion}): upgrade, or restore a backup that this version made`,
    )
  }
  if (version < BASELINE_VERSION) {
    throw new SchemaError(
      `the database has schema ${version}, and this version of Lockstep supports ${BASELINE_VERSION} and later: start it once with the version of 2026-11-24`,
    )
  }
  const before = applied.filter(row => row.version <= BASELINE_VERSION)
  const isKnown =
    BASELINE_HASHES.includes(hash('sha256', before.map(({ checksum }) => checksum).join(' '))) &&
    applied.slice(before.length).every((row, index) => row.checksum === checksums[index])
  if (isKnown) return version
  throw new SchemaError('the schema of the database is not one that this version knows: use the one that made it')
}

/** What the rewriting of records needs from above. */
interface Rewriting {
  /** Called before the steps, with the version that there is. */
  readonly save: (version: number) => void
  readonly rewrite: (table: RecordName) => Promise<void>
}

/**
 * Brings the schema up to date in the transaction that is open on the connection `db`. Returns the steps that it applied. Kysely's `Migrator`
 * uses no transaction on SQLite, and on PostgreSQL a lock that a pooler leaks.
 */
export async function applySteps(
  db: Kysely<Tables>,
  engine: Engine,
  now: number,
  rewriting?: Rewriting,
): Promise<readonly string[]> {
  // SQLite transactions have the write lock from their start.
  if (engine === 'postgres') await sql`select pg_advisory_xact_lock(5625001)`.execute(db)
  // Another program may have brought it up to date before this one got the lock.
  const version = await schemaVersion({ db, engine })
  if (version === currentVersion) return []
  const isNew = version === 0
  if (isNew && engine === 'postgres') await requireUtf8(db)
  const rewritten = new Set(isNew ? [] : steps.slice(version - BASELINE_VERSION).flatMap(step => step.rewrites ?? []))
  if (rewritten.size > 0) rewriting?.save(version)
  const first = isNew ? BASELINE_VERSION : version + 1
  const pending = [BASELINE, ...steps].slice(first - BASELINE_VERSION)
  for (const [index, step] of pending.entries()) {
    const statements = step === BASELINE ? baseline(engine) : (step.only ?? engine) === engine ? step.statements : []
    for (const statement of statements) await sql.raw(forEngine(engine, statement)).execute(db)
    const row = { version: first + index, name: step.name, checksum: checksumOf(step), applied_at: now }
    await db.insertInto('migration').values(row).execute()
  }
  for (const table of rewritten) await rewriting?.rewrite(table)
  // Responses may differ now, and revisions must differ from those of any other upgrade.
  const revision = newRevision()
  const revisions = Object.fromEntries(recordTables.map(table => [`${table}_revision`, revision]))
  await db.updateTable('account').set(revisions).execute()
  return pending.map(({ name }) => name)
}

/** In another encoding some texts cannot be stored, and lengths are counted in bytes. */
async function requireUtf8(db: Kysely<Tables>) {
  const { rows } = await sql<{ server_encoding: string }>`show server_encoding`.execute(db)
  const encoding = rows[0]?.server_encoding
  if (encoding !== 'UTF8') throw new SchemaError(`the database has the encoding ${encoding}: create one with UTF8`)
}

/** Only in the search path of PostgreSQL: other schemas may belong to other programs. */
async function hasMigrations(db: Kysely<Tables>, engine: Engine): Promise<boolean> {
  const ofSqlite = sql`select 1 from sqlite_schema where type = 'table' and name = 'migration'`
  const ofPostgres = sql`select 1 from pg_class where relname = 'migration' and pg_table_is_visible(oid)`
  return (await (engine === 'sqlite' ? ofSqlite : ofPostgres).execute(db)).rows.length > 0
}

function checksumOf({ name, statements }: Step): string {
  return hash('sha256', JSON.stringify([name, statements]))
}

const newestVersion = query<object, { version: number }>(() => sql`select max(version) as version from migration`)

/** Throws StoreUnavailableError unless the store responds and has the schema this program works with. */
export async function checkReadiness(store: Pick<Store, 'read'>): Promise<void> {
  let version: number | undefined
  try {
    const [row] = await store.read(newestVersion, {})
    version = row?.version
  } catch (error) {
    throw new StoreUnavailableError('the schema of the database cannot be read', { cause: error })
  }
  if (version !== currentVersion) throw new StoreUnavailableError('the schema of the database is not the one expected')
}
