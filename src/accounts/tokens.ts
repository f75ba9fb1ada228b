import { hash, randomInt } from 'node:crypto'
import { crc32 } from 'node:zlib'
import { sql } from 'kysely'
import { scopes as known } from '../contract/endpoint.ts'
import { isName, MAX_NAME_LENGTH } from '../contract/names.ts'
import { formatTimestamp, LATEST } from '../contract/time.ts'
import type { Store } from '../store/store.ts'
import { query } from '../store/query.ts'
import { RefusedError } from './refused.ts'
import type { TokenRow } from '../store/tables.ts'

/** The form of a token: its prefix, 30 random characters, and 6 of checksum over all that precedes. */
export const TOKEN_FORM = /lks_[0-9A-Za-z]{36}/

/** How many tokens of an account may be active (not revoked, not expired) at once. */
export const MAX_ACTIVE_TOKENS = 5

export function mintToken(): string {
  let random = ''
  while (random.length < RANDOM_LENGTH) random += ALPHABET.charAt(randomInt(ALPHABET.length))
  return withChecksum(PREFIX + random)
}

/** Whether the text can be a token at all; told without looking it up. */
export function isTokenForm(text: string): boolean {
  return text.length === TOKEN_LENGTH && WHOLE_FORM.test(text) && withChecksum(text.slice(0, -CHECKSUM_LENGTH)) === text
}

/** What a token allows, as it stands in the store. */
export interface Grant {
  readonly tokenId: number
  readonly accountId: number
  readonly scopes: readonly string[]
  readonly expiresAt: number | null
  readonly revokedAt: number | null
  readonly tier: string | null
  readonly tierEndsAt: number | null
  /** The accounts whose records it may read: its own first. */
  readonly owners: readonly number[]
}

/** The grant of a token; undefined when nobody has it. One look-up. */
export async function findGrant(store: Store, token: string): Promise<Grant | undefined> {
  const [row] = await store.read(grantByHash, { hash: hashOf(token) })
  if (row === undefined) return undefined
  return {
    tokenId: row.id,
    accountId: row.account_id,
    scopes: row.scopes.split(' '),
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    tier: row.subscription_tier,
    tierEndsAt: row.subscription_ends_at,
    owners: row.owners === null ? [row.account_id] : [row.account_id, ...row.owners.split(',').map(Number)],
  }
}

/** Whether the account of a token has a tier that has not ended. */
export function isEntitled({ tier, tierEndsAt }: Pick<Grant, 'tier' | 'tierEndsAt'>, now: number): boolean {
  return tier !== null && (tierEndsAt === null || tierEndsAt > now)
}

export type TokenFacts = Omit<TokenRow, 'hash'>

export interface TokenRequest {
  readonly accountId: number
  readonly name: string
  readonly scopes: readonly string[]
  /** Milliseconds since 1970; null for never. */
  readonly expiresAt: number | null
}

/**
 * Makes a token and returns it, the only time it can be seen. Throws Refused for a name, scopes or an expiry out of
 * bounds, an account without a tier, or one that has as many active tokens as it may.
 */
export async function createToken(store: Store, request: TokenRequest, now: number): Promise<string> {
  const { accountId, name, scopes, expiresAt } = request
  if (!isName(name)) {
    throw new RefusedError(`the name of a token must have 1 to ${MAX_NAME_LENGTH} characters and no control characters`)
  }
  if (!name.isWellFormed()) throw new RefusedError('the name of a token must not contain lone surrogates')
  if (scopes.length === 0) throw new RefusedError('a token needs at least one scope')
  if (!scopes.every(scope => known.some(one => one === scope))) {
    throw new RefusedError(`the scopes of a token must be of ${known.join(', ')}`)
  }
  if (expiresAt !== null && expiresAt <= now) throw new RefusedError('the expiry of a token must lie in the future')
  if (expiresAt !== null && expiresAt > LATEST) {
    throw new RefusedError(
      `the expiry of a token must not lie beyond ${formatTimestamp(LATEST)}: choose an earlier one, or never`,
    )
  }
  const token = mintToken()
  await store.db.transaction().execute(async transaction => {
    // Two at once must wait for each other, or both count too few. SQLite has one writer in any case.
    const account = await transaction
      .selectFrom('account')
      .select(['subscription_tier as tier', 'subscription_ends_at as tierEndsAt'])
      .where('id', '=', accountId)
      .$if(store.engine === 'postgres', accounts => accounts.forUpdate())
      .executeTakeFirst()
    if (account === undefined) throw new RefusedError('there is no such account')
    if (!isEntitled(account, now))
      throw new RefusedError('the account has no subscription tier, so its tokens could not be used')
    const { active } = await transaction
      .selectFrom('token')
      .select(({ fn }) => fn.countAll<number>().as('active'))
      .where('account_id', '=', accountId)
      .where('revoked_at', 'is', null)
      .where(({ or, eb }) => or([eb('expires_at', 'is', null), eb('expires_at', '>', now)]))
      .executeTakeFirstOrThrow()
    if (active >= MAX_ACTIVE_TOKENS) {
      throw new RefusedError(`the account has ${MAX_ACTIVE_TOKENS} active tokens, which is the most: revoke one first`)
    }
    await transaction
      .insertInto('token')
      .values({
        account_id: accountId,
        hash: hashOf(token),
        name,
        last4: token.slice(-4),
        scopes: known.filter(scope => scopes.includes(scope)).join(' '),
        created_at: now,
        expires_at: expiresAt,
        revoked_at: null,
        last_used_at: null,
      })
      .execute()
  })
  return token
}

export function listTokens(store: Store, accountId?: number): Promise<TokenFacts[]> {
  return store.db
    .selectFrom('token')
    .select(['id', 'account_id', 'name', 'last4', 'scopes', 'created_at', 'expires_at', 'revoked_at', 'last_used_at'])
    .$if(accountId !== undefined, tokens => tokens.where('account_id', '=', accountId ?? 0))
    .orderBy('id')
    .execute()
}

let revoked = 0

/** How many tokens this process revoked: where it grew, what is kept of tokens is out of date. */
export function revocations(): number {
  return revoked
}

/** Ends a token for good. Throws Refused when there is none with this id; ending it twice changes nothing. */
export async function revokeToken(store: Store, id: number, now: number): Promise<void> {
  const { numUpdatedRows } = await store.db
    .updateTable('token')
    .set(({ fn, val, ref }) => ({ revoked_at: fn.coalesce(ref('revoked_at'), val(now)) }))
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  revoked += 1
  if (numUpdatedRows === 0n) throw new RefusedError('there is no token with this id')
}

/**
 * Notes when tokens were last used (milliseconds since 1970, by token id). What another process noted less than a minute
 * before stays: each of them notes on its own, and together they must not write more often than one.
 */
export async function noteUses(store: Store, uses: ReadonlyMap<number, number>): Promise<void> {
  // In one order everywhere, or two processes could wait for each other.
  const inOrder = [...uses].toSorted(([a], [b]) => a - b)
  await store.db.transaction().execute(async transaction => {
    for (const [id, at] of inOrder) {
      await transaction
        .updateTable('token')
        .set({ last_used_at: at })
        .where('id', '=', id)
        .where(({ or, eb }) => or([eb('last_used_at', 'is', null), eb('last_used_at', '<=', at - NOTED_EVERY)]))
        .execute()
    }
  })
}

/** Milliseconds between two notes of the use of a token. */
export const NOTED_EVERY = 60_000

interface GrantRow {
  id: number
  account_id: number
  scopes: string
  expires_at: number | null
  revoked_at: number | null
  subscription_tier: string | null
  subscription_ends_at: number | null
  owners: string | null
}

const grantByHash = query<{ hash: string }, GrantRow>(
  param => sql`
    select token.id, token.account_id, token.scopes, token.expires_at, token.revoked_at,
      account.subscription_tier, account.subscription_ends_at,
      (select string_agg(cast(partnership.owner_id as text), ',') from partnership
        where partnership.partner_id = token.account_id) as owners
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

function hashOf(token: string): string {
  return hash('sha256', token, 'hex')
}
