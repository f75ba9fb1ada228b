import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { type Actor, recordEvent } from './events.ts'
import { endsAfter, type AccessTerms } from './access.ts'
import { noteGrantChange } from './grants.ts'
import { type GivenAccess, listAccess } from './access-lists.ts'
import {
  type AccessPair,
  areasText,
  checkTerms,
  endAccessIn,
  isWithin,
  narrowAccess,
  writeAccess,
} from './shared-access.ts'
import { Refusal } from '../contract/refusal.ts'

/**
 * Access as its owner handles it: by username. Names that no account has are listed, narrowed and ended like others, so
 * that nothing here tells whether an account exists. They have no effect, even if an account gets such a name later.
 */

/** Access that an owner gave to a name. */
export interface NamedAccess extends Omit<GivenAccess, 'accountId'> {
  /** Identifies it among all that the owner gave. */
  readonly handle: number
}

/**
 * Gives access to the account with exactly this username, on these terms, which replace those of earlier access, ended or
 * not. Does the same work whether there is such an account or not. Throws Refusal if the terms are out of bounds, the
 * name is the owner's, or too many have access.
 */
export async function giveByName(
  store: Store,
  { ownerId, username }: { readonly ownerId: number; readonly username: string },
  terms: AccessTerms,
  now: number,
  actor: Actor,
): Promise<void> {
  await store.db.transaction().execute(async db => {
    const account = await db.selectFrom('account').select('id').where('username', '=', username).executeTakeFirst()
    const pair = { ownerId, partnerId: account?.id ?? 0 }
    checkTerms(pair, terms, now)
    await checkCount(db, pair, username)
    const earlier = await db
      .selectFrom('unmatched_access')
      .select('given_at')
      .where('owner_id', '=', ownerId)
      .where('username', '=', username)
      .where(endsAfter(sql`expires_at`, sql`${now}`))
      .executeTakeFirst()
    const since = earlier?.given_at ?? now
    await removeUnmatched(db, ownerId, username)
    await recordEvent(db, { accountId: ownerId, kind: 'access-given', now, actor, subject: username })
    if (account !== undefined) return writeAccess(db, pair, terms, now, { byName: true, since })
    const { recordsFrom: records_from, until: expires_at } = terms
    await db
      .insertInto('unmatched_access')
      .values({
        owner_id: ownerId,
        username,
        areas: areasText(terms),
        records_from,
        expires_at,
        given_at: since,
      })
      .execute()
  })
  noteGrantChange()
}

/** The access that an owner has given, by name. */
export async function listGiven(store: Store, ownerId: number, now: number): Promise<NamedAccess[]> {
  const { given } = await listAccess(store, ownerId, now)
  return given
    .map(({ accountId: _, ...access }) => ({ handle: handleOf(ownerId, access.username), ...access }))
    .toSorted((a, b) => (a.username < b.username ? -1 : 1))
}

/** Changes access to terms that allow no more than before. Throws Refusal if they allow more, or there is no access. */
export async function narrowGiven(
  store: Store,
  ownerId: number,
  access: NamedAccess,
  terms: AccessTerms,
  now: number,
  actor: Actor,
): Promise<void> {
  const { username } = access
  const partnerId = await partnerOf(store, ownerId, username)
  if (partnerId !== undefined) return narrowAccess(store, { ownerId, partnerId }, terms, now, actor)
  checkTerms({ ownerId, partnerId: 0 }, terms, now)
  if (!isWithin(terms, access)) throw new Refusal('refused', 'the access would become wider: give it again instead')
  await store.db.transaction().execute(async db => {
    await db
      .updateTable('unmatched_access')
      .set({ areas: areasText(terms), records_from: terms.recordsFrom, expires_at: terms.until })
      .where('owner_id', '=', ownerId)
      .where('username', '=', username)
      .execute()
    await recordEvent(db, { accountId: ownerId, kind: 'access-narrowed', now, actor, subject: username })
  })
  noteGrantChange()
}

/**
 * Before an account is removed, keeps its name for owners who gave access by that name, unless the account has read. If the name
 * disappeared, owners could tell that there was such an account.
 */
export async function keepUnreadName(db: Kysely<Tables>, accountId: number): Promise<void> {
  await sql`insert into unmatched_access (owner_id, username, areas, records_from, expires_at, given_at)
    select owner_id, username, areas, records_from, expires_at, given_at
    from partnership join account on account.id = partnership.partner_id
    where partnership.partner_id = ${accountId} and by_name = 1 and ended_at is null and given_at is not null
      and not exists (select 1 from read_log
        where read_log.owner_id = partnership.owner_id and read_log.reader_id = partnership.partner_id)
    on conflict (owner_id, username) do nothing`.execute(db)
}

/** Ends access within a second in every process. Throws Refusal if there is none. */
export async function endGiven(
  store: Store,
  ownerId: number,
  { username }: NamedAccess,
  now: number,
  actor: Actor,
): Promise<void> {
  const partnerId = await partnerOf(store, ownerId, username)
  // The operator may have given access to an account that got the name later.
  await store.db.transaction().execute(async db => {
    const isUnmatched = await removeUnmatched(db, ownerId, username)
    const isEnded = partnerId !== undefined && (await endAccessIn(db, { ownerId, partnerId }, now, actor))
    if (isEnded) return
    if (!isUnmatched) throw new Refusal('refused', 'there is no such access')
    await recordEvent(db, { accountId: ownerId, kind: 'access-ended', now, actor, subject: username })
  })
  noteGrantChange()
}

/** Throws Refusal if the owner gave access to too many others. Names without an account also cost space. */
async function checkCount(db: Kysely<Tables>, { ownerId, partnerId }: AccessPair, username: string): Promise<void> {
  const accounts = await db
    .selectFrom('partnership')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('owner_id', '=', ownerId)
    .where('partner_id', '!=', partnerId)
    .where('ended_at', 'is', null)
    .executeTakeFirstOrThrow()
  const names = await db
    .selectFrom('unmatched_access')
    .select(({ fn }) => fn.countAll<number>().as('count'))
    .where('owner_id', '=', ownerId)
    .where('username', '!=', username)
    .executeTakeFirstOrThrow()
  if (accounts.count + names.count >= MAX_GIVEN) {
    throw new Refusal('refused', `you gave access to ${MAX_GIVEN} names, which is the most: end one first`)
  }
}

const MAX_GIVEN = 100

/** The account with this name, if it was given access that was not ended. */
async function partnerOf({ reads }: Store, ownerId: number, username: string): Promise<number | undefined> {
  const found = await reads
    .selectFrom('partnership')
    .innerJoin('account', 'account.id', 'partnership.partner_id')
    .select('account.id')
    .where('partnership.owner_id', '=', ownerId)
    .where('account.username', '=', username)
    .where('partnership.ended_at', 'is', null)
    .executeTakeFirst()
  return found?.id
}

/** Returns false if there is none. */
async function removeUnmatched(db: Kysely<Tables>, ownerId: number, username: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('unmatched_access')
    .where('owner_id', '=', ownerId)
    .where('username', '=', username)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

/** A number that does not show the name, in the same form for every name. */
function handleOf(ownerId: number, username: string): number {
  // A number holds 48 bits exactly. In practice they are never all 0.
  return Number.parseInt(hash('sha256', `${ownerId} ${username}`).slice(0, 12), 16)
}
