import { sql } from 'kysely'
import { isTier } from '../contract/people.ts'
import { DAY_MS, formatTimestamp } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { AccountRow, KeyRow } from '../store/tables.ts'
import { hasEnded, type SharedAccess, checkedQuery, readChecked, termsOf } from './access.ts'
import { hashSecret, isKeyForm } from './secrets.ts'

/** What an API key allows, as stored. */
export type Grant = NonNullable<Awaited<ReturnType<typeof findGrant>>>

/** The grant of an API key; undefined if there is no such key. One look-up, none for a text that is not of the form of an API key. */
export async function findGrant(store: Store, key: string) {
  if (!isKeyForm(key)) return undefined
  const [row] = await readChecked(store, grantByHash, { hash: hashSecret(key) })
  if (row === undefined) return undefined
  const scopes = row.scopes.split(' ')
  return {
    keyId: row.id,
    keyName: row.name,
    via: 'token' as const,
    accountId: row.account_id,
    scopes,
    expiresAt: expiryOf(row),
    revokedAt: row.revoked_at,
    tier: row.subscription_tier,
    tierEndsAt: row.subscription_ends_at,
    /** Access to the records of others, if the API key has the scope for it; each entry is valid until it ends. */
    shared: scopes.includes('shared:access') ? parseSharedAccess(row.shared) : [],
  }
}

/** Whether an account has one of the known tiers, which has not ended. */
export function isEntitled({ tier, tierEndsAt }: Pick<Grant, 'tier' | 'tierEndsAt'>, now: number): boolean {
  return isTier(tier) && !hasEnded(tierEndsAt, now)
}

/** When the tier of an account ended; undefined if it has none, or one that has not ended. */
export function endedTier(account: Pick<Grant, 'tier' | 'tierEndsAt'>, now: number): number | undefined {
  const { tier, tierEndsAt } = account
  return isTier(tier) && !isEntitled(account, now) ? (tierEndsAt ?? undefined) : undefined
}

/** What an account lacks, as the end of a sentence about it, unless it is entitled. */
export function lacksTier(account: Pick<Grant, 'tier' | 'tierEndsAt'>, now: number): string {
  const end = endedTier(account, now)
  return end === undefined
    ? 'has no subscription tier'
    : `has a subscription tier that ended at ${formatTimestamp(end)}`
}

/** When an API key stops working; null for never. One that was replaced works for a day, but not longer than it would have. */
export function expiryOf({ expires_at, replaced_at }: Pick<KeyRow, 'expires_at' | 'replaced_at'>): number | null {
  return replaced_at === null ? expires_at : Math.min(expires_at ?? Infinity, replaced_at + DAY_MS)
}

type GrantRow = Omit<KeyRow, 'hash' | 'last4' | 'last_used_at'> &
  Pick<AccountRow, 'subscription_tier' | 'subscription_ends_at'> & { readonly shared: string | null }

/** `shared` is what the account received, as one text; null if that is nothing. */
const grantByHash = checkedQuery<{ hash: string }, GrantRow>(
  'API key',
  (param, named) => sql`
    select ${named}, token.hash, token.id, token.account_id, token.name, token.scopes, token.created_at, token.expires_at, token.revoked_at, token.replaced_at,
      account.subscription_tier, account.subscription_ends_at, (select string_agg(
        cast(owner_id as text) || '/' || areas || '/' || coalesce(cast(records_from as text), '') || '/' ||
          coalesce(cast(partnership.expires_at as text), ''), ',')
      from partnership where partner_id = token.account_id and ended_at is null) as shared
    from token join account on account.id = token.account_id
    where token.hash = ${param('hash')}`,
)

/** Parses the text of what an account received; owners by identifier. */
function parseSharedAccess(text: string | null): SharedAccess[] {
  if (text === null) return []
  const shared = text.split(',').map(entry => {
    const [ownerId, areas = '', ...ends] = entry.split('/')
    const [records_from = null, expires_at = null] = ends.map(end => (end === '' ? null : Number(end)))
    return { ownerId: Number(ownerId), ...termsOf({ areas, records_from, expires_at }) }
  })
  return shared.toSorted((a, b) => a.ownerId - b.ownerId)
}

export type GrantCache = ReturnType<typeof makeGrantCache>

/**
 * Keeps grants for less than a second: an API key in steady use does not cost a look-up for each request, and revoking one, or changing
 * anything else that a grant depends on, takes effect everywhere within a second. A change by this process clears the cache at once.
 */
export function makeGrantCache(store: Store) {
  const entries = new Map<string, { readonly grant: Grant; readonly readAt: number }>()
  let knownChanges = grantChanges

  const lookUp = async (key: string, readAt: number) => {
    const changesBefore = grantChanges
    const grant = await findGrant(store, key)
    if (grant === undefined || grantChanges !== changesBefore) return grant
    // All of them are read again within a second anyway.
    if (entries.size >= MAX_ENTRIES) entries.clear()
    entries.set(key, { grant, readAt })
    return grant
  }

  return {
    /** The grant of an API key, at once if it is known; undefined if there is no such key. Takes at most one look-up. */
    find(key: string): Grant | Promise<Grant | undefined> {
      if (grantChanges !== knownChanges) entries.clear()
      knownChanges = grantChanges
      const entry = entries.get(key)
      const now = performance.now()
      if (entry !== undefined && now - entry.readAt < CACHE_TTL_MS) return entry.grant
      return lookUp(key, now)
    },
  }
}

const CACHE_TTL_MS = 900
const MAX_ENTRIES = 10_000

/** Called after a change to keys or access was stored. */
export function noteGrantChange() {
  grantChanges += 1
}

/** How often this process has changed what keys grant: when it grows, cached grants may be out of date. */
let grantChanges = 0
