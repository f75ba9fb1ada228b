import { type Area, areas, isArea } from '../contract/areas.ts'
import { isDigits, isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { accountText, isTier, User } from '../contract/people.ts'
import { DAY_MS, formatTimestamp, parseDay, formatDate } from '../contract/time.ts'
import { recordTables } from '../store/tables.ts'
import { recordWriter } from './canonical.ts'
import { Faults, InvalidError } from './faults.ts'
import { type JsonObject, noteUnknown } from './values.ts'
import { type Kind, line, type MergeOptions, type Row, stored } from './kind.ts'
import { isMinute } from './made-here.ts'
import { Notes } from './notes.ts'
import { identifier, optionalInstant, whole, zeroes } from './record-fields.ts'

const writeUser = recordWriter(User, { ignored: ['subscriptionEndsAt'] })

export const account: Kind = {
  name: 'account',
  table: 'account',
  schema: User,
  envelopeKeys: ['asOf'],
  columns: ['id', 'username', 'subscription_tier', 'subscription_ends_at', 'document', 'etag', 'extra', 'as_of'],
  key: ['id'],
  identity: ['etag', 'subscription_ends_at'],
  accounts: [],
  recordColumn: 'id',
  ownerColumn: 'id',
  isOwned: false,
  read: (data, envelope, notes) => {
    const faults = new Faults()
    const asOf = faults.collect(() => optionalInstant(envelope, 'asOf', notes)) ?? null
    const row = faults.collect(() => readAccount(data, notes))
    faults.throwIfAny()
    return { ...row, as_of: asOf, given: givenFields(data) }
  },
  merge: mergeAccount,
  write: row => {
    const ends = row['subscription_ends_at'] ?? null
    const data = accountText(String(row['document']), ends === null ? null : Number(ends))
    const asOf = row['as_of'] ?? null
    return line('account', data, row, asOf === null ? '' : `"asOf":"${formatTimestamp(Number(asOf))}"`)
  },
}

/** Makes the row of an account from its id, its username and whatever else is known. Throws InvalidError. */
export function readAccount(data: JsonObject, notes = new Notes()) {
  const tier = data['subscriptionTier'] ?? null
  const user = {
    ...data,
    accountType: data['accountType'] ?? 'user',
    subscriptionTier: tier,
    ...zeroes(data, ['league', 'rank', 'totalPoints', 'matchPoints']),
    profileImage: data['profileImage'] ?? null,
    profileDescription: data['profileDescription'] ?? null,
    profileTitle: data['profileTitle'] ?? null,
  }
  const faults = new Faults()
  const document = faults.collect(() => writeUser(user, notes)) ?? ''
  const username = faults.collect(() => readUsername(data['username'])) ?? ''
  const endsAt = faults.collect(() => optionalInstant(data, 'subscriptionEndsAt', notes)) ?? null
  faults.throwIfAny()
  if (typeof tier === 'string' && !isTier(tier)) notes.leniencies.push('unknown-tier')
  return {
    id: whole(user, 'id'),
    username,
    // The writer has checked that it is text or null.
    subscription_tier: tier as string | null,
    subscription_ends_at: endsAt,
    ...stored(document),
  }
}

/** The fields of an account that a line has, as JSON, to be merged with the stored account. */
function givenFields(data: JsonObject): string {
  return JSON.stringify(Object.fromEntries(ACCOUNT_FIELDS.flatMap(name => (name in data ? [[name, data[name]]] : []))))
}

const ACCOUNT_FIELDS = [...Object.keys(User.properties), 'subscriptionEndsAt']

/** An account keeps fields that its line does not have, and its tier unless tiers are updated. */
function mergeAccount(incoming: Row, stored: Row, { tiers: updatesTier }: MergeOptions): Row {
  const isSame = ['etag', 'subscription_ends_at'].every(column => (incoming[column] ?? null) === stored[column])
  if (isSame) return {}
  // Both are JSON of an object: a document, and what `givenFields` wrote.
  const before = JSON.parse(String(stored['document'])) as JsonObject
  const given = JSON.parse(String(incoming['given'])) as JsonObject
  const merged = readAccount({
    ...before,
    ...given,
    ...(updatesTier ? {} : { subscriptionTier: before['subscriptionTier'] }),
  })
  const updatesEnd = updatesTier && 'subscriptionEndsAt' in given
  return {
    ...merged,
    subscription_ends_at: updatesEnd ? merged.subscription_ends_at : (stored['subscription_ends_at'] ?? null),
  }
}

/** A name that cannot be confused with an identifier. */
function readUsername(value: unknown): string {
  if (value === undefined) throw new InvalidError('is missing', 'username')
  if (typeof value !== 'string' || !isName(value)) {
    throw new InvalidError(`must be text of 1 to ${MAX_NAME_LENGTH} characters without control characters`, 'username')
  }
  if (isDigits(value)) throw new InvalidError('must not be all digits', 'username')
  return value
}

/** The terms of access: stored values stay, whatever a line says. */
const TERMS = ['areas', 'records_from', 'expires_at', 'ended_at']

export const partnership: Kind = {
  name: 'partnership',
  table: 'partnership',
  envelopeKeys: [],
  columns: ['owner_id', 'partner_id', ...TERMS, 'extra'],
  fixed: TERMS,
  key: ['owner_id', 'partner_id'],
  identity: [],
  accounts: ['owner_id', 'partner_id'],
  recordColumn: 'partner_id',
  ownerColumn: 'owner_id',
  isOwned: false,
  read: (data, _envelope, notes) => {
    const faults = new Faults()
    const owner = faults.collect(() => identifier(data, 'ownerId')) ?? null
    const partner = faults.collect(() => identifier(data, 'partnerId')) ?? null
    if (owner !== null && owner === partner) faults.add(new InvalidError('must not be the owner', 'partnerId'))
    const terms = faults.collect(() => readTerms(data))
    noteUnknown(data, PARTNERSHIP_FIELDS, notes, faults)
    faults.throwIfAny()
    return { owner_id: owner, partner_id: partner, ...terms }
  },
  write: row => line('partnership', JSON.stringify(partnershipData(row)), row),
}

/** A record that its owner deleted. A line of one that is stored changes nothing. */
export const deletion: Kind = {
  name: 'deletion',
  table: 'deleted_record',
  envelopeKeys: [],
  columns: ['owner_id', 'kind', 'id', 'at', 'minute', 'deleted_at', 'extra'],
  fixed: ['at', 'minute', 'deleted_at'],
  key: ['owner_id', 'kind', 'id'],
  identity: [],
  accounts: ['owner_id'],
  recordColumn: 'id',
  ownerColumn: 'owner_id',
  isOwned: false,
  read: (data, _envelope, notes) => {
    const faults = new Faults()
    const id = faults.collect(() => identifier(data, 'id')) ?? null
    const owner = faults.collect(() => identifier(data, 'ownerId')) ?? null
    const at = faults.collect(() => optionalInstant(data, 'at')) ?? null
    const deletedAt = faults.collect(() => optionalInstant(data, 'deletedAt')) ?? null
    const kind = recordTables.find(table => table.replace('_', '-') === data['kind'])
    const { minute = null } = data
    if (kind === undefined) faults.add(new InvalidError('must be a kind of records', 'kind'))
    if (minute !== null && !isMinute(minute)) faults.add(new InvalidError('must be a minute or null', 'minute'))
    if (deletedAt === null) faults.add(new InvalidError('must be an RFC 3339 date-time', 'deletedAt'))
    noteUnknown(data, DELETION_FIELDS, notes, faults)
    faults.throwIfAny()
    return { owner_id: owner, kind: kind?.replace('_', '-') ?? '', id, at, minute, deleted_at: deletedAt } as Row
  },
  write: row => {
    const { at = null, minute = null } = row
    const times = {
      ...(at === null ? {} : { at: formatTimestamp(Number(at)) }),
      ...(minute === null ? {} : { minute }),
      deletedAt: formatTimestamp(Number(row['deleted_at'])),
    }
    return line(
      'deletion',
      JSON.stringify({ ownerId: row['owner_id'], kind: row['kind'], id: row['id'], ...times }),
      row,
    )
  },
}

const DELETION_FIELDS = new Set(['ownerId', 'kind', 'id', 'at', 'minute', 'deletedAt'])

const PARTNERSHIP_FIELDS = new Set(['ownerId', 'partnerId', 'areas', 'recordsFrom', 'until', 'endedAt'])

/** Reads the terms of access from a line; a line without terms allows everything. Throws InvalidError. */
function readTerms(data: JsonObject) {
  const faults = new Faults()
  const given = faults.collect(() => readAreas(data['areas'])) ?? []
  const recordsFrom = faults.collect(() => readRecordsFrom(data['recordsFrom'])) ?? null
  const until = faults.collect(() => optionalInstant(data, 'until')) ?? null
  const endedAt = faults.collect(() => optionalInstant(data, 'endedAt')) ?? null
  faults.throwIfAny()
  return { areas: given.join(' '), records_from: recordsFrom, expires_at: until, ended_at: endedAt }
}

/** Throws InvalidError. */
function readAreas(value: unknown): readonly Area[] {
  if (value === undefined) return areas
  const given: readonly unknown[] = Array.isArray(value) ? value : []
  if (given.length === 0 || !given.every(area => typeof area === 'string' && isArea(area))) {
    throw new InvalidError(`must be a list of ${areas.join(' and ')}`, 'areas')
  }
  return areas.filter(area => given.includes(area))
}

/** The start of a day. Throws InvalidError. */
function readRecordsFrom(value: unknown = null): number | null {
  if (value === null) return null
  const day = typeof value === 'string' ? parseDay(value) : undefined
  if (day === undefined) throw new InvalidError('must be a day as YYYY-MM-DD, or null', 'recordsFrom')
  return day
}

/** The data of a line: it has terms only if access is narrowed, or has ended. */
function partnershipData(row: Row) {
  const { records_from: recordsFrom = null, expires_at: until = null, ended_at: endedAt = null } = row
  const given = String(row['areas']).split(' ')
  return {
    ownerId: row['owner_id'],
    partnerId: row['partner_id'],
    ...(given.length === areas.length ? {} : { areas: given }),
    ...(recordsFrom === null ? {} : { recordsFrom: formatDate(Number(recordsFrom) / DAY_MS) }),
    ...(until === null ? {} : { until: formatTimestamp(Number(until)) }),
    ...(endedAt === null ? {} : { endedAt: formatTimestamp(Number(endedAt)) }),
  }
}
