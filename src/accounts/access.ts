import { type RawBuilder, sql } from 'kysely'
import { type Area, areas as allAreas } from '../contract/areas.ts'
import { ApiError } from '../contract/errors.ts'
import { type Params, type Query, query } from '../store/query.ts'
import type { RecordName } from '../store/tables.ts'
import type { Store } from '../store/index.ts'

/** Which rows an account may see: the first condition of every query of records, and the last check of each row. */

/** What somebody may read, and for how long. */
export interface AccessTerms {
  readonly areas: readonly Area[]
  /** The start of a UTC day: sessions before it are not shown. Null for all. */
  readonly recordsFrom: number | null
  /** When it ends (milliseconds since 1970); null if it does not. */
  readonly until: number | null
}

/** Access that somebody received, as a grant and a session of the dashboard hold it: valid until it ends. */
export interface SharedAccess extends AccessTerms {
  readonly ownerId: number
}

/** Somebody who reads, at an instant: with an API key, or signed in. */
export interface AccessHolder {
  readonly grant: { readonly accountId: number; readonly shared: readonly SharedAccess[] }
  readonly now: number
}

/** Which rows a query of records may show. It is a part of the values of each such query. */
export interface Access {
  readonly owners: readonly number[]
  /** The instant from which the rows of each owner are shown; undefined if all rows of all owners are. */
  readonly starts?: readonly number[] | undefined
}

export interface OwnerAccess {
  readonly owner: number
  /** The instant from which they are shown. */
  readonly start: number
}

/** Access to the rows that a list of a table shows: of the account named, or of all the caller may read. Throws owner_not_accessible. */
export function accessTo(holder: AccessHolder, table: RecordName, ownerId?: number): Access {
  if (ownerId !== undefined) {
    const { owner, start } = accessToOwner(holder, RULES[table].area, ownerId)
    return { owners: [owner], starts: RULES[table].isDated && start !== ALL ? [start] : undefined }
  }
  const { accountId, shared } = holder.grant
  if (shared.length === 0) return { owners: [accountId] }
  const readable = shared.filter(access => allows(access, RULES[table].area, holder.now))
  const isLimited = RULES[table].isDated && readable.some(({ recordsFrom }) => recordsFrom !== null)
  return {
    owners: [accountId, ...readable.map(access => access.ownerId)],
    starts: isLimited ? [ALL, ...readable.map(({ recordsFrom }) => recordsFrom ?? ALL)] : undefined,
  }
}

/** Access to the records of one account in an area: the one named, or the caller. Throws owner_not_accessible. */
export function accessToOwner({ grant, now }: AccessHolder, area: Area, ownerId = grant.accountId): OwnerAccess {
  if (ownerId === grant.accountId) return { owner: ownerId, start: ALL }
  const access = grant.shared.find(one => one.ownerId === ownerId)
  if (access === undefined || !allows(access, area, now)) throw new ApiError('owner_not_accessible')
  return { owner: ownerId, start: access.recordsFrom ?? ALL }
}

/** The areas of an account that may be read; none for a stranger. */
export function readableAreas({ grant, now }: AccessHolder, ownerId: number): readonly Area[] {
  if (ownerId === grant.accountId) return allAreas
  const access = grant.shared.find(one => one.ownerId === ownerId)
  return access === undefined ? [] : allAreas.filter(area => allows(access, area, now))
}

/** Access that shows nothing: no account has this identifier. */
export const NO_ACCESS: OwnerAccess = { owner: 0, start: 0 }

function allows({ areas: allowed, until }: SharedAccess, area: Area, now: number): boolean {
  return !hasEnded(until, now) && allowed.includes(area)
}

export function areaOf(table: RecordName): Area {
  return RULES[table].area
}

/** The area of each table, and whether an owner may show only its rows from a day on. */
const RULES: Readonly<Record<RecordName, { readonly area: Area; readonly isDated: boolean }>> = {
  lock_template: { area: 'lkbx', isDated: false },
  lock_device: { area: 'lkbx', isDated: false },
  lock_session: { area: 'lkbx', isDated: true },
  training_template: { area: 'dtt', isDated: false },
  training_device: { area: 'dtt', isDated: false },
  training_session: { area: 'dtt', isDated: true },
}

/** The start of access to all rows. */
const ALL = Number.MIN_SAFE_INTEGER

/** What the text of a query depends on. */
export interface AccessForm {
  /** The number of owners; beyond a limit, one query serves any number. */
  readonly owners: number | 'many'
  /** Whether rows are compared with the starts. */
  readonly isLimited: boolean
}

export function accessForm({ owners: { length }, starts }: Access): AccessForm {
  return { owners: length <= MAX_MERGED_OWNERS ? length : 'many', isLimited: starts !== undefined }
}

/** Names a form, for caching queries. */
export function accessFormName({ owners, isLimited }: AccessForm): string {
  return isLimited ? `${owners} limited` : String(owners)
}

// The engine merges the rows of each owner in a union. Beyond this number the rows are sorted instead.
const MAX_MERGED_OWNERS = 100

/** The forms that serve any access: to a table without sessions, and to a table with sessions. */
export const ANY_OWNERS: AccessForm = { owners: 'many', isLimited: false }
export const ANY_SESSIONS: AccessForm = { owners: 'many', isLimited: true }

/** The condition that a row may be shown. */
export function isReadable(param: Params<Access>, form: AccessForm): RawBuilder<boolean> {
  if (!form.isLimited) return isOfOwners(param, form, sql`owner_id`)
  if (form.owners !== 'many') return sql`(${sql.join(isReadableByOwner(param, form), sql` or `)})`
  return sql`(${isOfOwners(param, form, sql`owner_id`)} and at >= ${param.valueFor(sql`owner_id`, startsByOwner)})`
}

export function isOfOwners(param: Params<Access>, form: AccessForm, column: RawBuilder<unknown>): RawBuilder<boolean> {
  if (form.owners === 'many') return sql`${column} in ${param.rows(({ owners }) => owners)}`
  const owners = param.each(access => access.owners, form.owners)
  const [only] = owners
  return form.owners === 1 && only !== undefined ? sql`${column} = ${only}` : sql`${column} in (${sql.join(owners)})`
}

/** The same as conditions that each select the rows of one owner, unless there are too many. */
export function isReadableByOwner(param: Params<Access>, form: AccessForm): RawBuilder<boolean>[] {
  if (form.owners === 'many') return [isReadable(param, form)]
  const starts = param.each(access => access.starts ?? [], form.isLimited ? form.owners : 0)
  return param
    .each(({ owners }) => owners, form.owners)
    .map((owner, index) =>
      form.isLimited ? sql`(owner_id = ${owner} and at >= ${starts[index]})` : sql`owner_id = ${owner}`,
    )
}

function startsByOwner({ owners, starts }: Access): (readonly [number, number])[] {
  return owners.map((owner, index) => [owner, starts?.[index] ?? ALL])
}

/**
 * The condition that a session of one account, which the caller may read, may be shown. Sessions that are found by their identifiers
 * must not be searched along an index by time or owner: the unary plus keeps SQLite from it. PostgreSQL finds the owner's part of a
 * table by the plain column.
 */
export function isReadableOf(param: Params<OwnerAccess>, found: 'by time' | 'by id' = 'by time'): RawBuilder<boolean> {
  if (found === 'by time') return sql`(owner_id = ${param('owner')} and at >= ${param('start')})`
  const owner = param.engine === 'sqlite' ? sql`+owner_id` : sql`owner_id`
  return sql`(${owner} = ${param('owner')} and +at >= ${param('start')})`
}

/** Ends of access, API keys and tiers: milliseconds since 1970, or null for none. */

export function hasEnded(end: number | null, now: number): boolean {
  return end !== null && end <= now
}

/** The condition that an end in a column lies after an instant. */
export function endsAfter(column: RawBuilder<unknown>, now: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(${column} is null or ${column} > ${now})`
}

/** The condition that a row of `partnership` is access at an instant: it was not ended, and its end has not come. */
export function isOpenAccess(now: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`(partnership.ended_at is null and ${endsAfter(sql`partnership.expires_at`, now)})`
}

export interface TermColumns {
  readonly areas: string
  readonly records_from: number | null
  readonly expires_at: number | null
}

export function termsOf({ areas, records_from: recordsFrom, expires_at: until }: TermColumns): AccessTerms {
  return { areas: allAreas.filter(area => areas.split(' ').includes(area)), recordsFrom, until }
}

export function columnsOf({ areas, recordsFrom, until }: AccessTerms): TermColumns {
  return {
    areas: allAreas.filter(area => areas.includes(area)).join(' '),
    records_from: recordsFrom,
    expires_at: until,
  }
}

/**
 * The last check of who sees what. Every row that is read for a caller says which query it answers, and whose it is; a row about
 * somebody else says for whom it was read. Both are compared with what was asked for, so that no mistake in a query, in a driver or in
 * a pooler shows somebody what they may not see.
 */

/** What a row says of itself: the name of its query, and in `owner_id` whose it is, or for whom it was read. */
type CheckedRow = { readonly query: string } & (
  | { readonly owner_id: number; readonly is_public?: number }
  /** Of rows that a query has joined to one: their owners, or the lowest and the highest, separated by commas; null if there are none. */
  | { readonly owners: string | null }
  /** Of a row that was found by a secret: the hash of that. */
  | { readonly hash: string }
)

export type OwnedRow = Extract<CheckedRow, { owner_id: number }>

/** Values of a query: whose rows it may return, or who asks. */
export type Asked = { readonly owner: number } | { readonly owners: readonly number[] } | { readonly hash: string }

export interface CheckedQuery<Values, Row> {
  /** No other query has it. */
  readonly name: string
  readonly query: Query<Values, Row & CheckedRow>
}

/** A query that selects `query`, its name, and `owner_id`, `owners` or `hash`. */
export function checkedQuery<Values, Row>(
  name: string,
  build: (param: Params<Values>, named: RawBuilder<unknown>) => RawBuilder<unknown>,
): CheckedQuery<Values, Row> {
  const named = sql`${sql.lit(name)} as query`
  // The statement has the columns of the row.
  return { name, query: query(param => build(param, named) as RawBuilder<Row & CheckedRow>) }
}

/** A query of a table with the column `owner_id`; it selects `owned`. */
export function recordQuery<Values, Row>(
  name: string,
  build: (param: Params<Values>, owned: RawBuilder<unknown>) => RawBuilder<unknown>,
): CheckedQuery<Values, Row & OwnedRow> {
  return checkedQuery(name, (param, named) => build(param, sql`${named}, owner_id`))
}

/** Runs a query and checks its rows. Synchronous on SQLite. Throws WrongRowError, and what the store throws. */
export function readChecked<Values extends Asked, Row>(
  store: Pick<Store, 'read'>,
  { name, query }: CheckedQuery<Values, Row>,
  values: Values,
): Row[] | Promise<Row[]> {
  const rows = store.read(query, values)
  return rows instanceof Promise ? rows.then(all => checked(all, name, values)) : checked(rows, name, values)
}

/** A row that must not be shown. The message has no identifiers. */
class WrongRowError extends Error {
  override readonly name = 'WrongRowError'
}

function checked<Row>(rows: (Row & CheckedRow)[], name: string, values: Asked): Row[] {
  for (const row of rows) {
    if (row.query !== name) throw new WrongRowError(`the query "${name}" returned a row of another query`)
    if (!isAsked(row, values)) throw new WrongRowError(`the query "${name}" returned a row of somebody else`)
  }
  return rows
}

function isAsked(row: CheckedRow, values: Asked): boolean {
  if ('hash' in values) return 'hash' in row && row.hash === values.hash
  const isAllowed = (owner: number) => ('owners' in values ? values.owners.includes(owner) : owner === values.owner)
  if ('owner_id' in row) return isAllowed(row.owner_id) || row.is_public === 1
  return 'owners' in row && (row.owners === null || row.owners.split(',').every(owner => isAllowed(Number(owner))))
}

/** Whose records an account may read now, by identifier. */
export async function listReceivedAccess(store: Store, accountId: number, now: number): Promise<ReceivedAccess[]> {
  return (await readChecked(store, receivedAccess, { owner: accountId, now })).map(receivedOf)
}

export interface AccessRow extends TermColumns {
  readonly id: number
  readonly username: string
  readonly given_at: number | null
}

export type ReceivedAccess = ReturnType<typeof receivedOf>

/** Access as its owner or its reader sees it, with id and name of the other one. `since` is null if it is not known when it was given. */
export function receivedOf({ id, username, given_at: since, ...row }: AccessRow) {
  return { accountId: id, username, ...termsOf(row), since }
}

export const accessColumns = sql`account.id, account.username, areas, records_from, expires_at, given_at`

const receivedAccess = checkedQuery<{ owner: number; now: number }, AccessRow>(
  'received access',
  (param, named) => sql`
    select ${named}, partnership.partner_id as owner_id, ${accessColumns} from partnership join account on account.id = partnership.owner_id
    where partnership.partner_id = ${param('owner')}
      and ${isOpenAccess(param('now'))}
    order by partnership.owner_id`,
)
