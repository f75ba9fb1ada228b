import type { Kysely } from 'kysely'
import { deletedAmong } from '../accounts/deleted-records.ts'
import { renumberAccount } from '../accounts/renumber.ts'
import { Quota, type QuotaConfig } from '../archive/quota.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { beginSource, completeSource, type OfferedRow, type PreparedRow, RowStore, type RoundState } from './storing.ts'
import { claimRejected } from './rejected.ts'
import { checkJob, holdJob, pullJob } from '../jobs/jobs.ts'
import {
  FULL_WALK_EVERY_MS,
  lockSessions,
  sourceLists,
  trainingSessions,
  idOf,
  sourceRow,
  RECENT_MS,
  type SourceData,
  type SourceList,
  trainingTemplates,
  type SourceRow,
} from './lists.ts'
import { SourceReader, MissingListError, ListOrder, type PageResult, walkList } from './walk.ts'
import { type PullProgress, type PullReport, ReportBuilder } from './report.ts'
import { isObject } from '../archive/values.ts'
import { type Source, SourceUnavailableError, SourceError, SourceRefusedError } from './source.ts'
import { capabilitiesOf, type PullRow, readCapabilities, activeLocks, countRows, findRows, openRows } from './state.ts'
import { findTarget, identify, type Identity, Ownership, type Target, usernameOf } from './whose.ts'
import { UNANSWERED } from '../archive/batch-importer.ts'
import { markGone } from './gone.ts'

export interface RoundOptions {
  readonly store: Store
  readonly source: Source
  /** The value of `--account`. */
  readonly account?: string | undefined
  /** Whether all lists are read to their end, and every record is read again. */
  readonly full?: boolean
  /** Whether training sessions without an owner belong to the account, which is remembered for the source. */
  readonly mine?: boolean | undefined
  /** Numbers of lock sessions to read by id, where the source has no list of them. */
  readonly lockSessions?: readonly number[] | undefined
  readonly progress?: (progress: PullProgress) => void
  /** Bounds what is stored of the account of the API key: set for pulls that a page started. */
  readonly quota?: QuotaConfig
  /** Is told of another pull for the account that has stopped, from which this one takes over. */
  readonly onTakeOver?: (text: string) => void
  /** Runs at the start of each transaction that stores records, which it ends if it throws. With it, the caller has the job. */
  readonly check?: (db: Kysely<Tables>) => Promise<void>
  /** Runs in the transaction that gives an account the id that it has at the source. */
  readonly onRenumber?: (db: Kysely<Tables>, id: number) => Promise<void>
}

/**
 * Pulls once: stores everything that is new at the source. Throws SourceError if the source refuses or is unavailable,
 * Refusal if it is unclear whose records they are, or while another pull for the account
 * is running, Refusal if the account has no more room, StoppedError when stopped.
 */
export async function pullOnce(options: RoundOptions): Promise<PullReport> {
  const { store, source, account } = options
  const { identityPath } = await capabilitiesOf(store, source.address)
  const identity = await identify(source, identityPath)
  const target = await findTarget(store, source.address, identity, account)
  const hold = options.check === undefined ? await holdAccount(options, target) : undefined
  const check = options.check ?? (async db => hold && checkJob(store.engine, db, hold))
  try {
    if (target.presentId !== undefined) {
      await renumberAccount(store, target.presentId, target.id, async (db, id) => {
        await options.onRenumber?.(db, id)
        if (hold !== undefined) hold.name = pullJob(id)
      })
    }
    return await runRound({ ...options, check }, identity, target)
  } finally {
    await hold?.release()
  }
}

/** Takes the job of whoever pulls into the account. */
function holdAccount({ store, onTakeOver = () => {} }: RoundOptions, { id, presentId = id }: Target) {
  const running = `another pull for account ${id}`
  return holdJob(store, { name: pullJob(presentId), by: 'the command', running, onTakeOver })
}

/** Reads the lists of the source, and stores what is new. */
async function runRound(options: RoundOptions, identity: Identity | undefined, target: Target): Promise<PullReport> {
  const { store, source, check, full: readsAll = false, lockSessions: numbers = [] } = options
  const startedAt = source.clock.now()
  const report = new ReportBuilder()
  const account = { store, source, target, user: identity?.user, report, check }
  const pulled = await beginSource(account)
  const mine = options.mine ?? pulled.mine === 1
  const isFull = readsAll || pulled.full_at === null || startedAt - pulled.full_at >= FULL_WALK_EVERY_MS
  const reader = new SourceReader(source, isFull ? {} : readCapabilities(pulled.capabilities), identity && target.id)
  const ownership = new Ownership(store, source, reader, target.id)
  const quota = options.quota && new Quota(store, options.quota, target.id)
  const round = { ...options, ...account, pulled, reader, ownership, mine, quota, startedAt, isFull, readsAll }
  const lists = new ListPull(round)
  if (mine) report.said.claimed = await claimRejected(store, pulled, check)
  for (const list of sourceLists) {
    await lists.pullList(list)
    if (list === lockSessions) {
      await lists.pullNumbers(list, numbers)
      await pullCurrentLock(round, lists)
    }
    if (list === lockSessions || list === trainingSessions) await lists.pullOpenRows(list)
  }
  const name = usernameOf(identity?.user)
  await completeSource(round, {
    capabilities: JSON.stringify({ ...reader.capabilities, identityPath: identity?.path }),
    mine: mine ? 1 : 0,
    knows_me: identity === undefined ? 0 : 1,
    ...(name === undefined ? {} : { username: name }),
    ...(isFull ? { full_at: startedAt } : {}),
  })
  const { id: accountId, username } = target
  return report.finish({ origin: source.address, accountId, username, isFull, requests: source.requests })
}

/** Pulls the active lock with its template, which sources send only while the lock is active; if the source fails, the round goes on. */
async function pullCurrentLock({ source, reader, report }: RoundState, lists: ListPull) {
  try {
    const query = reader.hasIncluded(lockSessions) ? { include: 'template' } : {}
    const { data: session } = await source.get('/lkbx/session/current', query)
    if (!isObject(session) || idOf(session['id']) === undefined) return
    const { data: template } = await source.get('/lkbx/templates/active')
    const templateId = isObject(template) ? idOf(template['id']) : undefined
    await lists.storeAgain(lockSessions, session, templateId === undefined ? {} : { templateId })
  } catch (error) {
    if (!(error instanceof SourceUnavailableError)) throw error
    report.said.notes.push('the source does not return the current lock: the next round tries again')
  }
}

/** Pulls the rows of lists, and single records by id. */
class ListPull {
  readonly #state: RoundState
  readonly #rows: RowStore
  /** Programs that were read by id, because the source has no list of them. */
  readonly #programsRead = new Set<number>()
  #hasPrograms = true

  constructor(state: RoundState) {
    this.#state = state
    this.#rows = new RowStore(state)
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
      const { gone, found } = await markGone(this.#state, list, listedIds)
      report.said.gone += gone
      for (const data of found) await this.storeAgain(list, data)
    } catch (error) {
      if (!(error instanceof MissingListError)) throw error
      report.said.missingLists.push(title)
      if (list === trainingTemplates) this.#hasPrograms = false
    }
  }

  /** Reads sessions again that may have ended since they were read. */
  async pullOpenRows(list: SourceList) {
    const { store, target, pulled, startedAt } = this.#state
    const unfinished = await openRows(store, pulled.id, list.kind, startedAt - RECENT_MS)
    const active = list === lockSessions ? await activeLocks(store, pulled.id, target.id) : []
    for (const id of new Set([...unfinished, ...active].map(row => row.id)))
      if (!this.#rows.hasRead(list, id)) await this.#readAgain(list, id)
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

  async #store(list: SourceList, rows: readonly OfferedRow[], found: readonly PullRow[] = []) {
    const stored = await this.#rows.store(list, rows, found)
    if (list === trainingSessions && !this.#hasPrograms)
      for (const { data } of stored.prepared) await this.#pullProgram(idOf(data['settings_id']))
    return stored
  }

  /** Reads the program of a training session. */
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
}

function idsOf(rows: readonly SourceRow[]): number[] {
  return rows.flatMap(({ id }) => id ?? [])
}

export interface RepeatOptions {
  /** Milliseconds from the end of a round to the start of the next. */
  readonly every: number
  readonly source: Source
  readonly round: () => Promise<PullReport>
  readonly onReport: (report: PullReport) => void
  readonly onFailure: (error: SourceError, waitMs: number) => void
}

/**
 * Pulls until it is stopped, which throws StoppedError. After a failure of the source, the wait before the next round doubles.
 * Throws SourceRefusedError if the source refuses the API key three times in a row.
 */
export async function pullRepeatedly({ every, source, round, onReport, onFailure }: RepeatOptions): Promise<never> {
  let failures = 0
  let refusals = 0
  for (;;) {
    let waitMs = every
    try {
      onReport(await round())
      failures = 0
      refusals = 0
    } catch (error) {
      if (!(error instanceof SourceError)) throw error
      refusals = error instanceof SourceRefusedError ? refusals + 1 : 0
      if (refusals === MAX_REFUSALS) throw error
      waitMs = Math.min(FIRST_WAIT_MS * 2 ** failures, MAX_WAIT_MS)
      failures += 1
      onFailure(error, waitMs)
    }
    await source.wait(waitMs)
  }
}

const MAX_REFUSALS = 3
const FIRST_WAIT_MS = 1000
const MAX_WAIT_MS = 300_000
