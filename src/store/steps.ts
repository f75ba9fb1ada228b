import type { Engine } from './query.ts'
import type { RecordName } from './tables.ts'

/** A step of the schema. A released one is never edited, because its checksum is stored in every database. */
export interface Step {
  readonly name: string
  /** In the SQL of SQLite; `forEngine` translates it. */
  readonly statements: readonly string[]
  /** The only engine that runs them; the other one records the step as applied. */
  readonly only?: Engine
  /** Tables whose records are read again, as an import reads them, and stored as they are then. SQLite is copied before. */
  readonly rewrites?: readonly RecordName[]
}

/** What follows the baseline, in order. */
export const steps: readonly Step[] = [
  {
    name: 'jobs',
    statements: [
      `create table job (
        name text primary key,
        state text not null,
        holder text,
        lease_until integer,
        next_at integer,
        attempts integer not null,
        report text not null
      ) strict`,
      `insert into job (name, state, holder, lease_until, next_at, attempts, report)
        select 'pull ' || account_id, state, holder, lease_until, next_at, failures, progress from source_connection`,
      `insert into job (name, state, attempts, report)
        select 'erase', 'due', 0, value from note where name = 'deleted rows to be erased'`,
      "delete from note where name = 'deleted rows to be erased' or name like 'pulls into %'",
      ...['state', 'next_at', 'progress', 'failures', 'holder', 'lease_until', 'revision'].map(
        column => `alter table source_connection drop column ${column}`,
      ),
      'drop table pull_access',
    ],
  },
  {
    name: 'deletions',
    statements: [
      'update lock_session set ended_at = null where ended_at < at',
      `create table deleted_record (
        owner_id integer not null references account (id) on delete cascade,
        kind text not null,
        id integer not null,
        at integer,
        minute text,
        deleted_at integer not null,
        extra text,
        primary key (owner_id, kind, id)
      ) strict`,
      'create index deleted_record_by_id on deleted_record (kind, id)',
      `create table imported_file (
        id identity,
        owner_id integer not null references account (id) on delete cascade,
        name text not null,
        at integer not null,
        added integer not null,
        replaced integer not null
      ) strict`,
      'create index imported_file_by_owner on imported_file (owner_id, id)',
      `create table imported_record (
        owner_id integer not null references account (id) on delete cascade,
        kind text not null,
        id integer not null,
        file_id integer not null references imported_file (id) on delete cascade,
        is_kept integer not null,
        primary key (owner_id, kind, id)
      ) strict`,
      'create index imported_record_by_file on imported_record (file_id, is_kept)',
    ],
  },
  {
    name: 'made here',
    statements: [
      'alter table lock_session add column made_here text',
      'alter table training_session add column made_here text',
      `create index training_session_made_here on training_session (owner_id, settings_id, at, made_here)
        where made_here is not null`,
    ],
  },
]
