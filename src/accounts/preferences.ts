import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'

export interface Preferences {
  /** An IANA name; empty if none was chosen. */
  readonly timeZone: string
  readonly units: string
  /** In which dates and numbers are written; empty for that of the browser. */
  readonly language: string
  /** Repetitions; null for none. */
  readonly weeklyGoal: number | null
}

/** Those of an account; empty ones if it has none. */
export async function readPreferences(store: Store, accountId: number): Promise<Omit<Preferences, 'weeklyGoal'>> {
  const row = await store.reads
    .selectFrom('preference')
    .select(['time_zone', 'units', 'language'])
    .where('account_id', '=', accountId)
    .executeTakeFirst()
  return { timeZone: row?.time_zone ?? '', units: row?.units ?? '', language: row?.language ?? '' }
}

export async function setPreferences(
  store: Store,
  accountId: number,
  { timeZone, units, language, weeklyGoal }: { readonly [Name in keyof Preferences]?: Preferences[Name] | undefined },
): Promise<void> {
  // The query builder leaves out what is undefined.
  const changes = { time_zone: timeZone, units, language, weekly_goal: weeklyGoal }
  if (Object.values(changes).every(value => value === undefined)) return
  await store.db
    .insertInto('preference')
    .values({ account_id: accountId, display_name: '', ...changes, time_zone: timeZone ?? '', units: units ?? '' })
    .onConflict(conflict => conflict.column('account_id').doUpdateSet(changes))
    .execute()
}

/** Stores the time zone of an account that has no preferences yet. */
export async function suggestTimeZone(db: Kysely<Tables>, accountId: number, timeZone: string): Promise<void> {
  await db
    .insertInto('preference')
    .values({ account_id: accountId, display_name: '', time_zone: timeZone, units: '' })
    .onConflict(conflict => conflict.column('account_id').doNothing())
    .execute()
}
