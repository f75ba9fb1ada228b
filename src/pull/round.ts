import type { Kysely } from 'kysely'
import { renumberAccount } from '../accounts/renumber.ts'
import { Quota, type QuotaConfig } from '../archive/quota.ts'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { PulledAccount } from './account.ts'
import { claimRejected } from './claims.ts'
import { holdAccount } from './hold.ts'
import { ListPull } from './list-pull.ts'
import { FULL_WALK_EVERY_MS, lockSessions, sourceLists, trainingSessions } from './lists.ts'
import { SourceReader } from './reader.ts'
import { type PullProgress, type PullReport, ReportBuilder } from './report.ts'
import { isObject } from '../archive/values.ts'
import { idOf, sourceRow } from './rows.ts'
import { type Source, SourceUnavailableError } from './source.ts'
import { capabilitiesOf, findSource, type PullSource, readCapabilities, type IdentityPath } from './state.ts'
import { RowStore } from './storing.ts'
import { checkApi, findTarget, identify, type Identity, Ownership, type Target, usernameOf } from './whose.ts'

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
  /** Is told of another pull for the account that stands still, from which this one takes over. */
  readonly onTakeOver?: (text: string) => void
  /** Runs at the start of each transaction that stores records, which it ends if it throws. */
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
  const identity = await findIdentity(source, identityPath)
  const target = await findTarget(store, source.address, identity, account)
  const by = options.check === undefined ? 'the command' : 'the service'
  const hold = await holdAccount({ store, accountId: target.id, by }, options.onTakeOver ?? (() => {}))
  const check = async (db: Kysely<Tables>) => {
    await hold.check(db)
    await options.check?.(db)
  }
  try {
    if (target.presentId !== undefined) await renumberAccount(store, target.presentId, target.id, options.onRenumber)
    const known = await findSource(store, target.id, source.address)
    return await new Round({ ...options, check }, { identity, target, known }).run()
  } finally {
    await hold.release()
  }
}

/** Asks the source whom the API key belongs to. Throws SourceError unless the source has this API. */
export async function findIdentity(source: Source, known?: IdentityPath): Promise<Identity | undefined> {
  const identity = await identify(source, known)
  if (identity === undefined) await checkApi(source)
  return identity
}

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
  readonly #account: PulledAccount
  readonly #lists: ListPull
  readonly #mine: boolean

  constructor(options: RoundOptions, facts: RoundFacts) {
    const { store, source, check } = options
    const { identity, target, known } = facts
    this.#options = options
    this.#facts = facts
    const mine = options.mine ?? known?.mine === 1
    this.#mine = mine
    this.#startedAt = source.clock.now()
    this.#isFull =
      options.full === true || known?.full_at == null || this.#startedAt - known.full_at >= FULL_WALK_EVERY_MS
    const capabilities = this.#isFull ? {} : readCapabilities(known?.capabilities)
    const reader = new SourceReader(source, capabilities, identity && target.id)
    const report = this.#report
    const account = new PulledAccount(store, source.address, target, { known, user: identity?.user, report, check })
    const ownership = new Ownership(store, source, reader, target.id)
    const quota = options.quota && new Quota(store, options.quota, target.id)
    this.#reader = reader
    this.#account = account
    this.#lists = new ListPull({
      store,
      reader,
      account,
      ownership,
      rows: new RowStore({ store, source, reader, account, ownership, report, mine, quota, check }),
      report,
      startedAt: this.#startedAt,
      isFull: this.#isFull,
      readsAll: options.full === true,
      progress: options.progress,
      check,
    })
  }

  async run(): Promise<PullReport> {
    const { store, source, lockSessions: numbers = [], check } = this.#options
    const { target } = this.#facts
    try {
      const { known } = this.#facts
      if (this.#mine && known !== undefined) this.#report.claimed = await claimRejected(store, known, check)
      for (const list of sourceLists) {
        await this.#lists.pullList(list)
        if (list === lockSessions) {
          await this.#lists.pullNumbers(list, numbers)
          await this.#tryCurrentLock()
        }
        if (list === lockSessions || list === trainingSessions) await this.#lists.pullOpenRows(list)
      }
      await this.#finish()
    } finally {
      await this.#account.close()
    }
    const { id: accountId, username } = target
    const isFull = this.#isFull
    return this.#report.finish({ origin: source.address, accountId, username, isFull, requests: source.requests })
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
    const row = sourceRow(session)
    await this.#lists.storeAgain(list, [row], templateId === undefined ? {} : { templateId })
  }

  async #finish() {
    const { identity } = this.#facts
    const path = identity === undefined ? {} : { identityPath: identity.path }
    const name = usernameOf(identity?.user)
    await this.#account.complete(this.#options.source.clock.now(), {
      capabilities: JSON.stringify({ ...this.#reader.capabilities, ...path }),
      mine: this.#mine ? 1 : 0,
      knows_me: identity === undefined ? 0 : 1,
      ...(name === undefined ? {} : { username: name }),
      ...(this.#isFull ? { full_at: this.#startedAt } : {}),
    })
  }
}
