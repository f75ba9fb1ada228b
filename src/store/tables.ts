import { randomBytes } from 'node:crypto'
import type { Generated, Selectable } from 'kysely'

const OWNED = {
  id: 'integer primary key',
  owner_id: 'integer not null references account (id) on delete cascade',
} as const

const STORED = {
  document: 'text not null',
  etag: 'text not null',
  /** What the source had beyond the wire format, as JSON: RFC 6901 pointers into the document and their values. */
  extra: 'text',
} as const

type OneOf<Values> = 'text not null' & { readonly values: Values }
/** A text that is one of these. */
const oneOf = <Value extends string>(..._: readonly Value[]) => 'text not null' as OneOf<Value>

type Column = 'identity' | `${'integer' | 'text'}${'' | ` ${string}`}`

/**
 * Every column of the baseline, as both engines hold it: integers and text only. Instants are milliseconds since 1970, flags are 0 or 1.
 * Of a record, `document` is the JSON text that the API sends and `etag` its hash; all else is derived from it. Lists are ordered by
 * `at`, newest first.
 */
export const baselineTables = {
  migration: {
    version: 'integer primary key',
    name: 'text not null',
    checksum: 'text not null',
    applied_at: 'integer not null',
  },
  account: {
    id: 'integer primary key',
    username: 'text not null unique',
    subscription_tier: 'text',
    subscription_ends_at: 'integer',
    document: 'text not null',
    etag: 'text not null',
    password_hash: 'text',
    extra: 'text',
    /** The time up to which its records are known; null if unknown. */
    as_of: 'integer',
    /** For each kind of records, a number that is drawn again whenever records of the account are written; 0 before that. */
    lock_template_revision: 'integer not null default 0',
    lock_device_revision: 'integer not null default 0',
    training_device_revision: 'integer not null default 0',
    training_template_revision: 'integer not null default 0',
    lock_session_revision: 'integer not null default 0',
    training_session_revision: 'integer not null default 0',
    /** 53 random bits, drawn again whenever all its browsers, or all but one, are signed out; 0 before that. */
    sign_outs: 'integer not null default 0',
  },
  /** `owner_id` lets `partner_id` read, or did so until `ended_at`. */
  partnership: {
    owner_id: 'integer not null references account (id) on delete cascade',
    partner_id: 'integer not null references account (id) on delete cascade',
    extra: 'text',
    /** Separated by spaces, in the order of the contract. */
    areas: "text not null default 'lkbx dtt'",
    /** The start of a UTC day: sessions before it are not shown. */
    records_from: 'integer',
    expires_at: 'integer',
    /** Null if it is not known. */
    given_at: 'integer',
    ended_at: 'integer',
    /** 1 if its owner gave it to a username, and so may not know whether there is such an account. */
    by_name: 'integer not null default 0',
  },
  token: {
    id: 'identity',
    account_id: 'integer not null references account (id) on delete cascade',
    hash: 'text not null unique',
    name: 'text not null',
    last4: 'text not null',
    /** Separated by spaces, in the order of the contract. */
    scopes: 'text not null',
    created_at: 'integer not null',
    expires_at: 'integer',
    revoked_at: 'integer',
    last_used_at: 'integer',
    /** When another key replaced it; `expiryOf` says until when it works. */
    replaced_at: 'integer',
  },
  lock_template: {
    ...OWNED,
    at: 'integer not null',
    ...STORED,
    is_test_lock: 'integer not null default 0',
    is_time_displayed: 'integer not null default 1',
  },
  lock_device: { ...OWNED, ...STORED },
  training_device: { ...OWNED, ...STORED },
  training_template: {
    ...OWNED,
    at: 'integer not null',
    is_public: 'integer not null',
    is_active: 'integer not null',
    /** The document without its segments, as lists show it. */
    summary: 'text not null',
    ...STORED,
  },
  lock_session: {
    ...OWNED,
    at: 'integer not null',
    lock_state: 'text not null',
    is_active: 'integer not null',
    template_id: 'integer',
    /** Null also where the record has an end before its start. */
    ended_at: 'integer',
    /** The events as JSON: `[[<milliseconds since 1970>, <locked: 0 or 1>, <type>], …]`, in order. */
    events: 'text not null',
    ...STORED,
  },
  training_session: {
    ...OWNED,
    at: 'integer not null',
    passed: 'integer not null',
    settings_id: 'integer not null',
    segments: 'integer not null',
    /** The unweighted mean of the grades of its graded segments, rounded half up; null without any. */
    grade: 'integer',
    reps: 'integer not null',
    /** Micrometres; null when unknown. */
    distance_um: 'integer',
    approximate: 'integer not null',
    /**
     * Its segments by type as JSON: `[[<type>, <segments>, <passed>, [<grade>, …], <graded and passed>, <repetitions>,
     * <micrometres or null>, <seconds>, <points>], …]`. Grades are those of graded segments.
     */
    kinds: 'text not null',
    ...STORED,
  },
  /** Facts about the store itself. */
  note: { name: 'text primary key', value: 'text not null' },
  /** A browser in which somebody is signed in. */
  browser_session: {
    id: 'identity',
    account_id: 'integer not null references account (id) on delete cascade',
    hash: 'text not null unique',
    browser: 'text not null',
    created_at: 'integer not null',
    seen_at: 'integer not null',
    /** When the sign-in was last proved again, or the issuer last asked for it; null for when the session began. */
    confirmed_at: 'integer',
  },
  /** Dashboard settings of an account. */
  preference: {
    account_id: 'integer primary key references account (id) on delete cascade',
    /** Empty for the username. */
    display_name: 'text not null',
    /** An IANA name; empty until it is known. */
    time_zone: 'text not null',
    units: 'text not null',
    /** Repetitions; null for none. */
    weekly_goal: 'integer',
  },
  /** A row that came in and could not be stored as a record. */
  set_aside: {
    id: 'identity',
    /** Where it came from: the name of an archive, or the origin of a server. */
    source: 'text not null',
    /** Identifies it: kind, identifier and owner if they are known, else a hash of its bytes. */
    row_key: 'text not null',
    kind: 'text not null',
    record_id: 'integer',
    /** The owner that the row names; there need not be such an account. */
    owner_id: 'integer',
    account_id: 'integer references account (id) on delete cascade',
    reason: 'text not null',
    /** Its bytes, as text if `encoding` is `utf-8`, else in `base64`. */
    raw: 'text not null',
    encoding: oneOf('utf-8', 'base64'),
    first_seen_at: 'integer not null',
    last_seen_at: 'integer not null',
  },
  /** A server that records of an account are pulled from. */
  pull_source: {
    id: 'identity',
    account_id: 'integer not null references account (id) on delete cascade',
    /** Scheme, host and port, and the path before `/api/v1`. */
    origin: 'text not null',
    /** The username that the source last reported for the API key; null if it reports none. */
    username: 'text',
    /** 1 if the source says which account the API key belongs to. */
    knows_me: 'integer not null',
    /** Which parameters the source supports, as JSON. */
    capabilities: 'text not null',
    completed_at: 'integer',
    /** When the last complete round that read all lists began. */
    full_at: 'integer',
    /** 1 if the owner of the account said that records without an owner are theirs. */
    mine: 'integer not null default 0',
  },
  /** A row that was found at a source. */
  pull_row: {
    source_id: 'integer not null references pull_source (id) on delete cascade',
    /** As in an archive. */
    kind: 'text not null',
    id: 'integer not null',
    /** Null where it is not known. */
    owner_id: 'integer',
    /** A hash of the row in the list; empty if its record must be read again. */
    form: 'text not null',
    /** When it began, if it is a session that is not finished. */
    open_at: 'integer',
    /** When a complete read of the list first lacked it. */
    missing_at: 'integer',
    gone_at: 'integer',
  },
  /** Access that pulls have added: `owner_id` lets the account of the source read. No pull adds any more. */
  pull_access: {
    source_id: 'integer not null references pull_source (id) on delete cascade',
    owner_id: 'integer not null references account (id) on delete cascade',
    ended_at: 'integer',
  },
  /** A link with which an account chooses a sign-in method, once. */
  invitation: {
    account_id: 'integer primary key references account (id) on delete cascade',
    hash: 'text not null unique',
    created_at: 'integer not null',
  },
  /** An account that was removed. Its id is not used again unless somebody asks for it. */
  removed_account: { id: 'integer primary key', removed_at: 'integer not null' },
  /** How often somebody read the records of `owner_id` in an hour, in one way. */
  read_log: {
    id: 'identity',
    owner_id: 'integer not null references account (id) on delete cascade',
    /** Its start. */
    hour: 'integer not null',
    /** There need not be such an account any more; 0 for the operator, and where it is not known. */
    reader_id: 'integer not null',
    /** Empty for reads of which only the number is known. */
    via: 'text not null',
    /** Empty if the reader used no API key. */
    token_name: 'text not null',
    area: 'text not null',
    kind: 'text not null',
    reads: 'integer not null',
  },
  /** Access that an owner gave to a username that no account has. It has no effect. */
  unmatched_access: {
    owner_id: 'integer not null references account (id) on delete cascade',
    username: 'text not null',
    areas: 'text not null',
    records_from: 'integer',
    expires_at: 'integer',
    given_at: 'integer not null',
  },
  /** A key on a device of its owner. Bytes are in base64url. */
  passkey: {
    id: 'identity',
    account_id: 'integer not null references account (id) on delete cascade',
    credential_id: 'text not null unique',
    public_key: 'text not null',
    /** How often the device says that it was used; 0 for those that do not count. */
    counter: 'integer not null',
    /** Separated by spaces. */
    transports: 'text not null',
    /** The host that it works at. */
    rp_id: 'text not null',
    /** The identifier that devices store for the account; the same for all its passkeys. */
    user_handle: 'text not null',
    name: 'text not null',
    created_at: 'integer not null',
    last_used_at: 'integer',
  },
  /** Somebody at an OpenID Connect issuer who may sign in to an account. */
  linked_identity: {
    id: 'identity',
    account_id: 'integer not null references account (id) on delete cascade',
    issuer: 'text not null',
    subject: 'text not null',
    linked_at: 'integer not null',
    last_used_at: 'integer',
  },
  /** A challenge that was answered, so that nobody answers it again. */
  used_challenge: { hash: 'text primary key', expires_at: 'integer not null' },
  /** What happened to an account that concerns its safety. */
  account_event: {
    id: 'identity',
    account_id: 'integer not null references account (id) on delete cascade',
    /** The start of the hour for events that are counted. */
    at: 'integer not null',
    /** A type of `eventTypes`. */
    kind: 'text not null',
    /** Empty for events that are counted, of which nobody knows who caused them. */
    actor: oneOf('self', 'operator', 'service', ''),
    /** The name of the key, the passkey or the person that it is about; empty without one. */
    subject: 'text not null',
    /** The identifier of the key; 0 without one. */
    subject_id: 'integer not null',
    /** IPv4: a /24, IPv6: a /48; empty for the operator, and for networks that are only counted. */
    network: 'text not null',
    /** Its name and system; empty for the operator, and for keys. */
    browser: 'text not null',
    times: 'integer not null',
  },
  /** A source whose key is stored, so that the service pulls from it. Instants are those of the database's clock. */
  source_connection: {
    account_id: 'integer primary key references account (id) on delete cascade',
    /** As in `pull_source`. */
    origin: 'text not null',
    /** From the end of a round to the next; 0 for a single complete round. */
    every_minutes: 'integer not null',
    /** The API key, encrypted; null once it is forgotten. */
    sealed_key: 'text',
    /** The secret that the key is encrypted with. */
    secret_id: 'text',
    /** When the key is forgotten at the latest; null for a connection that stays. */
    key_until: 'integer',
    state: oneOf('due', 'running', 'waiting', 'stopped', 'done'),
    /** When the next round is due; null unless one is. */
    next_at: 'integer',
    started_at: 'integer',
    /** What the round has read, as JSON: `[{"kind", "read", "total" or null}]`. */
    progress: 'text not null',
    /** Rounds that failed since the last complete one. */
    failures: 'integer not null',
    failing_since: 'integer',
    /** Since when the source refuses the key. */
    refused_since: 'integer',
    /** What was wrong with the last round, as a code. */
    failure: 'text',
    /** Whose key it is, as the source says. */
    username: 'text',
    /** The process that pulls now, and until when it may without renewing that. */
    holder: 'text',
    lease_until: 'integer',
    /** Numbers of lock sessions that no list has, such as `12,15-40`. */
    known_locks: 'text not null',
    /** 1 if records without an owner belong to the account. */
    mine: 'integer not null',
    /** Raised with each change. */
    revision: 'integer not null',
  },
  /** A round of pulls from a connected source; of each account only the last ones are kept. */
  source_round: {
    account_id: 'integer not null references account (id) on delete cascade',
    ended_at: 'integer not null',
    added: 'integer not null',
    replaced: 'integer not null',
    gone: 'integer not null',
    rejected: 'integer not null',
    /** A code; null for a complete round. */
    failure: 'text',
  },
  /** When an account had a source checked in the last hour. */
  source_check: {
    account_id: 'integer not null references account (id) on delete cascade',
    at: 'integer not null',
  },
  /** A file that an account has sent to be imported. */
  upload: {
    account_id: 'integer primary key references account (id) on delete cascade',
    /** Random; names the file in the data folder. */
    id: 'text not null',
    /** As the sender calls the file. */
    name: 'text not null',
    state: oneOf('receiving', 'checking', 'asking', 'ready', 'storing', 'stored', 'failed'),
    received_at: 'integer not null',
    bytes: 'integer not null',
    /** The machine that has the file. */
    host: 'text not null',
    /** What was found in it, as JSON. */
    report: 'text',
    /** A code. */
    failure: 'text',
  },
} as const satisfies Record<string, Record<string, Column>>

/** Tables that steps have added since, in the same words. */
export const addedTables = {
  /** Work that one process does at a time. Instants are those of the database's clock. */
  job: {
    /** `erase`, or `pull` with the identifier of the account. */
    name: 'text primary key',
    state: oneOf('due', 'running', 'waiting', 'stopped', 'done'),
    /** The process that has it, and until when without renewing that. */
    holder: 'text',
    lease_until: 'integer',
    /** When it is due; null unless it is due or waits. */
    next_at: 'integer',
    /** How often it failed in a row. */
    attempts: 'integer not null',
    /** Of a pull, what the round has read, as JSON: `[{"kind", "read", "total" or null}]`. */
    report: 'text not null',
  },
  /** A record that its owner deleted: no import and no pull brings it back. */
  deleted_record: {
    owner_id: 'integer not null references account (id) on delete cascade',
    /** As in an archive. */
    kind: 'text not null',
    id: 'integer not null',
    /** That of the record; null for kinds without a time. */
    at: 'integer',
    /** As the table wrote it that made the record. */
    minute: 'text',
    deleted_at: 'integer not null',
    extra: 'text',
  },
  /** A file that added or replaced records of an account. */
  imported_file: {
    id: 'identity',
    owner_id: 'integer not null references account (id) on delete cascade',
    /** As its owner calls it. */
    name: 'text not null',
    at: 'integer not null',
    added: 'integer not null',
    replaced: 'integer not null',
  },
  /** A record that a file added. */
  imported_record: {
    owner_id: 'integer not null references account (id) on delete cascade',
    kind: 'text not null',
    id: 'integer not null',
    file_id: 'integer not null references imported_file (id) on delete cascade',
    /** 1 once something else has brought or changed the record, so that it stays when the file is undone. */
    is_kept: 'integer not null',
  },
} as const satisfies Record<string, Record<string, Column>>

interface MadeHereColumn {
  /** Of a record that a table made, what is kept beside it as JSON. */
  readonly made_here: 'text'
}

interface LanguageColumn {
  /** In which dates and numbers are written, as a tag of BCP 47; empty for that of the browser. */
  readonly language: "text not null default ''"
}

/** What they have removed. */
interface Removed {
  readonly pull_access: keyof (typeof baselineTables)['pull_access']
  readonly source_connection: 'state' | 'next_at' | 'progress' | 'failures' | 'holder' | 'lease_until' | 'revision'
}

type Described = Omit<typeof baselineTables, keyof Removed> & {
  readonly source_connection: Omit<(typeof baselineTables)['source_connection'], Removed['source_connection']>
} & typeof addedTables & {
    readonly lock_session: MadeHereColumn
    readonly training_session: MadeHereColumn
    readonly preference: LanguageColumn
  }
export type Tables = { [Name in keyof Described]: TableOf<Described[Name]> }

type TableOf<Columns> = { -readonly [Name in keyof Columns]: Cell<Columns[Name]> }

type Cell<Sql> = Sql extends 'identity' | `${string} default ${string}`
  ? Generated<Value<Sql>>
  : Sql extends `${string} ${'not null' | 'primary key'}${string}`
    ? Value<Sql>
    : Value<Sql> | null

type Value<Sql> = Sql extends OneOf<infer Values> ? Values : Sql extends `text${string}` ? string : number

export type PullSourceTable = Tables['pull_source']
export type PullRowTable = Tables['pull_row']
export type UploadTable = Tables['upload']
export type AccountRow = Selectable<Tables['account']>
export type KeyRow = Selectable<Tables['token']>
export type BrowserSessionRow = Selectable<Tables['browser_session']>
export type ReadRow = Selectable<Tables['read_log']>

/** The sign-in methods with which people prove who they are. */
export type SignInMethod = 'password' | 'passkey' | 'oidc'

/** Tables whose rows belong to an account and are read by the API. */
export const recordTables = [
  'lock_template',
  'lock_device',
  'lock_session',
  'training_template',
  'training_device',
  'training_session',
] as const
export type RecordName = (typeof recordTables)[number]

/**
 * A revision that no records had before: 53 random bits. A count or a time would repeat after a restore, or after the clock was set
 * back. Clients would then get 304 for records that they do not have.
 */
export function newRevision(): number {
  return Number(randomBytes(8).readBigUInt64BE() >> 11n)
}
