import { randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { type ExpressionBuilder, type Kysely, sql } from '../vendor/kysely.js'
import { scopes as allScopes } from '../contract/endpoint.ts'
import { isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { isTier } from '../contract/people.ts'
import { DAY_MS, formatTimestamp, LATEST } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { query } from '../store/query.ts'
import type { Tables, TokenRow } from '../store/tables.ts'
import { RefusedError } from './errors.ts'
import { noteGrantChange } from './grant-changes.ts'
import { lockedAccount } from './account-lock.ts'
import { hashSecret } from './secrets.ts'
import { parseSharedAccess, type SharedAccess, sharedAccessText } from './shared-access.ts'

/** The form of a token: a prefix, 30 random characters, and a checksum of 6 characters over all before it. */
export const TOKEN_FORM = /lks_[0-9A-Za-z]{36}/

/** How many tokens of an account may be active (not revoked, replaced or expired) at once. */
export const MAX_ACTIVE_TOKENS = 5

export function mintToken(): string {
  let random = ''
  while (random.length < RANDOM_LENGTH) random += ALPHABET.charAt(randomInt(ALPHABET.length))
  return withChecksum(PREFIX + random)
}

/** Whether the text has the form of a token and a valid checksum; needs no look-up. */
export function isTokenForm(text: string): boolean {
  return text.length === TOKEN_LENGTH && WHOLE_FORM.test(text) && withChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text
}

/** What a token allows, as stored. */
export interface Grant {
  readonly tokenId: number
  readonly accountId: number
  readonly scopes: readonly string[]
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  readonly tier: string | null
  readonly tierEndsAt: number | null
  readonly tokenName: string
  readonly via: 'token'
  /** Access to the records of others, if the token has the scope for it; each entry is valid until it ends. */
  readonly shared: readonly SharedAccess[]
}

/** The grant of a token; undefined if there is no such token. One look-up, none for a text that is not of the form of a token. */
export async function findGrant(store: Store, token: string): Promise<Grant | undefined> {
  if (!isTokenForm(token)) return undefined
  const [row] = await store.read(grantByHash, { hash: hashSecret(token) })
  if (row === undefined) return undefined
  const scopes = row.scopes.split(' ')
  return {
    tokenId: row.id,
    tokenName: row.name,
    via: 'token',
    accountId: row.account_id,
    scopes,
    expiresAt: expiryOf(row),
    revokedAt: row.revoked_at,
    tier: row.subscription_tier,
    tierEndsAt: row.subscription_ends_at,
    shared: scopes.includes('shared:access') ? parseSharedAccess(row.shared) : [],
  }
}

/** Whether an account has one of the known tiers, which has not ended. */
export function isEntitled({ tier, tierEndsAt }: Pick<Grant, 'tier' | 'tierEndsAt'>, now: number): boolean {
  return isTier(tier) && (tierEndsAt === null || tierEndsAt > now)
}

export interface TokenRequest {
  readonly accountId: number
  readonly name: string
  readonly scopes: readonly string[]
  /** Milliseconds since 1970; null for never. */
  readonly expiresAt: number | null
}

/**
 * Creates a token and returns it; only its hash is stored. Throws RefusedError if the name, the scopes or the expiry are
 * out of bounds, the account has no tier, or it has the maximum number of active tokens.
 */
export async function createToken(store: Store, request: TokenRequest, now: number): Promise<string> {
  checkRequest(request, now)
  return store.db.transaction().execute(async transaction => {
    await checkAccount(transaction, store, request.accountId, now)
    return insertToken(transaction, request, now)
  })
}

/** When a token stops working; null for never. One that was replaced works for a day, but not longer than it would have. */
export function expiryOf({ expires_at, replaced_at }: Pick<TokenRow, 'expires_at' | 'replaced_at'>): number | null {
  return replaced_at === null ? expires_at : Math.min(expires_at ?? Infinity, replaced_at + DAY_MS)
}

/**
 * Creates a token in place of another one, with its name, its scopes and its length of life. The other one works until it
 * expires, for a day at most, and no longer counts as active. Throws RefusedError if it is no token of the account, or was
 * revoked, replaced or has expired.
 */
export async function replaceToken(store: Store, accountId: number, id: number, now: number): Promise<string> {
  return store.db.transaction().execute(async transaction => {
    await lockEntitled(transaction, store, accountId, now)
    const token = await transaction
      .selectFrom('token')
      .select(['name', 'scopes', 'created_at', 'expires_at'])
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .where(isActive(now))
      .executeTakeFirst()
    if (token === undefined) throw new RefusedError('the key was revoked or replaced, or has expired')
    const { name, scopes, created_at, expires_at } = token
    await transaction.updateTable('token').set({ replaced_at: now }).where('id', '=', id).execute()
    const expiresAt = expires_at === null ? null : Math.min(now + (expires_at - created_at), LATEST)
    return insertToken(transaction, { accountId, name, scopes: scopes.split(' '), expiresAt }, now)
  })
}

async function insertToken(db: Kysely<Tables>, request: TokenRequest, now: number): Promise<string> {
  const token = mintToken()
  await db
    .insertInto('token')
    .values({
      account_id: request.accountId,
      hash: hashSecret(token),
      name: request.name,
      last4: token.slice(-4),
      scopes: allScopes.filter(scope => request.scopes.includes(scope)).join(' '),
      created_at: now,
      expires_at: request.expiresAt,
      revoked_at: null,
      last_used_at: null,
    })
    .execute()
  return token
}

/** A token as people see it in lists; `expires_at` is when it stops working. */
export type TokenFacts = Omit<TokenRow, 'hash'>

export async function listTokens(store: Store, accountId?: number): Promise<TokenFacts[]> {
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
    .$if(accountId !== undefined, tokens => tokens.where('account_id', '=', accountId ?? 0))
    .orderBy('id')
    .execute()
  return rows.map(row => ({ ...row, expires_at: expiryOf(row) }))
}

/** Revokes a token. Throws RefusedError if there is none with this id; revoking it twice changes nothing. */
export async function revokeToken(store: Store, id: number, now: number): Promise<void> {
  const { numUpdatedRows } = await store.db
    .updateTable('token')
    .set(({ fn, val, ref }) => ({ revoked_at: fn.coalesce(ref('revoked_at'), val(now)) }))
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  noteGrantChange()
  if (numUpdatedRows === 0n) throw new RefusedError('there is no API key with this id')
}

function checkRequest({ name, scopes, expiresAt }: TokenRequest, now: number) {
  if (!isName(name)) {
    throw new RefusedError(
      `the name of an API key must have 1 to ${MAX_NAME_LENGTH} characters and no control characters`,
    )
  }
  if (!name.isWellFormed()) throw new RefusedError('the name of an API key must not contain lone surrogates')
  if (!scopes.some(scope => scope !== 'shared:access')) throw new RefusedError('an API key needs a scope that reads')
  if (!scopes.every(scope => allScopes.some(known => known === scope))) {
    throw new RefusedError(`the scopes of an API key must be among ${allScopes.join(', ')}`)
  }
  if (expiresAt === null) return
  if (expiresAt <= now) throw new RefusedError('the expiry of an API key must lie in the future')
  if (expiresAt > LATEST) {
    throw new RefusedError(
      `the expiry of an API key must not lie beyond ${formatTimestamp(LATEST)}: choose an earlier one, or never`,
    )
  }
}

/** Throws RefusedError unless the account may have another token. */
async function checkAccount(db: Kysely<Tables>, store: Store, id: number, now: number): Promise<void> {
  await lockEntitled(db, store, id, now)
  const { active } = await db
    .selectFrom('token')
    .select(({ fn }) => fn.countAll<number>().as('active'))
    .where('account_id', '=', id)
    .where(isActive(now))
    .executeTakeFirstOrThrow()
  if (active >= MAX_ACTIVE_TOKENS) {
    throw new RefusedError(`the account has ${MAX_ACTIVE_TOKENS} active API keys, which is the most: revoke one first`)
  }
}

function isActive(now: number) {
  return ({ and, or, eb }: ExpressionBuilder<Tables, 'token'>) =>
    and([
      eb('revoked_at', 'is', null),
      eb('replaced_at', 'is', null),
      or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]),
    ])
}

/** Locks an account, because two concurrent requests would both count too few tokens. Throws RefusedError unless it has a tier. */
async function lockEntitled(db: Kysely<Tables>, store: Store, id: number, now: number): Promise<void> {
  const account = await lockedAccount(db, store, id)
    .select(['subscription_tier as tier', 'subscription_ends_at as tierEndsAt'])
    .executeTakeFirst()
  if (account === undefined) throw new RefusedError('there is no such account')
  if (!isEntitled(account, now)) {
    throw new RefusedError('the account has no subscription tier, so its API keys could not be used')
  }
}

interface GrantRow {
  id: number
  name: string
  account_id: number
  scopes: string
  expires_at: number | null
  revoked_at: number | null
  replaced_at: number | null
  subscription_tier: string | null
  subscription_ends_at: number | null
  shared: string | null
}

const grantByHash = query<{ hash: string }, GrantRow>(
  param => sql`
    select token.id, token.account_id, token.name, token.scopes, token.expires_at, token.revoked_at, token.replaced_at,
      account.subscription_tier, account.subscription_ends_at, ${sharedAccessText('token.account_id')} as shared
    from token join account on account.id = token.account_id
    where token.hash = ${param('hash')}`,
)

const PREFIX = 'lks_'
const RANDOM_LENGTH = 30
const CHECKSUM_LENGTH = 6
const TOKEN_LENGTH = PREFIX.length + RANDOM_LENGTH + CHECKSUM_LENGTH
const ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const WHOLE_FORM = new RegExp(`^${TOKEN_FORM.source}$`)

function withChecksum(body: string): string {
  let rest = crc32(body)
  let checksum = ''
  while (checksum.length < CHECKSUM_LENGTH) {
    checksum = ALPHABET.charAt(rest % ALPHABET.length) + checksum
    rest = Math.floor(rest / ALPHABET.length)
  }
  return body + checksum
}
