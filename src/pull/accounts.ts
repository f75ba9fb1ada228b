import type { Insertable } from 'kysely'
import { listAccounts, setTierIn } from '../accounts/accounts.ts'
import { OPERATOR } from '../accounts/events.ts'
import { noteGrantChange } from '../accounts/grants.ts'
import { isRemoved } from '../accounts/removal.ts'
import { endAccessIn, resumeAccess } from '../accounts/shared-access.ts'
import {
  type BatchReport,
  type IncomingRecord,
  type BatchImporter,
  type BatchImporterOptions,
  openBatchImporter,
} from '../archive/batch-importer.ts'
import { foldedName } from '../contract/names.ts'
import { formatTimestamp } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import type { SourceData } from './rows.ts'
import { SourceError } from './source.ts'
import type { ReportBuilder } from './report.ts'
import { hasFilled, type PullSource } from './state.ts'
import { isUsable, usernameOf, type Target } from './target.ts'

interface PulledAccountsOptions {
  readonly known: PullSource | undefined
  readonly user: SourceData | undefined
  readonly report: ReportBuilder
  readonly check: BatchImporterOptions['check']
}

/** The accounts that a pull stores rows of: that of the API key and, with --partners, those whose records the API key may read. */
export class PulledAccounts {
  readonly #store: Store
  readonly #origin: string
  readonly #target: Target
  readonly #report: ReportBuilder
  readonly #check: BatchImporterOptions['check']
  /** Users as the source sends them, by id. */
  readonly #people = new Map<number, SourceData>()
  readonly #partners = new Map<number, string>()
  readonly #refused = new Set<number>()
  readonly #removed = new Map<number, boolean>()
  #importer: BatchImporter | undefined
  #source: PullSource | undefined

  constructor(store: Store, origin: string, target: Target, { known, user, report, check }: PulledAccountsOptions) {
    this.#store = store
    this.#origin = origin
    this.#target = target
    this.#source = known
    this.#report = report
    this.#check = check
    if (user !== undefined) this.#people.set(target.id, user)
  }

  get me(): number {
    return this.#target.id
  }

  /** The ids of all of them, that of the API key first. */
  get ids(): readonly number[] {
    return [this.#target.id, ...this.#partners.keys()]
  }

  /** The stored state of the source; undefined before the first record is stored. */
  get source(): PullSource | undefined {
    return this.#source
  }

  /** The importer and the stored state of the source, which are created together with the account on first use. */
  async open(): Promise<{ readonly importer: BatchImporter; readonly source: PullSource }> {
    this.#importer ??= await this.#openImporter()
    this.#source ??= await this.#begin(this.#importer)
    return { importer: this.#importer, source: this.#source }
  }

  addPerson(id: number, user: SourceData) {
    this.#people.set(id, user)
  }

  /** Whether an account was removed here, so that none of its rows are stored. */
  async isRemoved(ownerId: number): Promise<boolean> {
    let removed = this.#removed.get(ownerId)
    if (removed === undefined) {
      removed = await isRemoved(this.#store, ownerId)
      this.#removed.set(ownerId, removed)
      if (removed) this.#report.notes.push(`account ${ownerId} was removed here: nothing of it is stored`)
    }
    return removed
  }

  /** Adds a partner, with access for the account of the API key. Returns whether rows of this owner can be stored. */
  async addPartner(ownerId: number): Promise<boolean> {
    if (ownerId === this.me || this.#partners.has(ownerId)) return true
    if (this.#refused.has(ownerId)) return false
    const accounts = await listAccounts(this.#store)
    const sourceName = usernameOf(this.#people.get(ownerId)) ?? ''
    const stored = accounts.find(({ id }) => id === ownerId)
    const { source } = await this.open()
    const given = this.#store.db.selectFrom('pull_access').selectAll().where('source_id', '=', source.id)
    const access = await given.where('owner_id', '=', ownerId).executeTakeFirst()
    if (stored !== undefined && !(await hasFilled(this.#store, ownerId, this.#origin))) {
      this.#refused.add(ownerId)
      this.#report.notes.push(
        `account ${ownerId} here is not from this source: its records are rejected (a pull with an API key of that account, and --account ${ownerId}, stores them)`,
      )
      return false
    }
    const isFree =
      isUsable(sourceName) &&
      accounts.every(({ id, username }) => id === ownerId || foldedName(username) !== foldedName(sourceName))
    const username = stored?.username ?? (isFree ? sourceName : `account-${ownerId}`)
    if (stored === undefined && !isFree) this.#report.noteName(sourceName, username)
    this.#partners.set(ownerId, username)
    await this.#importer?.close()
    this.#importer = await this.#openImporter()
    // Access that was ended here is not restored; access that a pull ended is.
    const isGiven = access === undefined || access.ended_at !== null
    const endedAt = access?.ended_at ?? null
    await this.#storeAccount(this.#importer, ownerId, {
      access: isGiven ? [{ kind: 'partnership', data: { ownerId, partnerId: this.me } }] : [],
      within: async (db, [, outcome]) => {
        const row = { source_id: source.id, owner_id: ownerId, ended_at: null }
        if (isGiven) await this.#markAccess(db, row, outcome === 'added', endedAt)
      },
    })
    return true
  }

  /** Ends access that pulls from this source added for owners whom it no longer lists, and restores it for those listed again. */
  async updateAccess(listed: ReadonlySet<number>, now: number): Promise<void> {
    if (this.#source === undefined) return
    const added = await this.#store.db
      .selectFrom('pull_access')
      .selectAll()
      .where('source_id', '=', this.#source.id)
      .orderBy('owner_id')
      .execute()
    for (const { owner_id: ownerId, ended_at: endedAt } of added) {
      if (endedAt !== null && listed.has(ownerId)) await this.addPartner(ownerId)
      if (endedAt !== null || listed.has(ownerId)) continue
      await this.#endAdded(this.#source.id, ownerId, now)
    }
  }

  /** Ends access that a pull added. The same transaction records that a pull ended it, so that a later one can restore it. */
  async #endAdded(sourceId: number, ownerId: number, now: number): Promise<void> {
    await this.#store.db.transaction().execute(async db => {
      // It may have been ended here already.
      await endAccessIn(db, { ownerId, partnerId: this.me }, now, OPERATOR)
      await db
        .updateTable('pull_access')
        .set({ ended_at: now })
        .where('source_id', '=', sourceId)
        .where('owner_id', '=', ownerId)
        .execute()
    })
    noteGrantChange()
  }

  /** Adds all partners whose records were pulled before, unless access to them has ended. */
  async addKnownPartners(): Promise<void> {
    if (this.#source === undefined) return
    const owners = await this.#store.db
      .selectFrom('pull_row')
      .leftJoin('pull_access', access =>
        access
          .onRef('pull_access.source_id', '=', 'pull_row.source_id')
          .onRef('pull_access.owner_id', '=', 'pull_row.owner_id'),
      )
      .select('pull_row.owner_id')
      .distinct()
      .where('pull_row.source_id', '=', this.#source.id)
      .where('pull_access.ended_at', 'is', null)
      .orderBy('pull_row.owner_id')
      .execute()
    for (const { owner_id: ownerId } of owners) if (ownerId !== null) await this.addPartner(ownerId)
  }

  /** Stores `asOf` of the accounts and the state of the source. */
  async complete(now: number, source: Partial<Omit<PullSource, 'id' | 'account_id' | 'origin'>>): Promise<void> {
    const { importer, source: known } = await this.open()
    const envelope = { asOf: formatTimestamp(now) }
    const records = this.ids.map(id => ({ ...this.#accountRecord(id), envelope }))
    const report = await importer.storeBatch(records, {
      within: async db => {
        await db
          .updateTable('pull_source')
          .set({ ...source, completed_at: now })
          .where('id', '=', known.id)
          .execute()
      },
    })
    this.#report.add(records, report)
    const faulty = this.ids.filter((_, index) => report.outcomes[index] === 'rejected')
    if (faulty.length > 0) await importer.storeBatch(faulty.map(id => ({ ...this.#accountRecord(id, true), envelope })))
  }

  async close(): Promise<void> {
    await this.#importer?.close()
  }

  async #openImporter(): Promise<BatchImporter> {
    return openBatchImporter(this.#store, { source: this.#origin, accounts: this.ids, check: this.#check })
  }

  /** Creates the account and the state of its source in one transaction. */
  async #begin(importer: BatchImporter): Promise<PullSource> {
    // Its own source is not known yet, so a pull of somebody who can read it made it, without a tier.
    const isPartner = await hasFilled(this.#store, this.me, this.#origin)
    const remember: StoredWithin = async (db, [outcome]) => {
      if (outcome === 'rejected') return
      if (isPartner && (await hasNoTier(db, this.me))) await setTierIn(db, this.me, OWN_TIER, null)
      const source = {
        account_id: this.me,
        origin: this.#origin,
        username: usernameOf(this.#people.get(this.me)) ?? null,
        knows_me: this.#people.has(this.me) ? 1 : 0,
        capabilities: '{}',
      }
      this.#source = await db.insertInto('pull_source').values(source).returningAll().executeTakeFirstOrThrow()
    }
    const sourceName = usernameOf(this.#people.get(this.me)) ?? ''
    if (this.#target.isNew && sourceName !== this.#target.username)
      this.#report.noteName(sourceName, this.#target.username)
    await this.#storeAccount(importer, this.me, { within: remember })
    if (this.#source === undefined) throw new SourceError(`the account ${this.me} of the source cannot be stored`)
    return this.#source
  }

  /**
   * Stores an account with all its fields, or with its name alone if they cannot be stored. Access to its records is stored in
   * the same transaction: an account without it would count as another person of that name.
   */
  async #storeAccount(
    importer: BatchImporter,
    id: number,
    { access = [], within }: { readonly access?: readonly IncomingRecord[]; readonly within: StoredWithin },
  ): Promise<void> {
    let isStored = false
    for (const isMinimal of [false, true]) {
      if (isStored) return
      const record = this.#accountRecord(id, isMinimal)
      const report = await importer.storeBatch([record, ...access], {
        within: async (db, { outcomes }) => {
          isStored = outcomes[0] !== 'rejected'
          await within(db, outcomes)
        },
      })
      if (report.outcomes[0] !== 'added') continue
      this.#report.add([record], { ...report, outcomes: ['added'], extra: [], leniencies: [] })
    }
  }

  #accountRecord(id: number, isMinimal = false): IncomingRecord {
    const { subscriptionEndsAt: _, ...user } = isMinimal ? {} : { ...this.#people.get(id) }
    const isMe = id === this.me
    return {
      kind: 'account',
      data: {
        ...user,
        id,
        username: isMe ? this.#target.username : this.#partners.get(id),
        // Used for a new account only.
        subscriptionTier: isMe ? OWN_TIER : null,
      },
    }
  }

  /** Marks access that a pull gave or restored. Access that existed before is not marked, so that no pull ends it. */
  async #markAccess(db: Store['db'], row: Insertable<Tables['pull_access']>, isAdded: boolean, endedAt: number | null) {
    const pair = { ownerId: row.owner_id, partnerId: this.me }
    const isResumed = !isAdded && endedAt !== null && (await resumeAccess(db, pair, endedAt, Date.now()))
    if (!isAdded && !isResumed) return
    await db
      .insertInto('pull_access')
      .values(row)
      .onConflict(conflict => conflict.columns(['source_id', 'owner_id']).doUpdateSet({ ended_at: null }))
      .execute()
  }
}

/** The tier of an account that is made, or first pulled, with an API key of its own. */
const OWN_TIER = 'ultra'

async function hasNoTier(db: Store['db'], id: number): Promise<boolean> {
  const { tier } = await db
    .selectFrom('account')
    .select('subscription_tier as tier')
    .where('id', '=', id)
    .executeTakeFirstOrThrow()
  return tier === null
}

/** What is stored together with records, given their outcomes. */
type StoredWithin = (db: Store['db'], outcomes: BatchReport['outcomes']) => Promise<void>
