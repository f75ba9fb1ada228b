import { randomBytes } from 'node:crypto'
import type { Generated, Selectable } from 'kysely'

/**
 * Every column, as both engines hold it: integers and text only. Instants are milliseconds since 1970, flags are 0 or 1.
 * Of a record, `document` is the JSON text that the API sends and `etag` its hash; all else is derived from it.
 */
export interface Tables {
  account: AccountTable
  partnership: PartnershipTable
  token: KeyTable
  lock_template: LockTemplateTable
  lock_device: RecordTable
  training_device: RecordTable
  training_template: TrainingTemplateTable
  lock_session: LockSessionTable
  training_session: TrainingSessionTable
  migration: MigrationTable
  note: NoteTable
  browser_session: BrowserSessionTable
  preference: PreferenceTable
  invitation: InvitationTable
  account_event: AccountEventTable
  passkey: PasskeyTable
  linked_identity: LinkedIdentityTable
  used_challenge: UsedChallengeTable
  set_aside: SetAsideTable
  pull_source: PullSourceTable
  pull_row: PullRowTable
  pull_access: PullAccessTable
  source_connection: SourceConnectionTable
  source_round: SourceRoundTable
  source_check: SourceCheckTable
  upload: UploadTable
  read_log: ReadLogTable
  removed_account: RemovedAccountTable
  unmatched_access: UnmatchedAccessTable
}

interface AccountTable extends Revisions {
  id: number
  username: string
  subscription_tier: string | null
  subscription_ends_at: number | null
  document: string
  etag: string
  password_hash: Generated<string | null>
  extra: Generated<string | null>
  /** The time up to which its records are known; null if unknown. */
  as_of: Generated<number | null>
  /** 53 random bits, drawn again whenever all its browsers, or all but one, are signed out; 0 before that. */
  sign_outs: Generated<number>
}

/** For each kind of records, a number that is drawn again whenever records of the account are written; 0 before that. */
type Revisions = { [Table in RecordName as `${Table}_revision`]: Generated<number> }

/** `owner_id` lets `partner_id` read, or did so until `ended_at`. */
interface PartnershipTable {
  owner_id: number
  partner_id: number
  extra: Generated<string | null>
  /** Separated by spaces, in the order of the contract. */
  areas: Generated<string>
  /** The start of a UTC day: sessions before it are not shown. */
  records_from: Generated<number | null>
  expires_at: Generated<number | null>
  /** Null if it is not known. */
  given_at: Generated<number | null>
  ended_at: Generated<number | null>
  /** 1 if its owner gave it to a username, and so may not know whether there is such an account. */
  by_name: Generated<number>
}

interface KeyTable {
  id: Generated<number>
  account_id: number
  hash: string
  name: string
  last4: string
  /** Separated by spaces, in the order of the contract. */
  scopes: string
  created_at: number
  expires_at: number | null
  revoked_at: number | null
  last_used_at: number | null
  /** When another key replaced it; `expiryOf` says until when it works. */
  replaced_at: Generated<number | null>
}

interface RecordTable {
  id: number
  owner_id: number
  document: string
  etag: string
  /** What the source had beyond the wire format, as JSON: RFC 6901 pointers into the document and their values. */
  extra: Generated<string | null>
}

interface DatedTable extends RecordTable {
  /** What lists are ordered by, newest first. */
  at: number
}

interface LockTemplateTable extends DatedTable {
  is_test_lock: number
  is_time_displayed: number
}

interface TrainingTemplateTable extends DatedTable {
  is_public: number
  is_active: number
  /** The document without its segments, as lists show it. */
  summary: string
}

interface LockSessionTable extends DatedTable {
  lock_state: string
  is_active: number
  template_id: number | null
  ended_at: number | null
  /** The events as JSON: `[[<milliseconds since 1970>, <locked: 0 or 1>, <kind>], …]`, in order. */
  events: string
}

interface TrainingSessionTable extends DatedTable {
  passed: number
  settings_id: number
  segments: number
  /** The unweighted mean of the grades of its graded segments, rounded half up; null without any. */
  grade: number | null
  reps: number
  /** Micrometres; null when unknown. */
  distance_um: number | null
  approximate: number
  /**
   * Its segments by kind as JSON: `[[<kind>, <segments>, <passed>, [<grade>, …], <graded and passed>, <repetitions>,
   * <micrometres or null>, <seconds>, <points>], …]`. Grades are those of graded segments.
   */
  kinds: string
}

interface MigrationTable {
  version: number
  name: string
  checksum: string
  applied_at: number
}

/** Facts about the store itself. */
interface NoteTable {
  name: string
  value: string
}

/** A browser in which somebody is signed in. */
interface BrowserSessionTable {
  id: Generated<number>
  account_id: number
  hash: string
  /** Its user agent. */
  browser: string
  created_at: number
  seen_at: number
  /** When the sign-in was last proved again, or the issuer last asked for it; null for when the session began. */
  confirmed_at: Generated<number | null>
}

/** A link with which an account chooses a sign-in method, once. */
interface InvitationTable {
  account_id: number
  hash: string
  created_at: number
}

/** The sign-in methods with which people prove who they are. */
export type SignInMethod = 'password' | 'passkey' | 'oidc'

/** What happened to an account that concerns its safety. */
interface AccountEventTable {
  id: Generated<number>
  account_id: number
  /** The start of the hour for events that are counted. */
  at: number
  /** A kind of `eventKinds`. */
  kind: string
  /** Empty for events that are counted, of which nobody knows who caused them. */
  actor: 'self' | 'operator' | 'service' | ''
  /** The name of the key, the passkey or the person that it is about; empty without one. */
  subject: string
  /** The identifier of the key; 0 without one. */
  subject_id: number
  /** IPv4: a /24, IPv6: a /48; empty for the operator, and for networks that are only counted. */
  network: string
  /** Its name and system; empty for the operator, and for keys. */
  browser: string
  times: number
}

/** A key on a device of its owner. Bytes are in base64url. */
interface PasskeyTable {
  id: Generated<number>
  account_id: number
  credential_id: string
  public_key: string
  /** How often the device says that it was used; 0 for those that do not count. */
  counter: number
  /** Separated by spaces. */
  transports: string
  /** The host that it works at. */
  rp_id: string
  /** The identifier that devices store for the account; the same for all its passkeys. */
  user_handle: string
  name: string
  created_at: number
  last_used_at: number | null
}

/** Somebody at an OpenID Connect issuer who may sign in to an account. */
interface LinkedIdentityTable {
  id: Generated<number>
  account_id: number
  issuer: string
  subject: string
  linked_at: number
  last_used_at: number | null
}

/** A challenge that was answered, so that nobody answers it again. */
interface UsedChallengeTable {
  hash: string
  expires_at: number
}

/** An account that was removed. Its id is not used again unless somebody asks for it. */
interface RemovedAccountTable {
  id: number
  removed_at: number
}

/** Access that an owner gave to a username that no account has. It has no effect. */
interface UnmatchedAccessTable {
  owner_id: number
  username: string
  areas: string
  records_from: number | null
  expires_at: number | null
  given_at: number
}

/** Dashboard settings of an account. */
interface PreferenceTable {
  account_id: number
  /** Empty for the username. */
  display_name: string
  /** An IANA name; empty until it is known. */
  time_zone: string
  units: string
  /** Repetitions; null for none. */
  weekly_goal: Generated<number | null>
}

/** A row that came in and could not be stored as a record. */
interface SetAsideTable {
  id: Generated<number>
  /** Where it came from: the name of an archive, or the origin of a server. */
  source: string
  /** Identifies it: kind, identifier and owner if they are known, else a hash of its bytes. */
  row_key: string
  kind: string
  record_id: number | null
  /** The owner that the row names; there need not be such an account. */
  owner_id: number | null
  account_id: number | null
  reason: string
  /** Its bytes, as text if `encoding` is `utf-8`, else in `base64`. */
  raw: string
  encoding: 'utf-8' | 'base64'
  first_seen_at: number
  last_seen_at: number
}

/** A server that records of an account are pulled from. */
export interface PullSourceTable {
  id: Generated<number>
  account_id: number
  /** Scheme, host and port, and the path before `/api/v1`. */
  origin: string
  /** The username that the source last reported for the API key; null if it reports none. */
  username: string | null
  /** 1 if the source says which account the API key belongs to. */
  knows_me: number
  /** Which parameters the source supports, as JSON. */
  capabilities: string
  /** When the last complete round ended. */
  completed_at: number | null
  /** When the last complete round that read all lists began. */
  full_at: number | null
  /** 1 if the owner of the account said that records without an owner are theirs. */
  mine: Generated<number>
}

/** A row that was found at a source. */
export interface PullRowTable {
  source_id: number
  /** As in an archive. */
  kind: string
  id: number
  /** Null where it is not known. */
  owner_id: number | null
  /** A hash of the row in the list; empty if its record must be read again. */
  form: string
  /** When it began, if it is a session that is not finished. */
  open_at: number | null
  /** When a complete read of the list first lacked it. */
  missing_at: number | null
  gone_at: number | null
}

/** Access that a pull added: `owner_id` lets the account of the source read. */
interface PullAccessTable {
  source_id: number
  owner_id: number
  ended_at: number | null
}

/** A source whose key is stored, so that the service pulls from it. Instants are those of the database's clock. */
interface SourceConnectionTable {
  account_id: number
  /** As in `pull_source`. */
  origin: string
  /** From the end of a round to the next; 0 for a single complete round. */
  every_minutes: number
  /** The API key, encrypted; null once it is forgotten. */
  sealed_key: string | null
  /** The secret that the key is encrypted with. */
  secret_id: string | null
  /** When the key is forgotten at the latest; null for a connection that stays. */
  key_until: number | null
  state: 'due' | 'running' | 'waiting' | 'stopped' | 'done'
  /** When the next round is due; null unless one is. */
  next_at: number | null
  /** When the round that is running began. */
  started_at: number | null
  /** What the round has read, as JSON: `[{"kind", "read", "total" or null}]`. */
  progress: string
  /** Rounds that failed since the last complete one. */
  failures: number
  failing_since: number | null
  /** Since when the source refuses the key. */
  refused_since: number | null
  /** What was wrong with the last round, as a code. */
  failure: string | null
  /** Whose key it is, as the source says. */
  username: string | null
  /** The process that pulls now, and until when it may without renewing that. */
  holder: string | null
  lease_until: number | null
  /** Numbers of lock sessions that no list has, such as `12,15-40`. */
  known_locks: string
  /** 1 if records without an owner belong to the account. */
  mine: number
  /** Raised with each change. */
  revision: number
}

/** A round of pulls from a connected source; of each account only the last ones are kept. */
interface SourceRoundTable {
  account_id: number
  ended_at: number
  added: number
  replaced: number
  gone: number
  rejected: number
  /** A code; null for a complete round. */
  failure: string | null
}

/** When an account had a source checked in the last hour. */
interface SourceCheckTable {
  account_id: number
  at: number
}

/** A file that an account has sent to be imported. */
export interface UploadTable {
  account_id: number
  /** Random; names the file in the data folder. */
  id: string
  /** As the sender calls the file. */
  name: string
  state: 'receiving' | 'checking' | 'asking' | 'ready' | 'storing' | 'stored' | 'failed'
  received_at: number
  bytes: number
  /** The machine that has the file. */
  host: string
  /** What was found in it, as JSON. */
  report: string | null
  /** A code. */
  failure: string | null
}

/** How often somebody read the records of `owner_id` in an hour, in one way. */
interface ReadLogTable {
  id: Generated<number>
  owner_id: number
  /** Its start. */
  hour: number
  /** There need not be such an account any more; 0 for the operator, and where it is not known. */
  reader_id: number
  /** Empty for reads of which only the number is known. */
  via: string
  /** Empty if the reader used no API key. */
  token_name: string
  area: string
  kind: string
  reads: number
}

export type AccountRow = Selectable<AccountTable>
export type KeyRow = Selectable<KeyTable>
export type EventRow = Selectable<AccountEventTable>
export type BrowserSessionRow = Selectable<BrowserSessionTable>
export type ReadRow = Selectable<ReadLogTable>

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
