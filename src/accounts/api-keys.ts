import { type Kysely, type RawBuilder, sql } from 'kysely'
import { scopes as allScopes } from '../contract/endpoint.ts'
import { isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables, KeyRow } from '../store/tables.ts'
import { endsAfter, hasEnded } from './access.ts'
import { type Actor, OPERATOR, recordEvent } from './events.ts'
import { expiryOf, isEntitled, lacksTier, noteGrantChange } from './grants.ts'
import { lockAccount } from './proofs.ts'
import { hashSecret, mintKey } from './secrets.ts'
import { Refusal } from '../contract/refusal.ts'

/** How many keys of an account may be active (not revoked, replaced or expired) at once. */
export const MAX_ACTIVE_KEYS = 5

export interface KeyRequest {
  readonly accountId: number
  readonly name: string
  readonly scopes: readonly string[]
  /** Milliseconds since 1970; null for never. */
  readonly expiresAt: number | null
}

/**
 * Creates an API key and returns it; only its hash is stored. Throws Refusal if the name, the scopes or the expiry are
 * out of bounds, the account has no tier, or it has the maximum number of active keys.
 */
export async function createKey(store: Store, request: KeyRequest, now: number, actor = OPERATOR): Promise<string> {
  checkRequest(request, now)
  return store.db.transaction().execute(async transaction => {
    await checkAccount(transaction, store, request.accountId, now)
    return insertKey(transaction, request, { kind: 'key-created', now, actor })
  })
}

/**
 * Creates an API key in place of another one, with its name, its scopes and its length of life. The other one works until it
 * expires, for a day at most, and no longer counts as active. Throws Refusal if it is no API key of the account, or was
 * revoked, replaced or has expired.
 */
export async function replaceKey(
  store: Store,
  { accountId, id }: { readonly accountId: number; readonly id: number },
  now: number,
  actor: Actor,
): Promise<string> {
  return store.db.transaction().execute(async transaction => {
    await lockEntitled(transaction, store, accountId, now)
    const key = await transaction
      .selectFrom('token')
      .select(['name', 'scopes', 'created_at', 'expires_at'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where(isActiveKey(now))
      .executeTakeFirst()
    if (key === undefined) throw new Refusal('refused', 'the key was revoked or replaced, or has expired')
    const { name, scopes, created_at, expires_at } = key
    await transaction.updateTable('token').set({ replaced_at: now }).where('id', '=', id).execute()
    const expiresAt = expires_at === null ? null : Math.min(now + (expires_at - created_at), LATEST)
    const request = { accountId, name, scopes: scopes.split(' '), expiresAt }
    return insertKey(transaction, request, { kind: 'key-regenerated', now, actor })
  })
}

async function insertKey(
  db: Kysely<Tables>,
  request: KeyRequest,
  event: { readonly kind: 'key-created' | 'key-regenerated'; readonly now: number; readonly actor: Actor },
): Promise<string> {
  const key = mintKey()
  const { accountId, name } = request
  const { id } = await db
    .insertInto('token')
    .values({
      account_id: accountId,
      hash: hashSecret(key),
      name,
      last4: key.slice(-4),
      scopes: allScopes.filter(scope => request.scopes.includes(scope)).join(' '),
      created_at: event.now,
      expires_at: request.expiresAt,
      revoked_at: null,
      last_used_at: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await recordEvent(db, { ...event, accountId, subject: name, subjectId: id })
  return key
}

/** How many keys of all accounts work: those that were replaced do, for a day. */
export async function countValidKeys(db: Kysely<Tables>, now: number): Promise<number> {
  const { n } = await db
    .selectFrom('token')
    .select(({ fn }) => fn.countAll().as('n'))
    .where(isValidKey(now))
    .executeTakeFirstOrThrow()
  return Number(n)
}

/** An API key as people see it in lists; `expires_at` is when it stops working. */
export type ListedKey = Omit<KeyRow, 'hash'>

export async function listKeys(store: Store, accountId?: number): Promise<ListedKey[]> {
  const rows = await store.reads
    .selectFrom('token')
    .select([
      'id',
      'account_id',
      'name',
      'last4',
      'scopes',
      'created_at',
      'expires_at',
      'revoked_at',
      'last_used_at',
      'replaced_at',
    ])
    .$if(accountId !== undefined, keys => keys.where('account_id', '=', accountId ?? 0))
    .orderBy('id')
    .execute()
  return rows.map(row => ({ ...row, expires_at: expiryOf(row) }))
}

/** Revokes an API key. Throws Refusal if there is none with this id; revoking it twice changes nothing. */
export async function revokeKey(store: Store, id: number, now: number, actor = OPERATOR): Promise<void> {
  await store.db.transaction().execute(async db => {
    const key = await db.selectFrom('token').select('id').where('id', '=', id).executeTakeFirst()
    if (key === undefined) throw new Refusal('refused', 'there is no API key with this id')
    await revokeKeys(db, { id }, now, actor)
  })
  noteGrantChange()
}

/** Revokes the keys that are chosen and not revoked yet, within a transaction: one, those of an account, or all. */
export async function revokeKeys(
  db: Kysely<Tables>,
  { id, accountId }: { readonly id?: number; readonly accountId?: number },
  now: number,
  actor: Actor,
): Promise<void> {
  const revoked = await db
    .updateTable('token')
    .set({ revoked_at: now })
    .where('revoked_at', 'is', null)
    .$if(id !== undefined, keys => keys.where('id', '=', id ?? 0))
    .$if(accountId !== undefined, keys => keys.where('account_id', '=', accountId ?? 0))
    .returning(['id', 'account_id', 'name'])
    .execute()
  for (const key of revoked) {
    const about = { accountId: key.account_id, subject: key.name, subjectId: key.id }
    await recordEvent(db, { ...about, kind: 'key-revoked', now, actor })
  }
}

/** Revokes all keys of an account, including those that were replaced. */
export async function revokeAllKeys(store: Store, accountId: number, now: number, actor = OPERATOR): Promise<void> {
  await store.db.transaction().execute(db => revokeKeys(db, { accountId }, now, actor))
  noteGrantChange()
}

function checkRequest({ name, scopes, expiresAt }: KeyRequest, now: number) {
  if (!isName(name)) {
    throw new Refusal(
      'refused',
      `the name of an API key must have 1 to ${MAX_NAME_LENGTH} characters and no control characters`,
    )
  }
  if (!name.isWellFormed()) throw new Refusal('refused', 'the name of an API key must not contain lone surrogates')
  if (!scopes.some(scope => scope !== 'shared:access'))
    throw new Refusal('refused', 'an API key needs a scope that reads')
  if (!scopes.every(scope => allScopes.some(known => known === scope))) {
    throw new Refusal('refused', `the scopes of an API key must be among ${allScopes.join(', ')}`)
  }
  if (expiresAt === null) return
  if (expiresAt <= now) throw new Refusal('refused', 'the expiry of an API key must lie in the future')
  if (expiresAt > LATEST) {
    throw new Refusal(
      'refused',
      `the expiry of an API key must not lie beyond ${formatTimestamp(LATEST)}: choose an earlier one, or never`,
    )
  }
}

/** Throws Refusal unless the account may have another key. */
async function checkAccount(db: Kysely<Tables>, store: Store, id: number, now: number): Promise<void> {
  await lockEntitled(db, store, id, now)
  const { active } = await db
    .selectFrom('token')
    .select(({ fn }) => fn.countAll<number>().as('active'))
    .where('account_id', '=', id)
    .where(isActiveKey(now))
    .executeTakeFirstOrThrow()
  if (active >= MAX_ACTIVE_KEYS) {
    throw new Refusal(
      'refused',
      `the account has ${MAX_ACTIVE_KEYS} active API keys, which is the most: revoke one first`,
    )
  }
}

/** Whether an API key works and was not replaced, so that it counts among the most that an account may have. */
export function isActive({ revoked_at, replaced_at, expires_at }: ListedKey, now: number): boolean {
  return revoked_at === null && replaced_at === null && !hasEnded(expires_at, now)
}

/** The same as a condition. */
function isActiveKey(now: number): RawBuilder<boolean> {
  return sql`(${isValidKey(now)} and replaced_at is null)`
}

/** The condition that a key works: it was not revoked, and has not stopped working (see `expiryOf`). */
function isValidKey(now: number): RawBuilder<boolean> {
  return sql`(revoked_at is null and ${endsAfter(sql`expires_at`, sql`${now}`)}
    and ${endsAfter(sql`replaced_at`, sql`${now - DAY_MS}`)})`
}

/** Locks an account, because two concurrent requests would both count too few keys. Throws Refusal unless it has a tier. */
async function lockEntitled(db: Kysely<Tables>, store: Store, id: number, now: number): Promise<void> {
  const account = await lockAccount(db, store, id)
  if (account === undefined) throw new Refusal('refused', 'there is no such account')
  if (!isEntitled(account, now)) {
    throw new Refusal('refused', `the account ${lacksTier(account, now)}, so its API keys could not be used`)
  }
}
