import { type BatchImporterOptions, UNANSWERED } from '../archive/batch-importer.ts'
import type { Store } from '../store/index.ts'
import type { PulledAccount } from './account.ts'
import { markGone } from './gone.ts'
import { lockSessions, RECENT_MS, type SourceList, trainingSessions, trainingTemplates } from './lists.ts'
import { MissingListError, type SourceReader } from './reader.ts'
import type { PullProgress, ReportBuilder } from './report.ts'
import { idOf, sourceRow, type SourceRow } from './rows.ts'
import { activeLocks, countRows, findRows, openRows } from './state.ts'
import type { OfferedRow, RowStore } from './storing.ts'
import { ListOrder, type PageResult, walkList } from './walk.ts'
import type { Ownership } from './whose.ts'

/** What the steps of a round share. */
interface RoundState {
  readonly store: Store
  readonly reader: SourceReader
  readonly account: PulledAccount
  readonly ownership: Ownership
  readonly rows: RowStore
  readonly report: ReportBuilder
  readonly startedAt: number
  /** Whether all lists are read to their end. */
  readonly isFull: boolean
  /** Whether every record is read again. */
  readonly readsAll: boolean
  readonly progress: ((progress: PullProgress) => void) | undefined
  /** Runs at the start of each transaction, which it ends if it throws. */
  readonly check: BatchImporterOptions['check']
}

/** Pulls the rows of lists, and single records by id. */
export class ListPull {
  readonly #state: RoundState
  /** Programs that were read by id, because the source has no list of them. */
  readonly #programsRead = new Set<number>()
  #hasPrograms = true

  constructor(state: RoundState) {
    this.#state = state
  }

  async pullList(list: SourceList) {
    const { progress, store, account, isFull, reader, report } = this.#state
    const source = account.source
    const expected = isFull && source !== undefined ? await countRows(store, source.id, list.kind) : undefined
    const listedIds = new Set<number>()
    const order = new ListOrder(list.order)
    try {
      const walk = await walkList(
        position => reader.readPage(list, position),
        async rows => {
          const result = await this.#storePage(list, rows, listedIds, order)
          progress?.({ kind: list.kind, title: list.title, rows: listedIds.size, expected })
          return result
        },
      )
      if (!walk.stoppedEarly && !walk.steppedBack) {
        await this.#markGone(list, listedIds)
      }
    } catch (error) {
      if (!(error instanceof MissingListError)) throw error
      report.missingLists.push(list.title)
      if (list === trainingTemplates) this.#hasPrograms = false
    }
  }

  /** Reads sessions again that may have ended since they were read. */
  async pullOpenRows(list: SourceList) {
    const { store, account, startedAt, rows } = this.#state
    const source = account.source
    if (source === undefined) return
    const unfinished = await openRows(store, source.id, list.kind, startedAt - RECENT_MS)
    const active = list === lockSessions ? await activeLocks(store, source.id, account.id) : []
    const ids = [...new Set([...unfinished, ...active].map(({ id }) => id))].filter(id => !rows.hasRead(list, id))
    for (const id of ids) {
      await this.#readAgain(list, id)
    }
  }

  /** Reads records of these numbers that no round has read. Where the source has none of a number, it is left out. */
  async pullNumbers(list: SourceList, numbers: readonly number[]) {
    const known = await this.#findRows(list, numbers)
    for (const id of numbers) if (!known.has(id)) await this.#readAgain(list, id)
  }

  /** Stores records that were read by id; their stored form stays that of the list row. */
  async storeAgain(
    list: SourceList,
    records: readonly SourceRow[],
    more: Pick<OfferedRow, 'templateId' | 'fault'> = {},
  ) {
    const known = await this.#findRows(
      list,
      records.flatMap(({ id }) => (id === undefined ? [] : [id])),
    )
    const rows = records.map(record => {
      const before = record.id === undefined ? undefined : known.get(record.id)
      const row = { ...record, form: before?.form ?? '' }
      return { row, known: before, isRecord: true, ...more }
    })
    await this.#store(list, rows, [])
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
    const ids = rows.flatMap(({ id }) => (id === undefined ? [] : [id]))
    // Rows that occur twice are stored once, unless they changed meanwhile.
    const repeated = new Set(ids.filter(id => listedIds.has(id)))
    for (const id of ids) listedIds.add(id)
    if (reader.isPartial(list) === undefined) await reader.samplePartial(list, rows)
    const known = await this.#findRows(list, ids)
    const offered = rows.map(row => ({ row, known: row.id === undefined ? undefined : known.get(row.id) }))
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
  async #instantsOf(
    list: SourceList,
    rows: readonly SourceRow[],
    order: ListOrder,
    prepared: Awaited<ReturnType<RowStore['store']>>['prepared'],
  ): Promise<(number | undefined)[]> {
    const { store, account } = this.#state
    const instants = rows.map(({ data }) => order.instantOf(data))
    if (list !== lockSessions || !instants.includes(undefined)) return instants
    const read = new Map(prepared.map(({ offered, data }) => [offered.row.id, order.instantOf(data)]))
    const ids = rows.flatMap(({ id }) => (id === undefined ? [] : [id]))
    const stored = await store.db
      .selectFrom('lock_session')
      .select(['id', 'at'])
      .where('id', 'in', ids.length === 0 ? [0] : ids)
      .where('owner_id', '=', account.id)
      .execute()
    const at = new Map<number | undefined, number>(stored.map(row => [row.id, row.at]))
    return rows.map(({ id }, index) => instants[index] ?? read.get(id) ?? at.get(id))
  }

  /** Reads a record by id and stores it; rejects it if the source does not return it. */
  async #readAgain(list: SourceList, id: number) {
    const { reader } = this.#state
    const data = await reader.tryRecord(list, id)
    if (data === 'unanswered') await this.storeAgain(list, [sourceRow({ id })], { fault: UNANSWERED })
    else if (data !== undefined) await this.storeAgain(list, [sourceRow(data)])
  }

  async #store(list: SourceList, rows: readonly OfferedRow[], found: Parameters<RowStore['store']>[2]) {
    const stored = await this.#state.rows.store(list, rows, found)
    if (list !== trainingSessions || this.#hasPrograms) return stored
    for (const { data } of stored.prepared) await this.#pullProgram(idOf(data['settings_id']))
    return stored
  }

  /** Reads the program of a training session. */
  async #pullProgram(id: number | undefined) {
    const { isFull } = this.#state
    if (id === undefined || this.#programsRead.has(id)) return
    this.#programsRead.add(id)
    const known = await this.#findRows(trainingTemplates, [id])
    // A program without an owner was not read yet.
    if (known.get(id)?.owner_id != null && !isFull) return
    await this.#readAgain(trainingTemplates, id)
  }

  async #markGone(list: SourceList, listedIds: ReadonlySet<number>) {
    const { store, account, startedAt, reader, report, check } = this.#state
    const source = account.source
    if (source === undefined) return
    const { gone, found } = await markGone({ store, source, list, listedIds, at: startedAt, reader, check })
    report.gone += gone
    for (const data of found) await this.storeAgain(list, [sourceRow(data)])
  }

  async #findRows(list: SourceList, ids: readonly number[]) {
    const { account, store } = this.#state
    const source = account.source
    if (source === undefined) return new Map<number, never>()
    return findRows(store.db, source.id, list.kind, ids)
  }
}
