import {
  type BatchOptions,
  type BatchReport,
  type IncomingRecord,
  OWNER_UNKNOWN,
  storeBatch,
  UNANSWERED,
} from '../archive/batch-importer.ts'
import type { Quota } from '../archive/quota.ts'
import { formatTimestamp } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { type SourceList, trainingSessions, instantOf, type SourceData, type SourceRow, toRecord } from './lists.ts'
import type { PullProgress, ReportBuilder } from './report.ts'
import { type Source, SourceError, StoppedError } from './source.ts'
import { checked, findSource, type NewPullRow, type PullRow, type PullSource, saveRows } from './state.ts'
import type { SourceReader } from './walk.ts'
import { type Ownership, type Target, usernameOf } from './whose.ts'

/** A row of the source, and its stored state. */
export interface OfferedRow {
  readonly row: SourceRow
  readonly known: PullRow | undefined
  /** The template, if another response of the source had it. */
  readonly templateId?: number
  /** Whether the row is a complete record, not a row of a list. */
  readonly isRecord?: boolean
  /** If present, the row is rejected with this reason. */
  readonly fault?: string
}

/** A row that is about to be stored. */
export interface PreparedRow {
  readonly record: IncomingRecord
  readonly data: SourceData
  readonly owner: number | undefined
  /** The form to store for the row; empty if it must be read again. */
  readonly form: string
  readonly offered: OfferedRow
}

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

/** Stores rows of the source as complete records of their owners, each batch in one transaction. */
export class RowStore {
  readonly #options: RoundState
  /** Records that were read by id in this round. */
  readonly #read = new Set<string>()

  constructor(options: RoundState) {
    this.#options = options
  }

  /** Stores the rows that belong to the account, and returns them. `found` are stored rows that are no longer missing. */
  async store(list: SourceList, rows: readonly OfferedRow[], found: readonly PullRow[]) {
    const prepared: PreparedRow[] = []
    try {
      for (const offered of rows) {
        const row = await this.#prepare(list, offered)
        if (row !== undefined) prepared.push(row)
      }
    } catch (error) {
      // Keeps what was read so far.
      if (error instanceof StoppedError) await this.#save(list, prepared, found)
      throw error
    }
    return { prepared, isChanged: await this.#save(list, prepared, found) }
  }

  /** Whether a record was read by its id in this round. */
  hasRead(list: SourceList, id: number): boolean {
    return this.#read.has(`${list.kind} ${id}`)
  }

  /** Undefined for a row of another account, or of a record that no longer exists. */
  async #prepare(list: SourceList, offered: OfferedRow): Promise<PreparedRow | undefined> {
    const { row, isRecord = false, fault, templateId } = offered
    const { target, ownership, reader, report, mine } = this.#options
    const rejected = (reason: string, data = row.data, form = ''): PreparedRow => {
      const { ownerId } = data
      const envelope = list === trainingSessions && ownerId !== undefined ? { ownerId } : {}
      return { record: { kind: list.kind, data, envelope, fault: reason }, data, owner: undefined, form, offered }
    }
    const isOther = (owner: unknown) => {
      if (owner === undefined || owner === target.id) return false
      report.addOther(list.kind, row.id ?? row.form)
      return true
    }
    if (fault !== undefined) return rejected(fault)
    // Skips records of others without reading them.
    if (list !== trainingSessions && isOther(await ownership.ownerOf(list, row.data))) return undefined
    let { data } = row
    const mustRead = !isRecord && row.id !== undefined && reader.lacksFields(list, data)
    if (mustRead) {
      const read = await reader.tryRecord(list, row.id)
      if (read === 'unanswered') return rejected(UNANSWERED)
      // Every source has records of these kinds by id, so this one was removed meanwhile.
      if (read === undefined && list.hasRecords) return undefined
      data = read ?? data
    }
    if (mustRead || isRecord) this.#read.add(`${list.kind} ${row.id}`)
    const told = await ownership.ownerOf(list, data)
    if (told === 'unanswered') return rejected(UNANSWERED, data)
    const isUnknown = told === undefined && list === trainingSessions
    if (isUnknown && !mine) return rejected(OWNER_UNKNOWN, data, row.form)
    const owner = isUnknown ? target.id : told
    if (isOther(owner)) return undefined
    // Another Lockstep says of every session if its distance is approximate.
    const sendsLegacy = reader.hasCursors && reader.hasIncluded(trainingSessions)
    const record = toRecord(list, data, { owner, sendsLegacy, isAssumed: isUnknown })
    const envelope = { ...(templateId === undefined ? {} : { templateId }), ...record.envelope }
    return { record: { ...record, envelope }, data, owner, form: row.form, offered }
  }

  /** Returns whether a record was added or replaced. */
  async #save(list: SourceList, prepared: readonly PreparedRow[], found: readonly PullRow[]): Promise<boolean> {
    const { store, target, report, source, quota, check } = this.#options
    const present = found.map(row => ({ ...row, missing_at: null, gone_at: null }))
    if (prepared.length === 0) {
      if (present.length > 0) await checked(store, check, db => saveRows(db, present))
      return false
    }
    const records = prepared.map(({ record }) => record)
    const within: BatchOptions['within'] = async (db, { outcomes, written, setAside }) => {
      await quota?.add(db, written + setAside.newCount, () => sizeOf(records))
      const remembered = prepared.flatMap((row, index) => this.#newRow(list, row, outcomes[index]) ?? [])
      const ids = new Set(remembered.map(({ id }) => id))
      await saveRows(db, [...remembered, ...present.filter(({ id }) => !ids.has(id))])
    }
    const options = { source: source.address, account: target.id, check, within }
    const save = () => storeBatch(store, records, options)
    const batch = await (quota === undefined ? save() : quota.during(save))
    report.add(records, batch)
    return batch.outcomes.some(outcome => outcome === 'added' || outcome === 'replaced')
  }

  /** What is remembered of a row; undefined if it is known already. */
  #newRow(list: SourceList, row: PreparedRow, outcome?: BatchReport['outcomes'][number]): NewPullRow | undefined {
    const { source, pulled } = this.#options
    const { data, owner, form, offered } = row
    const { known, fault } = offered
    const { id } = offered.row
    // A row that could not be read again keeps its state.
    if (id === undefined || (fault !== undefined && known !== undefined)) return undefined
    const openAt = instantOf(data[list.order ?? '']) ?? instantOf(data['createdAt']) ?? source.clock.now()
    const next = {
      source_id: pulled.id,
      kind: list.kind,
      id,
      // A record that cannot be read in one round keeps its owner, so that it can be marked as gone later.
      owner_id: owner ?? known?.owner_id ?? null,
      form,
      open_at: outcome === 'skipped' ? openAt : null,
      missing_at: null,
      gone_at: null,
    } as const
    const isSame =
      known !== undefined && Object.entries(next).every(([name, value]) => known[name as keyof PullRow] === value)
    return isSame ? undefined : next
  }
}

/** How many bytes records take at most: their stored texts have the fields that they lack. */
function sizeOf(records: readonly IncomingRecord[]): number {
  return records.reduce((sum, { data, envelope }) => sum + JSON.stringify([data, envelope]).length * 3 + 2000, 0)
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
