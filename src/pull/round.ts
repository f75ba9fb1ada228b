import { DAY_MS } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import { PulledAccounts } from './accounts.ts'
import { markGone } from './gone.ts'
import { checkApi, identify, type Identity, type IdentityPath } from './identity.ts'
import {
  deviceLists,
  lockSessions,
  type SourceList,
  sourceLists,
  trainingSessions,
  trainingTemplates,
} from './lists.ts'
import { ListOrder } from './order.ts'
import { Ownership } from './ownership.ts'
import { readPeople } from './people.ts'
import { MissingListError, SourceReader } from './reader.ts'
import { type PullProgress, type PullReport, ReportBuilder } from './report.ts'
import { idOf, isObject, rowOf, type SourceRow } from './rows.ts'
import { type Source, SourceUnavailableError } from './source.ts'
import {
  activeLocks,
  capabilitiesOf,
  countRows,
  findRows,
  findSource,
  openRows,
  type PullSource,
  readCapabilities,
} from './state.ts'
import { type OfferedRow, RowStore, UNANSWERED } from './storing.ts'
import { findTarget, nameOf, type Target } from './target.ts'
import { type PageResult, walkList } from './walk.ts'

export interface RoundOptions {
  readonly store: Store
  readonly source: Source
  /** The value of `--account`. */
  readonly account?: string | undefined
  /** Whether records of others that the token may read are stored too. */
  readonly partners?: boolean
  /** Whether all lists are read to their end, and every record is read again. */
  readonly full?: boolean
  readonly progress?: (progress: PullProgress) => void
}

/** Another pull for the same account is running. */
export class PullLockedError extends Error {
  override readonly name = 'PullLockedError'
}

/**
 * Pulls once: stores everything that is new at the source. Throws SourceError if the source refuses or is unavailable,
 * PullUsageError or RefusedError if it is unclear whose records they are, PullLockedError while another pull for the account
 * is running, StoppedError when stopped.
 */
export async function pullOnce(options: RoundOptions): Promise<PullReport> {
  const { store, source, account } = options
  const { identityPath } = await capabilitiesOf(store, source.address)
  const identity = await findIdentity(source, identityPath)
  const target = await findTarget(store, source.address, identity, account)
  const release = await store.tryLock(`pull-${target.id}`)
  if (release === undefined) throw new PullLockedError(`another pull for account ${target.id} is running`)
  try {
    const known = await findSource(store, target.id, source.address)
    return await new Round(options, { identity, target, known }).run()
  } finally {
    await release()
  }
}

/** Asks the source whom the API key belongs to. Throws SourceError unless the source has this API. */
export async function findIdentity(source: Source, known?: IdentityPath): Promise<Identity | undefined> {
  const identity = await identify(source, known)
  if (identity === undefined) await checkApi(source)
  return identity
}

/** How far back lists are read in every round, and how long unfinished sessions are read again. */
const RECENT_MS = 35 * DAY_MS
const FULL_WALK_EVERY_MS = 7 * DAY_MS

interface RoundFacts {
  readonly identity: Identity | undefined
  readonly target: Target
  readonly known: PullSource | undefined
}

class Round {
  readonly #options: RoundOptions
  readonly #facts: RoundFacts
  readonly #startedAt: number
  readonly #isFull: boolean
  readonly #report = new ReportBuilder()
  readonly #reader: SourceReader
  readonly #accounts: PulledAccounts
  readonly #ownership: Ownership
  readonly #rows: RowStore
  /** Programs that were read by id, because the source has no list of them. */
  readonly #programsRead = new Set<number>()
  #hasPrograms = true

  constructor(options: RoundOptions, facts: RoundFacts) {
    const { store, source, partners = false } = options
    const { identity, target, known } = facts
    this.#options = options
    this.#facts = facts
    this.#startedAt = source.clock.now()
    this.#isFull =
      options.full === true || known?.full_at == null || this.#startedAt - known.full_at >= FULL_WALK_EVERY_MS
    const capabilities = this.#isFull ? {} : readCapabilities(known?.capabilities)
    const reader = new SourceReader(source, capabilities, partners || identity === undefined ? undefined : target.id)
    const report = this.#report
    const accounts = new PulledAccounts(store, source.address, target, { known, user: identity?.user, report })
    const ownership = new Ownership(store, source, reader, target.id)
    this.#reader = reader
    this.#accounts = accounts
    this.#ownership = ownership
    this.#rows = new RowStore({ store, source, reader, accounts, ownership, report, partners })
  }

  async run(): Promise<PullReport> {
    const { source, partners = false } = this.#options
    const { target } = this.#facts
    try {
      if (partners) await this.#pullPeople()
      for (const list of sourceLists) {
        await this.#pullList(list)
        if (list === lockSessions) await this.#tryCurrentLock()
        if (list === lockSessions || list === trainingSessions) await this.#pullOpenRows(list)
      }
      for (const list of deviceLists) await this.#pullDevicesOfPartners(list)
      await this.#finish()
    } finally {
      await this.#accounts.close()
    }
    const { id: accountId, username } = target
    const isFull = this.#isFull
    return this.#report.finish({ origin: source.address, accountId, username, isFull, requests: source.requests })
  }

  async #pullPeople() {
    const people = await readPeople(this.#options.source)
    this.#ownership.addPeople(people)
    for (const user of people) {
      const id = idOf(user['id'])
      if (id !== undefined) this.#accounts.addPerson(id, user)
    }
    const listed = new Set(people.flatMap(user => idOf(user['id']) ?? []))
    if (people.length > 0) await this.#accounts.updateAccess(listed, this.#startedAt)
    await this.#accounts.addKnownPartners()
  }

  async #pullList(list: SourceList) {
    const { progress, store } = this.#options
    const source = this.#accounts.source
    const expected = this.#isFull && source !== undefined ? await countRows(store, source.id, list.kind) : undefined
    const listedIds = new Set<number>()
    const order = new ListOrder(list.order)
    try {
      const walk = await walkList(
        position => this.#reader.readPage(list, position),
        async rows => {
          const result = await this.#storePage(list, rows, listedIds, order)
          progress?.({ title: list.title, rows: listedIds.size, expected })
          return result
        },
      )
      if (!walk.stoppedEarly && !walk.steppedBack) {
        // Lists of devices may have only those of the caller.
        await this.#markGone(list, listedIds, deviceLists.includes(list) ? [this.#accounts.me] : this.#accounts.ids)
      }
    } catch (error) {
      if (!(error instanceof MissingListError)) throw error
      this.#report.missingLists.push(list.title)
      if (list === trainingTemplates) this.#hasPrograms = false
    }
  }

  /** Some sources list the devices of others only by owner. */
  async #pullDevicesOfPartners(list: SourceList) {
    if (!this.#isFull) return
    for (const owner of this.#accounts.ids.slice(1)) {
      const listedIds = new Set<number>()
      const isListed = await this.#reader.hasListOf(list, owner)
      if (!isListed) return
      const walk = await walkList(
        position => this.#reader.readPage(list, position, owner),
        rows => this.#storePage(list, rows, listedIds, new ListOrder(undefined)),
      )
      if (!walk.steppedBack) await this.#markGone(list, listedIds, [owner])
    }
  }

  async #storePage(
    list: SourceList,
    page: readonly SourceRow[],
    listedIds: Set<number>,
    order: ListOrder,
  ): Promise<PageResult> {
    const rows = [...new Map(page.map(row => [row.id ?? row.form, row])).values()]
    this.#ownership.addRows(list, rows)
    const ids = rows.flatMap(({ id }) => (id === undefined ? [] : [id]))
    // Rows that occur twice are stored once, unless they changed meanwhile.
    const repeated = new Set(ids.filter(id => listedIds.has(id)))
    for (const id of ids) listedIds.add(id)
    if (this.#reader.isPartial(list) === undefined) await this.#reader.samplePartial(list, rows)
    const known = await this.#findRows(list, ids)
    const offered = rows.map(row => ({ row, known: row.id === undefined ? undefined : known.get(row.id) }))
    const isNew = ({ row, known: before }: OfferedRow) => before === undefined || before.form !== row.form
    const readsAgain = this.#options.full === true || (this.#isFull && this.#reader.isPartial(list) === false)
    const stored = await this.#store(
      list,
      offered.filter(row => isNew(row) || (readsAgain && !repeated.has(row.row.id ?? 0))),
      [...known.values()].filter(row => row.missing_at !== null || row.gone_at !== null),
    )
    const hasNews = stored.isChanged || stored.prepared.some(row => isNew(row.offered))
    order.add(await this.#instantsOf(list, rows, order, stored.prepared))
    const isOld = order.newest !== undefined && order.newest < this.#startedAt - RECENT_MS
    return { hasNews, canStop: !this.#isFull && !hasNews && isOld && order.isNewestFirst }
  }

  /** The instants that order the rows of a page. Lists may leave out the start of a lock session; its record has it. */
  async #instantsOf(
    list: SourceList,
    rows: readonly SourceRow[],
    order: ListOrder,
    prepared: Awaited<ReturnType<RowStore['store']>>['prepared'],
  ): Promise<(number | undefined)[]> {
    const instants = rows.map(({ data }) => order.instantOf(data))
    if (list !== lockSessions || !instants.includes(undefined)) return instants
    const read = new Map(prepared.map(({ offered, data }) => [offered.row.id, order.instantOf(data)]))
    const ids = rows.flatMap(({ id }) => (id === undefined ? [] : [id]))
    const stored = await this.#options.store.db
      .selectFrom('lock_session')
      .select(['id', 'at'])
      .where('id', 'in', ids.length === 0 ? [0] : ids)
      .where('owner_id', 'in', [...this.#accounts.ids])
      .execute()
    const at = new Map<number | undefined, number>(stored.map(row => [row.id, row.at]))
    return rows.map(({ id }, index) => instants[index] ?? read.get(id) ?? at.get(id))
  }

  /** Pulls the current lock; if the source fails to return it, the round continues. */
  async #tryCurrentLock() {
    try {
      await this.#pullCurrentLock()
    } catch (error) {
      if (!(error instanceof SourceUnavailableError)) throw error
      this.#report.notes.push('the source does not return the current lock: the next round tries again')
    }
  }

  /** Pulls the active lock with its template, which sources send only while the lock is active. */
  async #pullCurrentLock() {
    const { source } = this.#options
    const list = lockSessions
    const query = this.#reader.hasIncluded(list) ? { include: 'template' } : {}
    const { data: session } = await source.get('/lkbx/session/current', query)
    if (!isObject(session) || idOf(session['id']) === undefined) return
    const { data: template } = await source.get('/lkbx/templates/active')
    const templateId = isObject(template) ? idOf(template['id']) : undefined
    const row = rowOf(session)
    await this.#storeAgain(list, [row], templateId === undefined ? {} : { templateId })
  }

  /** Reads sessions again that may have ended. */
  async #pullOpenRows(list: SourceList) {
    const source = this.#accounts.source
    if (source === undefined) return
    const { store } = this.#options
    const unfinished = await openRows(store, source.id, list.kind, this.#startedAt - RECENT_MS)
    const active = list === lockSessions ? await activeLocks(store, source.id, this.#accounts.ids) : []
    const ids = [...new Set([...unfinished, ...active].map(({ id }) => id))].filter(id => !this.#rows.hasRead(list, id))
    for (const id of ids) {
      await this.#readAgain(list, id)
    }
  }

  /** Reads a record by id and stores it; sets it aside if the source does not return it. */
  async #readAgain(list: SourceList, id: number) {
    const data = await this.#reader.tryRecord(list, id)
    if (data === 'unanswered') await this.#storeAgain(list, [rowOf({ id })], { fault: UNANSWERED })
    else if (data !== undefined) await this.#storeAgain(list, [rowOf(data)])
  }

  /** Stores records that were read by id; their stored form stays that of the list row. */
  async #storeAgain(
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

  async #store(list: SourceList, rows: readonly OfferedRow[], found: Parameters<RowStore['store']>[2]) {
    const stored = await this.#rows.store(list, rows, found)
    if (list !== trainingSessions || this.#hasPrograms) return stored
    for (const { data } of stored.prepared) await this.#pullProgram(idOf(data['settings_id']))
    return stored
  }

  /** Reads the program of a training session. */
  async #pullProgram(id: number | undefined) {
    if (id === undefined || this.#programsRead.has(id)) return
    this.#programsRead.add(id)
    const known = await this.#findRows(trainingTemplates, [id])
    // A program without an owner was not read yet.
    if (known.get(id)?.owner_id != null && !this.#isFull) return
    await this.#readAgain(trainingTemplates, id)
  }

  async #markGone(list: SourceList, listedIds: ReadonlySet<number>, owners: readonly number[]) {
    const source = this.#accounts.source
    if (source === undefined) return
    const { store } = this.#options
    const { gone, found } = await markGone({
      store,
      source,
      list,
      listedIds,
      owners,
      at: this.#startedAt,
      reader: this.#reader,
    })
    this.#report.gone += gone
    for (const data of found) await this.#storeAgain(list, [rowOf(data)])
  }

  async #findRows(list: SourceList, ids: readonly number[]) {
    const source = this.#accounts.source
    if (source === undefined) return new Map<number, never>()
    return findRows(this.#options.store.db, source.id, list.kind, ids)
  }

  async #finish() {
    const { identity } = this.#facts
    const path = identity === undefined ? {} : { identityPath: identity.path }
    const name = nameOf(identity?.user)
    await this.#accounts.complete(this.#options.source.clock.now(), {
      capabilities: JSON.stringify({ ...this.#reader.capabilities, ...path }),
      knows_me: identity === undefined ? 0 : 1,
      ...(name === undefined ? {} : { username: name }),
      ...(this.#isFull ? { full_at: this.#startedAt } : {}),
    })
  }
}
