import type { Engine } from './query.ts'

/**
 * The schema before all steps: that of 2026-11-24, table for table. It is never edited, because its checksum is in every database. In the
 * SQL of SQLite; `forEngine` translates it.
 */
export function baseline(engine: Engine): readonly string[] {
  const isSqlite = engine === 'sqlite'
  return [
    ...statements(ACCOUNTS),
    ...record(
      'lock_template',
      ['at integer not null'],
      ['is_test_lock integer not null default 0', 'is_time_displayed integer not null default 1'],
    ),
    ...record('lock_device'),
    ...record('training_device'),
    ...record('training_template', [
      'at integer not null',
      'is_public integer not null',
      'is_active integer not null',
      'summary text not null',
    ]),
    ...record('lock_session', [
      'at integer not null',
      'lock_state text not null',
      'is_active integer not null',
      'template_id integer',
      'ended_at integer',
      'events text not null',
    ]),
    ...record('training_session', [
      'at integer not null',
      'passed integer not null',
      'settings_id integer not null',
      'segments integer not null',
      'grade integer',
      'reps integer not null',
      'distance_um integer',
      'approximate integer not null',
      'kinds text not null',
    ]),
    ...statements(RECORD_INDEXES),
    ...(isSqlite ? statements(DEVICE_INDEXES) : []),
    ...statements(SERVICE),
    ...(isSqlite ? [] : [PRUNE_ACCOUNT_EVENTS]),
  ]

  /** A table of records: `before` and `after` are the columns around the document. */
  function record(name: string, before: readonly string[] = [], after: readonly string[] = []) {
    const columns = [
      `id integer ${isSqlite ? 'primary key' : 'not null'}`,
      'owner_id integer not null references account (id) on delete cascade',
      ...before,
      'document text not null',
      'etag text not null',
      'extra text',
      ...after,
      // A key that begins with the owner allows the table to be divided by owner.
      ...(isSqlite ? [] : ['primary key (owner_id, id)']),
    ]
    const table = `create table ${name} (${columns.join(', ')}) strict`
    return isSqlite ? [table] : [table, `create index ${name}_by_id on ${name} (id)`]
  }
}

function statements(text: string): string[] {
  return text.trim().split(/;\n+/)
}

const ACCOUNTS = `
create table account (
  id integer primary key,
  username text not null unique,
  subscription_tier text,
  subscription_ends_at integer,
  document text not null,
  etag text not null,
  password_hash text,
  extra text,
  as_of integer,
  lock_template_revision integer not null default 0,
  lock_device_revision integer not null default 0,
  training_device_revision integer not null default 0,
  training_template_revision integer not null default 0,
  lock_session_revision integer not null default 0,
  training_session_revision integer not null default 0,
  sign_outs integer not null default 0
) strict;

create table partnership (
  owner_id integer not null references account (id) on delete cascade,
  partner_id integer not null references account (id) on delete cascade,
  extra text,
  areas text not null default 'lkbx dtt',
  records_from integer,
  expires_at integer,
  given_at integer,
  ended_at integer,
  by_name integer not null default 0,
  primary key (partner_id, owner_id)
) strict;
create index partnership_by_owner on partnership (owner_id, partner_id);

create table token (
  id identity,
  account_id integer not null references account (id) on delete cascade,
  hash text not null unique,
  name text not null,
  last4 text not null,
  scopes text not null,
  created_at integer not null,
  expires_at integer,
  revoked_at integer,
  last_used_at integer,
  replaced_at integer
) strict;
create index token_by_account on token (account_id)`

// Indexes that begin with a filter column are created before the general one: SQLite uses the first of equally good ones.
const RECORD_INDEXES = `
create index lock_template_by_time on lock_template (owner_id, at, id);
create index training_template_active on training_template (owner_id, is_active, at, id);
create index training_template_by_time on training_template (owner_id, at, id);
create index lock_session_active on lock_session (owner_id, is_active, at, id);
create index lock_session_by_state on lock_session (owner_id, lock_state, at, id);
create index lock_session_by_time on lock_session (owner_id, at, id);
create index training_session_by_result on training_session (owner_id, passed, at, id);
create index training_session_by_time on training_session (owner_id, at, id)`

const DEVICE_INDEXES = `
create index lock_device_by_owner on lock_device (owner_id, id);
create index training_device_by_owner on training_device (owner_id, id)`

/** Deletes as the owner of the table, and nothing younger than a year: the role of the service may call it. */
const PRUNE_ACCOUNT_EVENTS = `do $step$ begin
        execute format('create function prune_account_events() returns void language sql security definer
          set search_path = %I, pg_temp
          as $function$
            delete from account_event where at < cast(extract(epoch from now()) * 1000 as bigint) - 31536000000
          $function$', current_schema());
      end $step$`

const SERVICE = `
create table note (name text primary key, value text not null) strict;

create table browser_session (
  id identity,
  account_id integer not null references account (id) on delete cascade,
  hash text not null unique,
  browser text not null,
  created_at integer not null,
  seen_at integer not null,
  confirmed_at integer
) strict;
create index browser_session_by_account on browser_session (account_id, id);

create table preference (
  account_id integer primary key references account (id) on delete cascade,
  display_name text not null,
  time_zone text not null,
  units text not null,
  weekly_goal integer
) strict;

create table set_aside (
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
) strict;
create index set_aside_by_key on set_aside (row_key);
create index set_aside_by_account on set_aside (account_id);

create table pull_source (
  id identity,
  account_id integer not null references account (id) on delete cascade,
  origin text not null,
  username text,
  knows_me integer not null,
  capabilities text not null,
  completed_at integer,
  full_at integer,
  mine integer not null default 0,
  unique (account_id, origin)
) strict;

create table pull_row (
  source_id integer not null references pull_source (id) on delete cascade,
  kind text not null,
  id integer not null,
  owner_id integer,
  form text not null,
  open_at integer,
  missing_at integer,
  gone_at integer,
  primary key (source_id, kind, id)
) strict;
create index pull_row_open on pull_row (source_id, kind, open_at) where open_at is not null;
create index pull_row_gone on pull_row (source_id, kind) where gone_at is not null;

create table pull_access (
  source_id integer not null references pull_source (id) on delete cascade,
  owner_id integer not null references account (id) on delete cascade,
  ended_at integer,
  primary key (source_id, owner_id)
) strict;

create table invitation (
  account_id integer primary key references account (id) on delete cascade,
  hash text not null unique,
  created_at integer not null
) strict;

create table removed_account (
  id integer primary key,
  removed_at integer not null
) strict;

create table read_log (
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
) strict;
create index read_log_by_reader on read_log (owner_id, reader_id, hour, id);
create index read_log_by_hour on read_log (owner_id, hour, id);
create index read_log_by_age on read_log (hour);

create table unmatched_access (
  owner_id integer not null references account (id) on delete cascade,
  username text not null,
  areas text not null,
  records_from integer,
  expires_at integer,
  given_at integer not null,
  primary key (owner_id, username)
) strict;

create table passkey (
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
) strict;
create index passkey_by_account on passkey (account_id, id);

create table linked_identity (
  id identity,
  account_id integer not null references account (id) on delete cascade,
  issuer text not null,
  subject text not null,
  linked_at integer not null,
  last_used_at integer,
  unique (issuer, subject),
  unique (account_id, issuer)
) strict;

create table used_challenge (
  hash text primary key,
  expires_at integer not null
) strict;
create index used_challenge_by_expiry on used_challenge (expires_at);

create table account_event (
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
) strict;
create index account_event_by_account on account_event (account_id, at, id);
create index account_event_by_age on account_event (at);
create unique index account_event_counted on account_event (account_id, at, kind, subject_id, network, browser)
  where actor = '';
create index account_event_by_key on account_event (subject_id, network) where kind = 'key-network';

create table source_connection (
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
) strict;

create table source_round (
  account_id integer not null references account (id) on delete cascade,
  ended_at integer not null,
  added integer not null,
  replaced integer not null,
  gone integer not null,
  rejected integer not null,
  failure text,
  primary key (account_id, ended_at)
) strict;

create table source_check (
  account_id integer not null references account (id) on delete cascade,
  at integer not null,
  primary key (account_id, at)
) strict;

create table upload (
  account_id integer primary key references account (id) on delete cascade,
  id text not null,
  name text not null,
  state text not null,
  received_at integer not null,
  bytes integer not null,
  host text not null,
  report text,
  failure text
) strict`
