import { deletedAmong } from '../accounts/deleted-records.ts'
import {
  type BatchOptions,
  type IncomingRecord,
  OWNER_UNKNOWN,
  storeBatch,
  UNANSWERED,
} from '../archive/batch-importer.ts'
import type { Quota } from '../archive/quota.ts'
import type { Outcome } from '../archive/report.ts'
import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import {
  idOf,
  instantOf,
  lockSessions,
  RECENT_MS,
  type SourceData,
  type SourceList,
  type SourceRow,
  sourceRow,
  toRecord,
  trainingSessions,
  trainingTemplates,
} from './lists.ts'
import type { PullProgress, ReportBuilder } from './report.ts'
import { type Source, StoppedError } from './source.ts'
import {
  countRows,
  findRows,
  type NewPullRow,
  openRows,
  type PullRow,
  type PullSource,
  rowsOfAccount,
  saveRows,
} from './state.ts'
import { ListOrder, MissingListError, type PageResult, type SourceReader, walkList } from './walk.ts'
import type { Ownership, Target } from './whose.ts'

/** What the steps of a round share. */
export interface RoundState {
  readonly store: Store
  readonly source: Source
  readonly reader: SourceReader
  readonly target: Target
  /** The stored state of the source. */
  readonly pulled: PullSource
  readonly ownership: Ownership
  readonly report: ReportBuilder
  readonly startedAt: number
  /** Whether all lists are read to their end. */
  readonly isFull: boolean
  readonly readsAll: boolean
  /** Whether training sessions whose owner the source does not tell belong to the account of the API key. */
  readonly mine: boolean
  /** The room that the account of the API key has; none is counted if it is missing. */
  readonly quota: Quota | undefined
  readonly progress?: (progress: PullProgress) => void
  /** Runs at the start of each transaction, which it ends if it throws. */
  readonly check: BatchOptions['check']
}

interface OfferedRow {
  readonly row: SourceRow
  readonly known: PullRow | undefined
  /** The template, if another response of the source had it. */
  readonly templateId?: number
  /** Whether the row is a complete record, not a row of a list. */
  readonly isRecord?: boolean
  readonly fault?: string
}

interface PreparedRow {
  readonly record: IncomingRecord
  readonly data: SourceData
  readonly owner: number | undefined
  /** The form to store for the row; empty if it must be read again. */
  readonly form: string
  readonly offered: OfferedRow
}

/** Pulls the rows of lists, and single records by id, and stores them as complete records of their owners, each batch in one transaction. */
export class ListPull {
  readonly #state: RoundState
  /** Records that were read by id in this round. */
  readonly #read = new Set<string>()
  /** Programs that were read by id, because the source has no list of them. */
  readonly #programsRead = new Set<number>()
  #hasPrograms = true

  constructor(state: RoundState) {
    this.#state = state
  }

  async pullList(list: SourceList) {
    const { progress, store, pulled, isFull, reader, report } = this.#state
    const { kind, title } = list
    const expected = isFull ? (await countRows(store, pulled.id, kind)) || undefined : undefined
    const listedIds = new Set<number>()
    const order = new ListOrder(list.order)
    try {
      const walk = await walkList(
        position => reader.readPage(list, position),
        async rows => {
          const result = await this.#storePage(list, rows, listedIds, order)
          progress?.({ kind, title, rows: listedIds.size, expected })
          return result
        },
      )
      if (walk.stoppedEarly || walk.steppedBack) return
      report.said.gone += await markGone(this.#state, list, listedIds)
    } catch (error) {
      if (!(error instanceof MissingListError)) throw error
      report.said.missingLists.push(title)
      if (list === trainingTemplates) this.#hasPrograms = false
    }
  }

  /** Reads sessions again that may have ended since they were read. */
  async pullOpenRows(list: SourceList) {
    const { store, pulled, startedAt } = this.#state
    for (const id of await openRows(store, pulled, list.kind, startedAt - RECENT_MS))
      if (!this.#read.has(`${list.kind} ${id}`)) await this.#readAgain(list, id)
  }

  /** Reads records of these numbers that no round has read. Where the source has none of a number, it is left out. */
  async pullNumbers(list: SourceList, numbers: readonly number[]) {
    const known = await this.#findRows(list, numbers)
    for (const id of numbers) {
      if (!known.has(id) && !(await this.#readAgain(list, id))) this.#state.report.said.notFound.push(id)
    }
  }

  /** Stores a record that was read by id; its stored form stays that of the list row. */
  async storeAgain(list: SourceList, data: SourceData, more: Pick<OfferedRow, 'templateId' | 'fault'> = {}) {
    const row = sourceRow(data)
    const known = (await this.#findRows(list, idsOf([row]))).get(row.id ?? 0)
    await this.#store(list, [{ row: { ...row, form: known?.form ?? '' }, known, isRecord: true, ...more }])
  }

  async #storePage(
    list: SourceList,
    page: readonly SourceRow[],
    listedIds: Set<number>,
    order: ListOrder,
  ): Promise<PageResult> {
    const { ownership, reader, readsAll, isFull, startedAt } = this.#state
    const rows = [...new Map(page.map(row => [row.id ?? row.form, row])).values()]
    ownership.addRows(list, rows)
    const ids = idsOf(rows)
    // Rows that occur twice are stored once, unless they changed meanwhile.
    const repeated = new Set(ids.filter(id => listedIds.has(id)))
    for (const id of ids) listedIds.add(id)
    const deleted = await this.#deletedAmong(list, ids)
    const kept = rows.filter(({ id }) => id === undefined || !deleted.has(id))
    if (reader.isPartial(list) === undefined) await reader.samplePartial(list, kept)
    const known = await this.#findRows(list, ids)
    const offered = kept.map(row => ({ row, known: known.get(row.id ?? 0) }))
    const isNew = ({ row, known: before }: OfferedRow) => before === undefined || before.form !== row.form
    const readsAgain = readsAll || (isFull && reader.isPartial(list) === false)
    const stored = await this.#store(
      list,
      offered.filter(row => isNew(row) || (readsAgain && !repeated.has(row.row.id ?? 0))),
      [...known.values()].filter(row => row.missing_at !== null || row.gone_at !== null),
    )
    const hasNews = stored.isChanged || stored.prepared.some(row => isNew(row.offered))
    order.add(await this.#instantsOf(list, rows, order, stored.prepared))
    const isOld = order.newest !== undefined && order.newest < startedAt - RECENT_MS
    return { hasNews, canStop: !isFull && !hasNews && isOld && order.isNewestFirst }
  }

  /** The instants that order the rows of a page. Lists may leave out the start of a lock session; its record has it. */
  async #instantsOf(list: SourceList, rows: readonly SourceRow[], order: ListOrder, prepared: readonly PreparedRow[]) {
    const { store, target } = this.#state
    const instants = rows.map(({ data }) => order.instantOf(data))
    if (list !== lockSessions || !instants.includes(undefined)) return instants
    const read = new Map(prepared.map(({ offered, data }) => [offered.row.id, order.instantOf(data)]))
    const stored = await store.db
      .selectFrom('lock_session')
      .select(['id', 'at'])
      .where('id', 'in', [0, ...idsOf(rows)])
      .where('owner_id', '=', target.id)
      .execute()
    const at = new Map<number | undefined, number>(stored.map(row => [row.id, row.at]))
    return rows.map(({ id }, index) => instants[index] ?? read.get(id) ?? at.get(id))
  }

  /** Those of these records that their owner deleted, which are counted. */
  async #deletedAmong({ kind }: SourceList, ids: readonly number[]) {
    const { store, target, report } = this.#state
    const deleted = await deletedAmong(store.db, { kind, owner: target.id }, ids)
    for (const id of deleted) report.addDeleted(kind, id)
    return deleted
  }

  /** Reads a record by id and stores it; rejects it if the source does not return it. False if the source has none. */
  async #readAgain(list: SourceList, id: number): Promise<boolean> {
    if ((await this.#deletedAmong(list, [id])).has(id)) return true
    const data = await this.#state.reader.tryRecord(list, id)
    if (data === 'unanswered') await this.storeAgain(list, { id }, { fault: UNANSWERED })
    else if (data !== undefined) await this.storeAgain(list, data)
    return data !== undefined
  }

  /** Stores the rows that belong to the account, and returns them. `found` are stored rows that are no longer missing. */
  async #store(list: SourceList, rows: readonly OfferedRow[], found: readonly PullRow[] = []) {
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
    const isChanged = await this.#save(list, prepared, found)
    if (list === trainingSessions && !this.#hasPrograms)
      for (const { data } of prepared) await this.#pullProgram(idOf(data['settings_id']))
    return { prepared, isChanged }
  }

  async #pullProgram(id: number | undefined) {
    if (id === undefined || this.#programsRead.has(id)) return
    this.#programsRead.add(id)
    const known = await this.#findRows(trainingTemplates, [id])
    // A program without an owner was not read yet.
    if (known.get(id)?.owner_id != null && !this.#state.isFull) return
    await this.#readAgain(trainingTemplates, id)
  }

  #findRows(list: SourceList, ids: readonly number[]) {
    const { pulled, store } = this.#state
    return findRows(store.db, pulled.id, list.kind, ids)
  }

  /** Undefined for a row of another account, or of a record that no longer exists. */
  async #prepare(list: SourceList, offered: OfferedRow): Promise<PreparedRow | undefined> {
    const { row, isRecord = false, fault, templateId } = offered
    const { target, ownership, reader, report, mine } = this.#state
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
    const { store, target, report, source, quota, check } = this.#state
    const present = found.map(row => ({ ...row, missing_at: null, gone_at: null }))
    if (prepared.length === 0) {
      if (present.length > 0) await saveMarks(this.#state, present)
      return false
    }
    const records = prepared.map(({ record }) => record)
    const within: BatchOptions['within'] = async (db, { outcomes, written, setAside }) => {
      await quota?.add(db, written + setAside.newCount, () => sizeOf(records))
      const remembered = prepared.flatMap((row, index) => this.#newRow(list, row, outcomes[index]) ?? [])
      const ids = new Set(remembered.map(({ id }) => id))
      await saveRows(db, [...remembered, ...present.filter(({ id }) => !ids.has(id))])
    }
    const options = { source: source.address, account: target.id, check, noteCounts: report.noteCounts, within }
    await quota?.prepare()
    const batch = await storeBatch(store, records, options)
    report.add(records, batch)
    return batch.outcomes.some(outcome => outcome === 'added' || outcome === 'replaced')
  }

  /** What is remembered of a row; undefined if it is known already. */
  #newRow(list: SourceList, row: PreparedRow, outcome?: Outcome): NewPullRow | undefined {
    const { source, pulled } = this.#state
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

function idsOf(rows: readonly SourceRow[]): number[] {
  return rows.flatMap(({ id }) => id ?? [])
}

/** How many bytes records take at most: their stored texts have the fields that they lack. */
function sizeOf(records: readonly IncomingRecord[]): number {
  return records.reduce((sum, { data, envelope }) => sum + JSON.stringify([data, envelope]).length * 3 + 2000, 0)
}

/**
 * Marks rows that a complete walk of a list did not find: missing at first, gone if they are still missing a day later and the
 * source has no record with this id. Returns how many rows became gone.
 */
async function markGone(state: RoundState, list: SourceList, listedIds: ReadonlySet<number>): Promise<number> {
  const { store, pulled, reader, startedAt: at } = state
  let gone = 0
  for await (const rows of rowsOfAccount(store, pulled, list.kind)) {
    const ids = rows.map(({ id }) => id)
    const deleted = await deletedAmong(store.db, { kind: list.kind, owner: pulled.account_id }, ids)
    for (const row of rows) {
      if (listedIds.has(row.id) || row.gone_at !== null || deleted.has(row.id)) continue
      if (row.missing_at !== null && at - row.missing_at < DAY_MS) continue
      const record = row.missing_at === null ? undefined : await reader.tryRecord(list, row.id)
      if (record === 'unanswered') continue
      // If the source has the record although it is not in the list, it is checked again after another day.
      const isGone = row.missing_at !== null && record === undefined
      const marks = isGone ? { gone_at: at, open_at: null } : { missing_at: at }
      await saveMarks(state, [{ ...row, ...marks }])
      if (isGone) gone += 1
    }
  }
  return gone
}

/** Stores what is known of rows, without their records. */
function saveMarks({ store, check }: RoundState, rows: readonly NewPullRow[]): Promise<void> {
  return store.db.transaction().execute(async db => {
    await check?.(db)
    await saveRows(db, rows)
  })
}
