import type { Engine } from './query.ts'
import { baselineTables } from './tables.ts'

/**
 * The schema before all steps: that of 2026-11-24, table for table. It is never edited, because its checksum is in every database. In the
 * SQL of SQLite; `forEngine` translates it.
 */
export function baseline(engine: Engine): readonly string[] {
  const isSqlite = engine === 'sqlite'
  const tables = Object.entries(baselineTables).flatMap(([table, columns]) => {
    const lines = Object.entries(columns).map(([column, type]) => `${column} ${type}`)
    const isDivided = !isSqlite && 'owner_id' in columns && 'document' in columns
    // A key that begins with the owner allows the table to be divided by owner.
    if (isDivided) lines.splice(0, 1, 'id integer not null', 'primary key (owner_id, id)')
    const created = `create table ${table} (${[...lines, ...(KEYS[table] ?? [])].join(', ')}) strict`
    return isDivided ? [created, `create index ${table}_by_id on ${table} (id)`] : [created]
  })
  return [...tables, ...INDEXES, ...(isSqlite ? DEVICE_INDEXES : [PRUNE_ACCOUNT_EVENTS])]
}

/** Keys of several columns. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  partnership: ['primary key (partner_id, owner_id)'],
  set_aside: ['unique (source, row_key)'],
  pull_source: ['unique (account_id, origin)'],
  pull_row: ['primary key (source_id, kind, id)'],
  pull_access: ['primary key (source_id, owner_id)'],
  read_log: ['unique (owner_id, hour, reader_id, via, token_name, area, kind)'],
  unmatched_access: ['primary key (owner_id, username)'],
  linked_identity: ['unique (issuer, subject)', 'unique (account_id, issuer)'],
  source_round: ['primary key (account_id, ended_at)'],
  source_check: ['primary key (account_id, at)'],
}

// Those that begin with a filter column are created before the general one: SQLite uses the first of equally good ones.
const INDEXES = `create index partnership_by_owner on partnership (owner_id, partner_id);
create index token_by_account on token (account_id);
create index lock_template_by_time on lock_template (owner_id, at, id);
create index training_template_active on training_template (owner_id, is_active, at, id);
create index training_template_by_time on training_template (owner_id, at, id);
create index lock_session_active on lock_session (owner_id, is_active, at, id);
create index lock_session_by_state on lock_session (owner_id, lock_state, at, id);
create index lock_session_by_time on lock_session (owner_id, at, id);
create index training_session_by_result on training_session (owner_id, passed, at, id);
create index training_session_by_time on training_session (owner_id, at, id);
create index browser_session_by_account on browser_session (account_id, id);
create index set_aside_by_key on set_aside (row_key);
create index set_aside_by_account on set_aside (account_id);
create index pull_row_open on pull_row (source_id, kind, open_at) where open_at is not null;
create index pull_row_gone on pull_row (source_id, kind) where gone_at is not null;
create index read_log_by_reader on read_log (owner_id, reader_id, hour, id);
create index read_log_by_hour on read_log (owner_id, hour, id);
create index read_log_by_age on read_log (hour);
create index passkey_by_account on passkey (account_id, id);
create index used_challenge_by_expiry on used_challenge (expires_at);
create index account_event_by_account on account_event (account_id, at, id);
create index account_event_by_age on account_event (at);
create unique index account_event_counted on account_event (account_id, at, kind, subject_id, network, browser)
  where actor = '';
create index account_event_by_key on account_event (subject_id, network) where kind = 'key-network'`.split(';\n')

const DEVICE_INDEXES = [
  'create index lock_device_by_owner on lock_device (owner_id, id)',
  'create index training_device_by_owner on training_device (owner_id, id)',
]

/** Deletes as the owner of the table, and nothing younger than a year: the role of the service may call it. */
const PRUNE_ACCOUNT_EVENTS = `do $step$ begin
        execute format('create function prune_account_events() returns void language sql security definer
          set search_path = %I, pg_temp
          as $function$
            delete from account_event where at < cast(extract(epoch from now()) * 1000 as bigint) - 31536000000
          $function$', current_schema());
      end $step$`
