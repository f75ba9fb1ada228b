import { type Kysely, type RawBuilder, sql } from 'kysely'
import * as Type from 'typebox'
import { scopes as allScopes } from '../contract/endpoint.ts'
import { Name } from '../contract/names.ts'
import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { ownCommand } from '../version.ts'
import type { Tables, KeyRow } from '../store/tables.ts'
import { endsAfter, hasEnded } from './access.ts'
import { act, type Scene } from './act.ts'
import { expiryOf, isEntitled, lacksTier } from './grants.ts'
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

const accountId = Type.Integer()

/** Creates an API key and returns it; only its hash is stored. */
export const createKey = act({
  title: 'Create key',
  confirms: true,
  event: 'key-created',
  input: Type.Object({
    accountId,
    name: Name('the name of an API key'),
    scopes: Type.Array(Type.String({ enum: [...allScopes] }), {
      contains: { not: { const: 'shared:access' } },
      description: `an API key needs a scope that reads; its scopes must be among ${allScopes.join(', ')}`,
    }),
    expiresAt: Type.Union([Type.Integer({ maximum: LATEST }), Type.Null()], {
      description: `the expiry of an API key must be chosen, and not lie beyond ${formatTimestamp(LATEST)}: choose an earlier one, or never`,
    }),
  }),
  async run(scene, request) {
    const { db, now } = scene
    const { expiresAt } = request
    if (expiresAt !== null && expiresAt <= now) {
      throw new Refusal('refused', 'the expiry of an API key must lie in the future')
    }
    await lockEntitled(scene, request.accountId)
    const { active } = await db
      .selectFrom('token')
      .select(({ fn }) => fn.countAll<number>().as('active'))
      .where('account_id', '=', request.accountId)
      .where(isActiveKey(now))
      .executeTakeFirstOrThrow()
    if (active >= MAX_ACTIVE_KEYS) {
      throw new Refusal(
        'refused',
        `the account has ${MAX_ACTIVE_KEYS} active API keys, which is the most: revoke one first`,
      )
    }
    return insertKey(scene, request)
  },
})

/**
 * Creates an API key in place of another one, with its name, its scopes and its length of life. The other one works until it
 * expires, for a day at most, and no longer counts as active.
 */
export const replaceKey = act({
  title: 'Regenerate key',
  confirms: true,
  event: 'key-regenerated',
  input: Type.Object({ accountId, id: Type.Integer() }),
  async run(scene, { accountId, id }) {
    const { db, now } = scene
    await lockEntitled(scene, accountId)
    const key = await db
      .selectFrom('token')
      .select(['name', 'scopes', 'created_at', 'expires_at'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where(isActiveKey(now))
      .executeTakeFirst()
    if (key === undefined) throw new Refusal('refused', 'the key was revoked or replaced, or has expired')
    const { name, scopes, created_at, expires_at } = key
    await db.updateTable('token').set({ replaced_at: now }).where('id', '=', id).execute()
    const expiresAt = expires_at === null ? null : Math.min(now + (expires_at - created_at), LATEST)
    return insertKey(scene, { accountId, name, scopes: scopes.split(' '), expiresAt })
  },
})

async function insertKey({ db, now, record }: Scene, request: KeyRequest): Promise<string> {
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
      created_at: now,
      expires_at: request.expiresAt,
      revoked_at: null,
      last_used_at: null,
    })
    .returning('id')
    .executeTakeFirstOrThrow()
  await record({ accountId, subject: name, subjectId: id })
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
    .select(['id', 'account_id', 'name', 'last4', 'scopes'])
    .select(['created_at', 'expires_at', 'last_used_at', 'revoked_at', 'replaced_at'])
    .$if(accountId !== undefined, keys => keys.where('account_id', '=', accountId ?? 0))
    .orderBy('id')
    .execute()
  return rows.map(row => ({ ...row, expires_at: expiryOf(row) }))
}

/** Revokes an API key: of whomever, or of one account. Revoking twice changes nothing. */
export const revokeKey = act({
  title: 'Revoke key',
  event: 'key-revoked',
  input: Type.Object({ id: Type.Integer(), accountId: Type.Optional(accountId) }),
  async run(scene, { id, accountId }) {
    const found = await scene.db.selectFrom('token').select('id').where('id', '=', id).executeTakeFirst()
    if (found === undefined) throw new Refusal('refused', 'there is no API key with this id')
    await revokeKeys(scene, { id, accountId })
  },
})

/** Revokes the keys that are not revoked yet: one, or all. */
export async function revokeKeys(
  { db, now, record }: Omit<Scene, 'store'>,
  { id, accountId }: { readonly id?: number | undefined; readonly accountId?: number | undefined } = {},
): Promise<void> {
  const revoked = await db
    .updateTable('token')
    .set({ revoked_at: now })
    .where('revoked_at', 'is', null)
    .$if(id !== undefined, keys => keys.where('id', '=', id ?? 0))
    .$if(accountId !== undefined, keys => keys.where('account_id', '=', accountId ?? 0))
    .returning(['id', 'account_id', 'name'])
    .execute()
  for (const key of revoked) await record({ accountId: key.account_id, subject: key.name, subjectId: key.id })
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
async function lockEntitled({ db, store, now }: Scene, id: number): Promise<void> {
  const account = await lockAccount(db, store, id)
  if (account === undefined) throw new Refusal('refused', 'there is no such account')
  if (!isEntitled(account, now)) {
    throw new Refusal(
      'refused',
      `account ${id} ${lacksTier(account, now)}, so its API keys could not be used: set one with ${ownCommand} account set-tier --account ${id} --tier ultra`,
    )
  }
}
