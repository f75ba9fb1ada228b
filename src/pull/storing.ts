import {
  type BatchImporterOptions,
  type BatchReport,
  type IncomingRecord,
  OWNER_UNKNOWN,
  UNANSWERED,
  type BatchImporter,
  openBatchImporter,
} from '../archive/batch-importer.ts'
import type { Quota } from '../archive/quota.ts'
import type { Store } from '../store/index.ts'
import { type SourceList, trainingSessions, instantOf, type SourceData, type SourceRow, toRecord } from './lists.ts'
import type { SourceReader } from './walk.ts'
import type { PullProgress, ReportBuilder } from './report.ts'
import { type Source, StoppedError, SourceError } from './source.ts'
import { checked, type NewPullRow, type PullRow, saveRows, type PullSource } from './state.ts'
import { type Ownership, type Target, usernameOf } from './whose.ts'
import { formatTimestamp } from '../contract/time.ts'

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
interface PreparedRow {
  readonly record: IncomingRecord
  readonly data: SourceData
  readonly owner: number | undefined
  /** The form to store for the row; empty if it must be read again. */
  readonly form: string
  readonly offered: OfferedRow
}

export interface StoredRows {
  /** The rows that belong to the account. */
  readonly prepared: readonly PreparedRow[]
  readonly isChanged: boolean
}

/** What the steps of a round share. */
export interface RoundState {
  readonly store: Store
  readonly source: Source
  readonly reader: SourceReader
  readonly account: PulledAccount
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
  readonly check: BatchImporterOptions['check']
}

/** Stores rows of the source as complete records of their owners, each batch in one transaction. */
export class RowStore {
  readonly #options: RoundState
  /** Records that were read by id in this round. */
  readonly #read = new Set<string>()

  constructor(options: RoundState) {
    this.#options = options
  }

  /** Stores the rows that belong to the account. `found` are stored rows that are no longer missing. */
  async store(list: SourceList, rows: readonly OfferedRow[], found: readonly PullRow[] = []): Promise<StoredRows> {
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
    const { row, known } = offered
    const { account, ownership, reader } = this.#options
    if (offered.fault !== undefined) return this.#rejectedRow(list, offered, offered.fault)
    if (list !== trainingSessions) {
      // Skips records of others without reading them.
      const owner = await ownership.ownerOf(list, row.data)
      if (owner !== undefined && owner !== account.id) return this.#leaveOut(list, row)
    }
    let { data } = row
    if (offered.isRecord !== true && row.id !== undefined && reader.lacksFields(list, data)) {
      const read = await reader.tryRecord(list, row.id)
      if (read === 'unanswered') return this.#rejectedRow(list, offered, UNANSWERED)
      // Every source has records of these kinds by id, so this one was removed meanwhile.
      if (read === undefined && list.hasRecords) return undefined
      data = read ?? data
      this.#read.add(`${list.kind} ${row.id}`)
    }
    if (offered.isRecord === true) this.#read.add(`${list.kind} ${row.id}`)
    const told = await ownership.ownerOf(list, data)
    if (told === 'unanswered') return this.#rejectedRow(list, { row: { ...row, data }, known }, UNANSWERED)
    const isAssumed = told === undefined && list === trainingSessions && this.#options.mine
    const owner = isAssumed ? account.id : told
    if (owner === undefined && list === trainingSessions) {
      return this.#rejectedRow(list, { row: { ...row, data }, known }, OWNER_UNKNOWN, row.form)
    }
    if (owner !== undefined && owner !== account.id) return this.#leaveOut(list, row)
    const record = toRecord(list, data, { owner, sendsLegacy: this.#sendsLegacy, isAssumed })
    const { templateId } = offered
    const envelope = templateId === undefined ? record.envelope : { templateId, ...record.envelope }
    return { record: envelope === undefined ? record : { ...record, envelope }, data, owner, form: row.form, offered }
  }

  /** Counts a row of another account. */
  #leaveOut(list: SourceList, { id, form }: SourceRow): undefined {
    this.#options.report.addOther(list.kind, id ?? form)
  }

  /** Whether the source says of every session if its distance is approximate, as another Lockstep does. */
  get #sendsLegacy(): boolean {
    const { reader } = this.#options
    return reader.hasCursors && reader.hasIncluded(trainingSessions)
  }

  #rejectedRow(list: SourceList, offered: OfferedRow, fault: string, form = ''): PreparedRow {
    const { data } = offered.row
    const ownerId = data['ownerId']
    const envelope = list === trainingSessions && ownerId !== undefined ? { ownerId } : {}
    return { record: { kind: list.kind, data, envelope, fault }, data, owner: undefined, form, offered }
  }

  /** Returns whether a record was added or replaced. */
  async #save(list: SourceList, prepared: readonly PreparedRow[], found: readonly PullRow[]): Promise<boolean> {
    const { store, account, report, source, quota, check } = this.#options
    const present = found.map(row => ({ ...row, missing_at: null, gone_at: null }))
    if (prepared.length === 0) {
      if (present.length > 0) await checked(store, check, db => saveRows(db, present))
      return false
    }
    const { importer, source: pulled } = await account.open()
    const records = prepared.map(({ record }) => record)
    const remember = (row: PreparedRow, outcome: BatchReport['outcomes'][number] | undefined): NewPullRow[] => {
      const { known } = row.offered
      const { id } = row.offered.row
      // A row that could not be read again keeps its state.
      if (id === undefined || (row.offered.fault !== undefined && known !== undefined)) return []
      const openAt = instantOf(row.data[list.order ?? '']) ?? instantOf(row.data['createdAt']) ?? source.clock.now()
      const next = {
        source_id: pulled.id,
        kind: list.kind,
        id,
        // A record that cannot be read in one round keeps its owner, so that it can be marked as gone later.
        owner_id: row.owner ?? known?.owner_id ?? null,
        form: row.form,
        open_at: outcome === 'skipped' ? openAt : null,
        missing_at: null,
        gone_at: null,
      }
      return known !== undefined && isSameRow(known, next) ? [] : [next]
    }
    const within = async (db: Store['db'], { outcomes, ...counts }: BatchReport) => {
      const { added, replaced, refreshed, setAside } = counts
      await quota?.add(db, added + replaced + refreshed + setAside.newCount, () => sizeOf(records))
      const remembered = prepared.flatMap((row, index) => remember(row, outcomes[index]))
      const ids = new Set(remembered.map(({ id }) => id))
      await saveRows(db, [...remembered, ...present.filter(({ id }) => !ids.has(id))])
    }
    const save = () => importer.storeBatch(records, { within })
    const batch = await (quota === undefined ? save() : quota.during(save))
    report.add(records, batch)
    return batch.added + batch.replaced > 0
  }
}

/** How many bytes records take at most: their stored texts have the fields that they lack. */
function sizeOf(records: readonly IncomingRecord[]): number {
  return records.reduce((sum, { data, envelope }) => sum + JSON.stringify([data, envelope]).length * 3 + 2000, 0)
}

function isSameRow(known: PullRow, next: NewPullRow): boolean {
  return (
    known.owner_id === next.owner_id &&
    known.form === next.form &&
    known.open_at === next.open_at &&
    known.missing_at === null &&
    known.gone_at === null
  )
}

interface PulledAccountOptions extends Pick<RoundState, 'store' | 'report' | 'check'> {
  readonly origin: string
  readonly target: Target
  readonly known: PullSource | undefined
  /** The user as the source sends it. */
  readonly user: SourceData | undefined
}

/** The account that a pull stores rows of: that of the API key. */
export class PulledAccount {
  readonly #options: PulledAccountOptions
  readonly #importer: BatchImporter
  #source: PullSource | undefined

  constructor(options: PulledAccountOptions) {
    const { store, origin, target, known, check } = options
    this.#options = options
    this.#source = known
    this.#importer = openBatchImporter(store, { source: origin, accounts: [target.id], check })
  }

  get id(): number {
    return this.#options.target.id
  }

  /** The stored state of the source; undefined before the first record is stored. */
  get source(): PullSource | undefined {
    return this.#source
  }

  /** The importer and the stored state of the source, which is created together with the account on first use. */
  async open(): Promise<{ readonly importer: BatchImporter; readonly source: PullSource }> {
    this.#source ??= await this.#begin()
    return { importer: this.#importer, source: this.#source }
  }

  /** Stores `asOf` of the account and the state of the source. */
  async complete(now: number, source: Partial<Omit<PullSource, 'id' | 'account_id' | 'origin'>>): Promise<void> {
    const { importer, source: known } = await this.open()
    const envelope = { asOf: formatTimestamp(now) }
    const record = { ...this.#record(), envelope }
    const report = await importer.storeBatch([record], {
      within: async db => {
        await db
          .updateTable('pull_source')
          .set({ ...source, completed_at: now })
          .where('id', '=', known.id)
          .execute()
      },
    })
    this.#options.report.add([record], report)
    if (report.outcomes[0] === 'rejected') await importer.storeBatch([{ ...this.#record(true), envelope }])
  }

  /**
   * Creates the account and the state of its source in one transaction: with all fields of the account, or with its name alone if
   * they cannot be stored.
   */
  async #begin(): Promise<PullSource> {
    const { origin, target, user, report: counts } = this.#options
    const sourceName = usernameOf(user)
    if (target.isNew && sourceName !== target.username) counts.noteName(sourceName ?? '', target.username)
    for (const isMinimal of [false, true]) {
      let source: PullSource | undefined
      const record = this.#record(isMinimal)
      const report = await this.#importer.storeBatch([record], {
        within: async (db, { outcomes }) => {
          if (outcomes[0] === 'rejected') return
          const values = {
            account_id: this.id,
            origin,
            username: sourceName ?? null,
            knows_me: user === undefined ? 0 : 1,
            capabilities: '{}',
          }
          source = await db.insertInto('pull_source').values(values).returningAll().executeTakeFirstOrThrow()
        },
      })
      if (report.outcomes[0] === 'added') counts.add([record], { ...report, extra: [], leniencies: [] })
      if (source !== undefined) return source
    }
    throw new SourceError(`the account ${this.id} of the source cannot be stored`)
  }

  #record(isMinimal = false): IncomingRecord {
    const { subscriptionEndsAt: _, ...user } = isMinimal ? {} : { ...this.#options.user }
    const { id, username } = this.#options.target
    // The tier is used for a new account only.
    return { kind: 'account', data: { ...user, id, username, subscriptionTier: 'ultra' } }
  }
}
