import { type Kysely, sql } from 'kysely'
import * as Type from 'typebox'
import { areas as allAreas } from '../contract/areas.ts'
import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import type { Tables } from '../store/tables.ts'
import type { EventType } from './events.ts'
import { act, type Scene } from './act.ts'
import { type AccessTerms, hasEnded, isOpenAccess, termsOf, columnsOf } from './access.ts'
import { Refusal } from '../contract/refusal.ts'

/** Access that owners give others to their records. Ended access stays stored, so that no import gives it again by accident. */

/** Whose records, and who may read them. */
export interface AccessPair {
  readonly ownerId: number
  readonly partnerId: number
}

const pair = { ownerId: Type.Integer(), partnerId: Type.Integer() }

export const terms = {
  areas: Type.Array(Type.Enum([...allAreas], { type: 'string' }), {
    minItems: 1,
    description: 'access needs at least one area',
  }),
  recordsFrom: Type.Union([Type.Integer({ multipleOf: DAY_MS }), Type.Null()], {
    description: 'the first day of access must be the start of a UTC day',
  }),
  until: Type.Union([Type.Integer({ maximum: LATEST }), Type.Null()], {
    description: `the end of access must be a day or a time, and not lie beyond ${formatTimestamp(LATEST)}`,
  }),
}

/**
 * Gives access for the operator: existing access on other terms, and access that has ended, is changed only with `again`. To give
 * the same access twice changes nothing.
 */
export const addAccess = act({
  title: 'Give access',
  event: 'access-given',
  input: Type.Object({ ...pair, ...terms, again: Type.Boolean() }),
  async run(scene, { again, ...access }) {
    const { db, now } = scene
    checkTerms(access, now)
    const stored = await findAccess(db, access)
    if (stored !== undefined && !again) {
      if (stored.endedAt !== null) {
        throw new Refusal(
          'refused',
          `the access was ended on ${formatTimestamp(stored.endedAt)}: left unchanged (--again gives it again)`,
        )
      }
      if (isWithin(stored, access) && isWithin(access, stored)) return
      throw new Refusal('refused', 'there is access on other terms: left unchanged (--again changes it)')
    }
    await writeAccess(db, access, now)
    const isNarrower = stored !== undefined && isOpen(stored, now) && isWithin(access, stored)
    await recordAccess(scene, access, isNarrower ? 'access-narrowed' : 'access-given')
  },
})

/** Ends access within a second in every process. */
export const endAccess = act({
  title: 'End access',
  event: 'access-ended',
  input: Type.Object(pair),
  async run(scene, access) {
    if (!(await endAccessIn(scene, access))) throw new Refusal('refused', NO_ACCESS)
  },
})

/** Ends access within a transaction. Returns false if there is none. */
export async function endAccessIn(scene: Scene, pair: AccessPair): Promise<boolean> {
  const { numUpdatedRows } = await scene.db
    .updateTable('partnership')
    .set({ ended_at: scene.now })
    .where('owner_id', '=', pair.ownerId)
    .where('partner_id', '=', pair.partnerId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  if (numUpdatedRows === 0n) return false
  await recordAccess(scene, pair)
  return true
}

/** Records a change of access for its owner, under the name of the partner. */
async function recordAccess({ db, record }: Scene, { ownerId, partnerId }: AccessPair, type?: EventType) {
  const partner = await db.selectFrom('account').select('username').where('id', '=', partnerId).executeTakeFirst()
  await record({ accountId: ownerId, subject: partner?.username ?? '' }, type)
}

export const NO_ACCESS = 'there is no such access'

export interface StoredAccess extends AccessTerms {
  readonly endedAt: number | null
}

export async function findAccess(db: Kysely<Tables>, pair: AccessPair): Promise<StoredAccess | undefined> {
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
  { ownerId, partnerId, ...terms }: AccessPair & AccessTerms,
  now: number,
  { byName = false, since = now } = {},
): Promise<void> {
  const columns = columnsOf(terms)
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

/** Throws Refusal if access is to oneself, or would have ended. */
export function checkTerms({ ownerId, partnerId, until }: AccessPair & Pick<AccessTerms, 'until'>, now: number) {
  if (ownerId === partnerId) throw new Refusal('refused', 'an account needs no access to itself')
  if (until !== null && until <= now) {
    throw new Refusal('refused', 'the end of access must lie in the future')
  }
}

export function isOpen({ until, endedAt }: StoredAccess, now: number): boolean {
  return endedAt === null && !hasEnded(until, now)
}

/** Whether terms allow no more than others. */
export function isWithin(narrow: AccessTerms, wide: AccessTerms): boolean {
  return (
    narrow.areas.every(area => wide.areas.includes(area)) &&
    (narrow.recordsFrom ?? -Infinity) >= (wide.recordsFrom ?? -Infinity) &&
    (narrow.until ?? Infinity) <= (wide.until ?? Infinity)
  )
}
