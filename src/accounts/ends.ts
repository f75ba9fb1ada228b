import { type RawBuilder, sql } from '../vendor/kysely.js'

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
