import { type BatchOptions, type IncomingRecord, storeBatch } from '../archive/batch-importer.ts'
import type { Quota } from '../archive/quota.ts'
import { formatTimestamp } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { SourceData } from './lists.ts'
import type { PullProgress, ReportBuilder } from './report.ts'
import { type Source, SourceError } from './source.ts'
import { findSource, type PullSource } from './state.ts'
import type { SourceReader } from './walk.ts'
import { type Ownership, type Target, usernameOf } from './whose.ts'

/** What the steps of a round share. */
export interface RoundState {
  readonly store: Store
  readonly source: Source
  readonly reader: SourceReader
  /** The account here, and what is known of it as the source has it. */
  readonly target: Target
  readonly user: SourceData | undefined
  /** The stored state of the source. */
  readonly pulled: PullSource
  readonly ownership: Ownership
  readonly report: ReportBuilder
  readonly startedAt: number
  /** Whether all lists are read to their end. */
  readonly isFull: boolean
  /** Whether every record is read again. */
  readonly readsAll: boolean
  /** Whether training sessions whose owner the source does not tell belong to the account of the API key. */
  readonly mine: boolean
  /** The room that the account of the API key has; none is counted if it is missing. */
  readonly quota: Quota | undefined
  readonly progress?: (progress: PullProgress) => void
  /** Runs at the start of each transaction, which it ends if it throws. */
  readonly check: BatchOptions['check']
}

type AccountState = Pick<RoundState, 'store' | 'source' | 'target' | 'user' | 'report' | 'check'>

/**
 * The stored state of the source, which is created together with the account in one transaction: with all fields of the account, or with
 * its name alone if they cannot be stored.
 */
export async function beginSource(state: AccountState): Promise<PullSource> {
  const { store, source, target, user, report: counts, check } = state
  const origin = source.address
  const known = await findSource(store, target.id, origin)
  if (known !== undefined) return known
  const sourceName = usernameOf(user)
  if (target.isNew && sourceName !== target.username) counts.noteName(sourceName ?? '', target.username)
  for (const isMinimal of [false, true]) {
    let begun: PullSource | undefined
    const record = accountRecord(state, isMinimal)
    const report = await storeBatch(store, [record], {
      source: origin,
      account: target.id,
      check,
      within: async (db, { outcomes }) => {
        if (outcomes[0] === 'rejected') return
        const facts = { username: sourceName ?? null, knows_me: user === undefined ? 0 : 1, capabilities: '{}' }
        const values = { account_id: target.id, origin, ...facts }
        begun = await db.insertInto('pull_source').values(values).returningAll().executeTakeFirstOrThrow()
      },
    })
    if (report.outcomes[0] === 'added') counts.add([record], { ...report, extra: [], leniencies: [] })
    if (begun !== undefined) return begun
  }
  throw new SourceError(`the account ${target.id} of the source cannot be stored`)
}

/** Stores `asOf` of the account and the state of the source. */
export async function completeSource(
  state: AccountState & Pick<RoundState, 'pulled'>,
  values: Partial<Omit<PullSource, 'id' | 'account_id' | 'origin'>>,
): Promise<void> {
  const { store, source, target, report: counts, check, pulled } = state
  const now = source.clock.now()
  const envelope = { asOf: formatTimestamp(now) }
  const record = { ...accountRecord(state), envelope }
  const options = { source: source.address, account: target.id, check }
  const report = await storeBatch(store, [record], {
    ...options,
    within: async db => {
      const row = db.updateTable('pull_source').set({ ...values, completed_at: now })
      await row.where('id', '=', pulled.id).execute()
    },
  })
  counts.add([record], report)
  if (report.outcomes[0] === 'rejected') await storeBatch(store, [{ ...accountRecord(state, true), envelope }], options)
}

function accountRecord({ user, target: { id, username } }: AccountState, isMinimal = false): IncomingRecord {
  const { subscriptionEndsAt: _, ...fields } = isMinimal ? {} : { ...user }
  // The tier is used for a new account only.
  return { kind: 'account', data: { ...fields, id, username, subscriptionTier: 'ultra' } }
}
