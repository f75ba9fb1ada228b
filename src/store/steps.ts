import type { Engine } from './query.ts'
import { addedTables, type RecordName } from './tables.ts'

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

export const steps: readonly Step[] = [
  {
    name: 'jobs',
    statements: [
      createTable('job'),
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
      createTable('deleted_record', 'primary key (owner_id, kind, id)'),
      'create index deleted_record_by_id on deleted_record (kind, id)',
      createTable('imported_file'),
      'create index imported_file_by_owner on imported_file (owner_id, id)',
      createTable('imported_record', 'primary key (owner_id, kind, id)'),
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
  { name: 'language', statements: ["alter table preference add column language text not null default ''"] },
]

/** With the spaces that it had when its checksum was first stored. */
function createTable(name: keyof typeof addedTables, ...keys: readonly string[]): string {
  const columns = Object.entries(addedTables[name]).map(([column, type]) => `${column} ${type}`)
  return `create table ${name} (\n        ${[...columns, ...keys].join(',\n        ')}\n      ) strict`
}
