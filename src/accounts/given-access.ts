import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import * as Type from 'typebox'
import { Name } from '../contract/names.ts'
import { Refusal } from '../contract/refusal.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { endsAfter, columnsOf, termsOf } from './access.ts'
import { listAccess } from './access-lists.ts'
import { act } from './act.ts'
import {
  type AccessPair,
  checkTerms,
  endAccessIn,
  findAccess,
  isOpen,
  isWithin,
  NO_ACCESS,
  type StoredAccess,
  terms,
  writeAccess,
} from './shared-access.ts'

/**
 * Access as its owner handles it: by username. Names that no account has are listed, narrowed and ended like others, so
 * that nothing here tells whether an account exists. They have no effect, even if an account gets such a name later.
 */

export type NamedAccess = Awaited<ReturnType<typeof listGiven>>[number]

const named = { accountId: Type.Integer(), username: Name('a username') }

/**
 * Gives access to the account with exactly this username, on these terms, which replace those of earlier access, ended or
 * not. Does the same work whether there is such an account or not.
 */
export const giveByName = act({
  title: 'Give access',
  confirms: true,
  event: 'access-given',
  input: Type.Object({ ...named, ...terms }),
  async run({ db, now, record }, { accountId: ownerId, username, ...given }) {
    const account = await db.selectFrom('account').select('id').where('username', '=', username).executeTakeFirst()
    const access = { ownerId, partnerId: account?.id ?? 0, ...given }
    checkTerms(access, now)
    await checkCount(db, access, username)
    const earlier = await db
      .selectFrom('unmatched_access')
      .select('given_at')
      .where('owner_id', '=', ownerId)
      .where('username', '=', username)
      .where(endsAfter(sql`expires_at`, sql`${now}`))
      .executeTakeFirst()
    const since = earlier?.given_at ?? now
    await removeUnmatched(db, ownerId, username)
    await record({ accountId: ownerId, subject: username })
    if (account !== undefined) return writeAccess(db, access, now, { byName: true, since })
    await db
      .insertInto('unmatched_access')
      .values({ owner_id: ownerId, username, ...columnsOf(given), given_at: since })
      .execute()
  },
})

/** The access that an owner has given, by name. `handle` identifies it among all that the owner gave. */
export async function listGiven(store: Store, ownerId: number, now: number) {
  const { given } = await listAccess(store, ownerId, now)
  return given
    .map(({ accountId: _, ...access }) => ({ handle: handleOf(ownerId, access.username), ...access }))
    .toSorted((a, b) => (a.username < b.username ? -1 : 1))
}

/** Changes access to terms that allow no more than before. */
export const narrowGiven = act({
  title: 'Narrow access',
  event: 'access-narrowed',
  input: Type.Object({ ...named, ...terms }),
  async run(scene, { accountId: ownerId, username, ...narrow }) {
    const { db, now, record } = scene
    const partnerId = await partnerOf(db, ownerId, username)
    const access = { ownerId, partnerId: partnerId ?? 0, ...narrow }
    checkTerms(access, now)
    const stored = partnerId === undefined ? await findUnmatched(db, ownerId, username) : await findAccess(db, access)
    if (stored === undefined || !isOpen(stored, now)) throw new Refusal('refused', NO_ACCESS)
    if (!isWithin(narrow, stored)) throw new Refusal('refused', 'the access would become wider: give it again instead')
    await record({ accountId: ownerId, subject: username })
    if (partnerId !== undefined) return writeAccess(db, access, now)
    await db
      .updateTable('unmatched_access')
      .set(columnsOf(narrow))
      .where('owner_id', '=', ownerId)
      .where('username', '=', username)
      .execute()
  },
})

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

/** Ends access within a second in every process. */
export const endGiven = act({
  title: 'End access',
  event: 'access-ended',
  input: Type.Object(named),
  async run(scene, { accountId: ownerId, username }) {
    const { db, record } = scene
    const partnerId = await partnerOf(db, ownerId, username)
    // The operator may have given access to an account that got the name later.
    const isUnmatched = await removeUnmatched(db, ownerId, username)
    if (partnerId !== undefined && (await endAccessIn(scene, { ownerId, partnerId }))) return
    if (!isUnmatched) throw new Refusal('refused', NO_ACCESS)
    await record({ accountId: ownerId, subject: username })
  },
})

/** Throws Refusal if the owner gave access to too many others. Names without an account also cost space. */
async function checkCount(db: Kysely<Tables>, { ownerId, partnerId }: AccessPair, username: string): Promise<void> {
  const { rows } = await sql<{ given: number }>`select
    (select count(*) from partnership where owner_id = ${ownerId} and partner_id <> ${partnerId} and ended_at is null) +
    (select count(*) from unmatched_access where owner_id = ${ownerId} and username <> ${username}) as given`.execute(
    db,
  )
  if (Number(rows[0]?.given) >= MAX_GIVEN) {
    throw new Refusal('refused', `you gave access to ${MAX_GIVEN} names, which is the most: end one first`)
  }
}

const MAX_GIVEN = 100

/** The account with this name, if it was given access that was not ended. */
async function partnerOf(db: Kysely<Tables>, ownerId: number, username: string): Promise<number | undefined> {
  const found = await db
    .selectFrom('partnership')
    .innerJoin('account', 'account.id', 'partnership.partner_id')
    .select('account.id')
    .where('partnership.owner_id', '=', ownerId)
    .where('account.username', '=', username)
    .where('partnership.ended_at', 'is', null)
    .executeTakeFirst()
  return found?.id
}

async function findUnmatched(db: Kysely<Tables>, ownerId: number, username: string): Promise<StoredAccess | undefined> {
  const row = await db
    .selectFrom('unmatched_access')
    .select(['areas', 'records_from', 'expires_at'])
    .where('owner_id', '=', ownerId)
    .where('username', '=', username)
    .executeTakeFirst()
  return row && { ...termsOf(row), endedAt: null }
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
