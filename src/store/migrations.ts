import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { query, type Engine } from './query.ts'
import { type Store, StoreUnavailableError } from './store.ts'
import { newRevision, type RecordName, recordTables, type Tables } from './tables.ts'
import { leaveOutUnknownDistances } from './unknown-distances.ts'

/** A step of the schema. A released step is never edited, because its checksum is stored in every database. */
interface Migration {
  readonly name: string
  /** In the SQL of SQLite; `forEngine` translates it. */
  readonly statements: readonly string[]
  /** Tables with new columns to fill from their records. */
  readonly fills?: readonly RecordName[]
  /** Checksums of an earlier form of the step, which led to the same schema. */
  readonly earlierChecksums?: readonly string[]
  /** The only engine that runs it; others record it as applied. */
  readonly only?: Engine
  /** A query of what the step cannot be applied to, and what to do about it. */
  readonly unless?: { readonly query: string; readonly advice: string }
  /** Runs after the statements and changes documents, which SQL cannot do. */
  readonly rewrite?: (db: Kysely<Tables>, engine: Engine, now: number) => Promise<void>
}

// Part of a released step, like its statements.
const RECORDS = [
  'lock_template',
  'lock_device',
  'training_device',
  'training_template',
  'lock_session',
  'training_session',
]

// As `browserName` wrote it when the step was released.
const BROWSER_NAME = `case when browser like '%Firefox/%' then 'Firefox' when browser like '%Edg/%' then 'Edge'
    when browser like '%Chrome/%' then 'Chrome' when browser like '%Safari/%' then 'Safari'
    when browser like '%curl/%' then 'curl' else 'Unknown browser' end
  || case when browser like '%iPhone%' then ' on iPhone' when browser like '%iPad%' then ' on iPad'
    when browser like '%Android%' then ' on Android' when browser like '%Windows%' then ' on Windows'
    when browser like '%Mac OS%' then ' on macOS' when browser like '%Linux%' then ' on Linux' else '' end`

// Indexes that begin with a filter column are created before the general one: SQLite uses the first of equally good ones.
const migrations: readonly Migration[] = [
  {
    name: 'records, accounts, tokens',
    statements: [
      `create table account (
        id integer primary key,
        username text not null unique,
        subscription_tier text,
        subscription_ends_at integer,
        document text not null,
        etag text not null,
        password_hash text
      ) strict`,
      `create table partnership (
        owner_id integer not null references account (id) on delete cascade,
        partner_id integer not null references account (id) on delete cascade,
        primary key (partner_id, owner_id)
      ) strict`,
      'create index partnership_by_owner on partnership (owner_id, partner_id)',
      `create table token (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        hash text not null unique,
        name text not null,
        last4 text not null,
        scopes text not null,
        created_at integer not null,
        expires_at integer,
        revoked_at integer,
        last_used_at integer
      ) strict`,
      'create index token_by_account on token (account_id)',
      table('lock_template', 'at integer not null'),
      'create index lock_template_by_time on lock_template (owner_id, at, id)',
      table('lock_device'),
      'create index lock_device_by_owner on lock_device (owner_id, id)',
      table('training_device'),
      'create index training_device_by_owner on training_device (owner_id, id)',
      table(
        'training_template',
        'at integer not null',
        'is_public integer not null',
        'is_active integer not null',
        'summary text not null',
      ),
      'create index training_template_active on training_template (owner_id, is_active, at, id)',
      'create index training_template_by_time on training_template (owner_id, at, id)',
      table(
        'lock_session',
        'at integer not null',
        'lock_state text not null',
        'is_active integer not null',
        'template_id integer',
        'ended_at integer',
        'events text not null',
      ),
      'create index lock_session_active on lock_session (owner_id, is_active, at, id)',
      'create index lock_session_by_state on lock_session (owner_id, lock_state, at, id)',
      'create index lock_session_by_time on lock_session (owner_id, at, id)',
      table(
        'training_session',
        'at integer not null',
        'passed integer not null',
        'settings_id integer not null',
        'segments integer not null',
        'grade integer',
        'reps integer not null',
        'distance_um integer',
        'approximate integer not null',
        'kinds text not null',
      ),
      'create index training_session_by_result on training_session (owner_id, passed, at, id)',
      'create index training_session_by_time on training_session (owner_id, at, id)',
      'create table note (name text primary key, value text not null) strict',
    ],
  },
  {
    name: 'sign-in',
    statements: [
      `create table browser_session (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        hash text not null unique,
        browser text not null,
        created_at integer not null,
        seen_at integer not null
      ) strict`,
      'create index browser_session_by_account on browser_session (account_id, id)',
      `create table preference (
        account_id integer primary key references account (id) on delete cascade,
        display_name text not null,
        time_zone text not null,
        units text not null
      ) strict`,
    ],
  },
  {
    // Keys that begin with the owner allow tables to be divided by owner.
    name: 'records keyed by owner',
    only: 'postgres',
    // The earlier form did not drop an index that an installation had created.
    earlierChecksums: ['e9868a13627401436b69196c7f9713d8836d8dd067d295d0aa52d1151aa1a658'],
    statements: [
      ...RECORDS.flatMap(name => [
        `alter table ${name} drop constraint ${name}_pkey, add primary key (owner_id, id)`,
        // Some installations have created a unique index, which a table that is divided cannot have.
        `drop index if exists ${name}_by_id`,
        `create index ${name}_by_id on ${name} (id)`,
      ]),
      'drop index lock_device_by_owner',
      'drop index training_device_by_owner',
    ],
  },
  {
    name: 'extra fields, as of, rows set aside',
    statements: [
      ...['account', 'partnership', ...RECORDS].map(name => `alter table ${name} add column extra text`),
      'alter table account add column as_of integer',
      `create table set_aside (
        id identity,
        source text not null,
        row_key text not null,
        kind text not null,
        record_id integer,
        owner_id integer,
        account_id integer references account (id) on delete cascade,
        reason text not null,
        raw text not null,
        encoding text not null,
        first_seen_at integer not null,
        last_seen_at integer not null,
        unique (source, row_key)
      ) strict`,
      'create index set_aside_by_key on set_aside (row_key)',
      'create index set_aside_by_account on set_aside (account_id)',
    ],
  },
  {
    name: 'graded segments, rules of lock templates',
    statements: [
      'alter table lock_template add column is_test_lock integer not null default 0',
      'alter table lock_template add column is_time_displayed integer not null default 1',
    ],
    fills: ['lock_template', 'training_session'],
  },
  {
    name: 'pull',
    statements: [
      `create table pull_source (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        origin text not null,
        username text,
        knows_me integer not null,
        capabilities text not null,
        completed_at integer,
        full_at integer,
        unique (account_id, origin)
      ) strict`,
      `create table pull_row (
        source_id integer not null references pull_source (id) on delete cascade,
        kind text not null,
        id integer not null,
        owner_id integer,
        form text not null,
        open_at integer,
        missing_at integer,
        gone_at integer,
        primary key (source_id, kind, id)
      ) strict`,
      'create index pull_row_open on pull_row (source_id, kind, open_at) where open_at is not null',
      'create index pull_row_gone on pull_row (source_id, kind) where gone_at is not null',
      `create table pull_access (
        source_id integer not null references pull_source (id) on delete cascade,
        owner_id integer not null references account (id) on delete cascade,
        ended_at integer,
        primary key (source_id, owner_id)
      ) strict`,
    ],
  },
  {
    name: 'unknown distances left out, newest instants',
    statements: [],
    rewrite: leaveOutUnknownDistances,
  },
  {
    name: 'invitations, sign-ins, removed accounts',
    statements: [
      'alter table browser_session add column confirmed_at integer',
      `create table invitation (
        account_id integer primary key references account (id) on delete cascade,
        hash text not null unique,
        created_at integer not null
      ) strict`,
      `create table sign_in (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        at integer not null,
        way text not null,
        browser text not null
      ) strict`,
      'create index sign_in_by_account on sign_in (account_id, id)',
      `create table removed_account (
        id integer primary key,
        removed_at integer not null
      ) strict`,
    ],
  },
  {
    name: 'replaced keys, weekly goal',
    statements: [
      'alter table token add column replaced_at integer',
      'alter table preference add column weekly_goal integer',
    ],
  },
  {
    name: 'terms of access, reads',
    statements: [
      "alter table partnership add column areas text not null default 'lkbx dtt'",
      'alter table partnership add column records_from integer',
      'alter table partnership add column expires_at integer',
      'alter table partnership add column given_at integer',
      'alter table partnership add column ended_at integer',
      "update token set scopes = scopes || ' shared:access'",
      `create table read_log (
        id identity,
        owner_id integer not null references account (id) on delete cascade,
        hour integer not null,
        reader_id integer not null,
        via text not null,
        token_name text not null,
        area text not null,
        kind text not null,
        reads integer not null,
        unique (owner_id, hour, reader_id, via, token_name, area, kind)
      ) strict`,
      'create index read_log_by_reader on read_log (owner_id, reader_id, hour, id)',
      'create index read_log_by_hour on read_log (owner_id, hour, id)',
      'create index read_log_by_age on read_log (hour)',
    ],
  },
  {
    name: 'access given to names without an account',
    statements: [
      `create table unmatched_access (
        owner_id integer not null references account (id) on delete cascade,
        username text not null,
        areas text not null,
        records_from integer,
        expires_at integer,
        given_at integer not null,
        primary key (owner_id, username)
      ) strict`,
    ],
  },
  {
    name: 'access given by name',
    statements: ['alter table partnership add column by_name integer not null default 0'],
  },
  {
    name: 'revisions of records',
    statements: ['alter table account add column revision integer not null default 0'],
  },
  {
    name: 'parts of imports',
    statements: [
      `create table import_part (
        id identity,
        part integer not null,
        kind text not null,
        added text,
        replaced text
      ) strict`,
      'create index import_part_by_part on import_part (part)',
    ],
  },
  {
    name: 'passkeys and linked identities',
    statements: [
      `create table passkey (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        credential_id text not null unique,
        public_key text not null,
        counter integer not null,
        transports text not null,
        rp_id text not null,
        user_handle text not null,
        name text not null,
        created_at integer not null,
        last_used_at integer
      ) strict`,
      'create index passkey_by_account on passkey (account_id, id)',
      `create table linked_identity (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        issuer text not null,
        subject text not null,
        linked_at integer not null,
        last_used_at integer,
        unique (issuer, subject),
        unique (account_id, issuer)
      ) strict`,
      `create table used_challenge (
        hash text primary key,
        expires_at integer not null
      ) strict`,
      'create index used_challenge_by_expiry on used_challenge (expires_at)',
    ],
  },
  {
    name: 'revisions by kind',
    statements: [
      ...RECORDS.map(name => `alter table account add column ${name}_revision integer not null default 0`),
      // An account that is added has 0, so that its empty lists differ from those it had before it was removed.
      `update account set ${RECORDS.map(name => `${name}_revision = revision + 1`).join(', ')}`,
      'alter table account drop column revision',
    ],
  },
  {
    name: 'ends of known browsers',
    statements: ['alter table account add column sign_outs integer not null default 0'],
  },
  {
    name: 'imports in one transaction',
    statements: ['drop table import_part'],
    unless: {
      query: "select 1 from note where name = 'import to be undone'",
      advice:
        'an import by an earlier version was killed and is half stored: run `lockstep account list` of that version, which undoes it, then this one',
    },
  },
  {
    name: 'account events',
    statements: [
      `create table account_event (
        id identity,
        account_id integer not null references account (id) on delete cascade,
        at integer not null,
        kind text not null,
        actor text not null,
        subject text not null,
        subject_id integer not null,
        network text not null,
        browser text not null,
        times integer not null
      ) strict`,
      'create index account_event_by_account on account_event (account_id, at, id)',
      'create index account_event_by_age on account_event (at)',
      `create unique index account_event_counted on account_event (account_id, at, kind, subject_id, network, browser)
        where actor = ''`,
      "create index account_event_by_key on account_event (subject_id, network) where kind = 'key-network'",
      `insert into account_event (account_id, at, kind, actor, subject, subject_id, network, browser, times)
        select account_id, at,
          case way when 'invitation-used' then 'invitation-password'
            when 'password' then 'signed-in-password' when 'passkey' then 'signed-in-passkey' when 'oidc' then 'signed-in-oidc'
            else way end,
          case way when 'invitation-made' then 'operator' else 'self' end, '', 0, '',
          case way when 'invitation-made' then '' else ${BROWSER_NAME} end, 1
        from sign_in order by at, id`,
      'drop table sign_in',
    ],
  },
  {
    // Deletes as the owner of the table, and nothing younger than a year: the role of the service may call it.
    name: 'removal of old account events',
    only: 'postgres',
    statements: [
      `do $step$ begin
        execute format('create function prune_account_events() returns void language sql security definer
          set search_path = %I, pg_temp
          as $function$
            delete from account_event where at < cast(extract(epoch from now()) * 1000 as bigint) - 31536000000
          $function$', current_schema());
      end $step$`,
    ],
  },
  {
    name: 'connections to sources, uploads',
    statements: [
      `create table source_connection (
        account_id integer primary key references account (id) on delete cascade,
        origin text not null,
        every_minutes integer not null,
        sealed_key text,
        secret_id text,
        key_until integer,
        state text not null,
        next_at integer,
        started_at integer,
        progress text not null,
        failures integer not null,
        failing_since integer,
        refused_since integer,
        failure text,
        username text,
        holder text,
        lease_until integer,
        known_locks text not null,
        mine integer not null,
        revision integer not null
      ) strict`,
      `create table source_round (
        account_id integer not null references account (id) on delete cascade,
        ended_at integer not null,
        added integer not null,
        replaced integer not null,
        gone integer not null,
        rejected integer not null,
        failure text,
        primary key (account_id, ended_at)
      ) strict`,
      `create table source_check (
        account_id integer not null references account (id) on delete cascade,
        at integer not null,
        primary key (account_id, at)
      ) strict`,
      `create table upload (
        account_id integer primary key references account (id) on delete cascade,
        id text not null,
        name text not null,
        state text not null,
        received_at integer not null,
        bytes integer not null,
        host text not null,
        report text,
        failure text
      ) strict`,
      'alter table pull_source add column mine integer not null default 0',
    ],
  },
]

export const currentVersion = migrations.length

/** The schema of the store cannot be used by this program; the message says what to do. */
export class SchemaError extends Error {
  override readonly name = 'SchemaError'
}

/** The version of a store; 0 if it is empty. Throws SchemaError if a newer program or other steps made its schema. */
export async function schemaVersion({ db, engine }: Pick<Store, 'db' | 'engine'>): Promise<number> {
  if (!(await hasMigrations(db, engine))) return 0
  const applied = await db.selectFrom('migration').select(['version', 'checksum']).orderBy('version').execute()
  if (applied.length > currentVersion) {
    throw new SchemaError(
      `a newer version of Lockstep wrote this database (schema ${applied.length}, this version supports ${currentVersion}): upgrade, or restore a backup that this version made`,
    )
  }
  for (const [index, { version, checksum }] of applied.entries()) {
    const known = migrations[index]
    if (version !== index + 1 || known === undefined || !checksumsOf(known).includes(checksum)) {
      throw new SchemaError(
        `schema version ${version} of the database is not the one that this version of Lockstep knows: use the version that made it`,
      )
    }
  }
  return applied.length
}

const newestVersion = query<object, { version: number }>(() => sql`select max(version) as version from migration`)

/** Throws StoreUnavailableError unless the store responds and has the schema this program works with. */
export async function checkVersion(store: Pick<Store, 'read'>): Promise<void> {
  let version: number | undefined
  try {
    const [row] = await store.read(newestVersion, {})
    version = row?.version
  } catch (error) {
    throw new StoreUnavailableError('the schema of the database cannot be read', { cause: error })
  }
  if (version !== currentVersion) throw new StoreUnavailableError('the schema of the database is not the one expected')
}

/** The migrations that were applied to a database. */
interface AppliedMigrations {
  readonly names: readonly string[]
  /** Tables with new columns, to be filled in the same transaction. */
  readonly tablesToFill: ReadonlySet<RecordName>
}

/** Whether bringing a database of this version up to date changes its documents. */
export function rewritesAfter(version: number): boolean {
  return migrations.slice(version).some(({ rewrite }) => rewrite !== undefined)
}

/** Brings the schema up to date, or to a version before, in the transaction that is open on the connection `db`. */
export async function applyMigrations(
  db: Kysely<Tables>,
  engine: Engine,
  now: number,
  upTo = currentVersion,
): Promise<AppliedMigrations> {
  // SQLite transactions have the write lock from their start.
  if (engine === 'postgres') await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(db)
  // Another program may have migrated before this one got the lock.
  const version = await schemaVersion({ db, engine })
  if (version === 0) {
    if (engine === 'postgres') await checkEncoding(db)
    await run(db, engine, MIGRATION_TABLE)
  }
  const pending = migrations.slice(version, upTo)
  for (const [index, migration] of pending.entries()) {
    if ((migration.only ?? engine) === engine) {
      await checkApplicable(db, migration)
      for (const statement of migration.statements) await run(db, engine, statement)
      await migration.rewrite?.(db, engine, now)
    }
    await db
      .insertInto('migration')
      .values({
        version: version + index + 1,
        name: migration.name,
        checksum: checksumOf(migration),
        applied_at: now,
      })
      .execute()
  }
  if (upTo === currentVersion) await renewRevisions(db)
  return {
    names: pending.map(migration => migration.name),
    tablesToFill: new Set(pending.flatMap(({ fills = [] }) => fills)),
  }
}

/** Throws SchemaError. */
async function checkApplicable(db: Kysely<Tables>, { unless }: Migration) {
  if (unless === undefined) return
  const { rows } = await sql.raw(unless.query).execute(db)
  if (rows.length > 0) throw new SchemaError(unless.advice)
}

/** Steps may change documents, or add revisions that are the same in every database of an earlier version. */
async function renewRevisions(db: Kysely<Tables>) {
  const revision = newRevision()
  const columns = Object.fromEntries(recordTables.map(table => [`${table}_revision`, revision]))
  await db.updateTable('account').set(columns).execute()
}

/** In another encoding some texts cannot be stored, and lengths are counted in bytes. */
async function checkEncoding(db: Kysely<Tables>) {
  const { rows } = await sql<{ encoding: string }>`select current_setting('server_encoding') as encoding`.execute(db)
  const encoding = rows[0]?.encoding
  if (encoding !== 'UTF8') throw new SchemaError(`the database has the encoding ${encoding}: create one with UTF8`)
}

const MIGRATION_LOCK = 5625_001

const MIGRATION_TABLE = `create table if not exists migration (
  version integer primary key,
  name text not null,
  checksum text not null,
  applied_at integer not null
) strict`

/** A record table: `columns` stand between the owner and the document. */
function table(name: string, ...columns: string[]): string {
  return `create table ${name} (
    ${[
      'id integer primary key',
      'owner_id integer not null references account (id) on delete cascade',
      ...columns,
      'document text not null',
      'etag text not null',
    ].join(',\n    ')}
  ) strict`
}

async function run(db: Kysely<Tables>, engine: Engine, statement: string) {
  await sql.raw(forEngine(engine, statement)).execute(db)
}

function forEngine(engine: Engine, statement: string): string {
  if (engine === 'sqlite') return statement.replace('id identity', 'id integer primary key autoincrement')
  return statement
    .replace('id identity', 'id bigint generated by default as identity primary key')
    .replaceAll(/\binteger\b/g, 'bigint')
    .replace(/\) strict$/, ')')
}

async function hasMigrations(db: Kysely<Tables>, engine: Engine): Promise<boolean> {
  const { rows } =
    engine === 'sqlite'
      ? await sql`select 1 from sqlite_schema where type = 'table' and name = 'migration'`.execute(db)
      : // Only in the search path: other schemas may belong to other programs.
        await sql`select 1 from pg_class where relname = 'migration' and pg_table_is_visible(oid)`.execute(db)
  return rows.length > 0
}

/** The checksums of a step that a database may have stored. */
function checksumsOf(migration: Migration): readonly string[] {
  return [checksumOf(migration), ...(migration.earlierChecksums ?? [])]
}

function checksumOf({ name, statements }: Migration): string {
  return hash('sha256', JSON.stringify([name, statements]))
}
