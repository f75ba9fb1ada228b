import { type Kysely, sql } from 'kysely'
import { areas as allAreas, isArea } from '../contract/areas.ts'
import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { type Actor, type EventKind, OPERATOR, recordEvent } from './events.ts'
import { type AccessTerms, hasEnded, isOpenAccess } from './access.ts'
import { noteGrantChange } from './grants.ts'
import { Refusal } from '../contract/refusal.ts'

/** Access that owners give others to their records. Ended access stays stored, so that no import gives it again by accident. */

/** Whose records, and who may read them. */
export interface AccessPair {
  readonly ownerId: number
  readonly partnerId: number
}

/**
 * Gives access for the operator: existing access on other terms, and access that has ended, is changed only with `again`. To give
 * the same access twice changes nothing. Throws Refusal.
 */
export async function addAccess(
  store: Store,
  pair: AccessPair,
  { again, ...terms }: AccessTerms & { readonly again: boolean },
  now: number,
): Promise<void> {
  checkTerms(pair, terms, now)
  await store.db.transaction().execute(async db => {
    const stored = await findAccess(db, pair)
    if (stored !== undefined && !again) {
      if (stored.endedAt !== null) {
        throw new Refusal(
          'refused',
          `the access was ended on ${formatTimestamp(stored.endedAt)}: left unchanged (--again gives it again)`,
        )
      }
      if (areSameTerms(stored, terms)) return
      throw new Refusal('refused', 'there is access on other terms: left unchanged (--again changes it)')
    }
    await writeAccess(db, pair, terms, now)
    const isNarrower = stored !== undefined && isOpen(stored, now) && isWithin(terms, stored)
    await recordAccess(db, pair, { kind: isNarrower ? 'access-narrowed' : 'access-given', now, actor: OPERATOR })
  })
  noteGrantChange()
}

/** Changes access to terms that allow no more than before. Throws Refusal if they allow more, or there is no access. */
export async function narrowAccess(
  store: Store,
  pair: AccessPair,
  terms: AccessTerms,
  now: number,
  actor: Actor,
): Promise<void> {
  checkTerms(pair, terms, now)
  await store.db.transaction().execute(async db => {
    const stored = await findAccess(db, pair)
    if (stored === undefined || !isOpen(stored, now)) throw new Refusal('refused', NO_ACCESS)
    if (!isWithin(terms, stored)) throw new Refusal('refused', 'the access would become wider: give it again instead')
    await writeAccess(db, pair, terms, now)
    await recordAccess(db, pair, { kind: 'access-narrowed', now, actor })
  })
  noteGrantChange()
}

/** Ends access within a second in every process. Throws Refusal if there is none. */
export async function endAccess(store: Store, pair: AccessPair, now: number): Promise<void> {
  await store.db.transaction().execute(async db => {
    if (!(await endAccessIn(db, pair, now, OPERATOR))) throw new Refusal('refused', NO_ACCESS)
  })
  noteGrantChange()
}

/** Ends access within a transaction. Returns false if there is none. */
export async function endAccessIn(db: Kysely<Tables>, pair: AccessPair, now: number, actor: Actor): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('partnership')
    .set({ ended_at: now })
    .where('owner_id', '=', pair.ownerId)
    .where('partner_id', '=', pair.partnerId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return false
  await recordAccess(db, pair, { kind: 'access-ended', now, actor })
  return true
}

/** Records a change of access for its owner, under the name of the partner. */
async function recordAccess(
  db: Kysely<Tables>,
  { ownerId, partnerId }: AccessPair,
  event: { readonly kind: EventKind; readonly now: number; readonly actor: Actor },
): Promise<void> {
  const partner = await db.selectFrom('account').select('username').where('id', '=', partnerId).executeTakeFirst()
  await recordEvent(db, { ...event, accountId: ownerId, subject: partner?.username ?? '' })
}

const NO_ACCESS = 'there is no such access'

interface StoredAccess extends AccessTerms {
  readonly endedAt: number | null
}

async function findAccess(db: Kysely<Tables>, pair: AccessPair): Promise<StoredAccess | undefined> {
  const row = await db
    .selectFrom('partnership')
    .select(['areas', 'records_from', 'expires_at', 'ended_at'])
    .where('owner_id', '=', pair.ownerId)
    .where('partner_id', '=', pair.partnerId)
    .executeTakeFirst()
  return row && { ...termsOf(row), endedAt: row.ended_at }
}

/**
 * Stores access within a transaction; its terms must be checked. Stored access keeps its `by_name` and, if it has not ended, the
 * time at which it was given; otherwise that is `since`.
 */
export async function writeAccess(
  db: Kysely<Tables>,
  { ownerId, partnerId }: AccessPair,
  terms: AccessTerms,
  now: number,
  { byName = false, since = now } = {},
): Promise<void> {
  const columns = {
    areas: areasText(terms),
    records_from: terms.recordsFrom,
    expires_at: terms.until,
  }
  await db
    .insertInto('partnership')
    .values({ owner_id: ownerId, partner_id: partnerId, ...columns, given_at: since, by_name: byName ? 1 : 0 })
    .onConflict(conflict =>
      conflict.columns(['partner_id', 'owner_id']).doUpdateSet({
        ...columns,
        // Access that has not ended keeps the time at which it was given first.
        given_at: sql`case when ${isOpenAccess(sql`${now}`)}
          then partnership.given_at else excluded.given_at end`,
        ended_at: null,
      }),
    )
    .execute()
}

/** The areas as they are stored. */
export function areasText({ areas }: Pick<AccessTerms, 'areas'>): string {
  return allAreas.filter(area => areas.includes(area)).join(' ')
}

/** Throws Refusal if terms are out of bounds. */
export function checkTerms(
  { ownerId, partnerId }: AccessPair,
  { areas, recordsFrom, until }: AccessTerms,
  now: number,
) {
  if (ownerId === partnerId) throw new Refusal('refused', 'an account needs no access to itself')
  if (areas.length === 0) throw new Refusal('refused', 'access needs at least one area')
  if (recordsFrom !== null && recordsFrom % DAY_MS !== 0)
    throw new Refusal('refused', 'the first day of access must be the start of a UTC day')
  if (until === null) return
  if (until <= now) throw new Refusal('refused', 'the end of access must lie in the future')
  if (until > LATEST) throw new Refusal('refused', `the end of access must not lie beyond ${formatTimestamp(LATEST)}`)
}

function isOpen({ until, endedAt }: StoredAccess, now: number): boolean {
  return endedAt === null && !hasEnded(until, now)
}

function areSameTerms(some: AccessTerms, other: AccessTerms): boolean {
  return isWithin(some, other) && isWithin(other, some)
}

/** Whether terms allow no more than others. */
export function isWithin(narrow: AccessTerms, wide: AccessTerms): boolean {
  return (
    narrow.areas.every(area => wide.areas.includes(area)) &&
    (narrow.recordsFrom ?? -Infinity) >= (wide.recordsFrom ?? -Infinity) &&
    (narrow.until ?? Infinity) <= (wide.until ?? Infinity)
  )
}

export interface TermColumns {
  readonly areas: string
  readonly records_from: number | null
  readonly expires_at: number | null
}

/** The terms in columns of the store. */
export function termsOf({ areas, records_from: recordsFrom, expires_at: until }: TermColumns): AccessTerms {
  return { areas: areas.split(' ').filter(isArea), recordsFrom, until }
}
