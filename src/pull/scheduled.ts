import { setTimeout as sleep } from 'node:timers/promises'
import { eraseDeleted } from '../accounts/removal.ts'
import type { QuotaConfig } from '../archive/quota.ts'
import { isRefusal } from '../contract/refusal.ts'
import { type Store, StoreFullError } from '../store/index.ts'
import type { Clock } from './clock.ts'
import { type Connection, type Failure, progressOf, type RoundProgress } from './connections.ts'
import {
  checkLease,
  completeRound,
  endRound,
  forgetOldKeys,
  type Lease,
  LeaseLostError,
  RENEWAL_MS,
  renewLease,
  takeDue,
} from './leases.ts'
import { parseNumbers } from './numbers.ts'
import type { PullProgress } from './report.ts'
import { pullOnce } from './round.ts'
import { type Send, Source, SourceError, SourceRefusedError, SourceUnavailableError, StoppedError } from './source.ts'
import { openKey, sealKey, type Secret } from './stored-key.ts'

export interface ScheduledOptions {
  readonly store: Store
  /** What the leases of this process are known by. */
  readonly holder: string
  readonly secret: Secret
  readonly send: Send
  readonly quota: QuotaConfig
  /** Requests a minute to each origin; 0 for no limit. */
  readonly rate: number
  readonly clock: Clock
  readonly stop: AbortSignal
  /** Called with each renewed lease and each progress. */
  readonly showLife?: () => void
  /** Is told what no connection can show. */
  readonly onProblem: (problem: unknown) => void
}

/** How many accounts are pulled at the same time. Requests to one origin take turns. */
const MAX_RUNNING = 5

/** How often a process that pulls looks for further connections that are due. */
const LOOK_MS = 2000

/** Pulls from all connections that are due. Resolves when none is, and when stopped. After an error of the store, its rounds have ended. */
export async function pullDue(given: ScheduledOptions): Promise<void> {
  const failed = new AbortController()
  const running = new Map<number, Promise<void>>()
  try {
    await pullWhileDue({ ...given, stop: AbortSignal.any([given.stop, failed.signal]) }, running)
  } finally {
    failed.abort()
    await Promise.all(running.values())
  }
}

async function pullWhileDue(options: ScheduledOptions, running: Map<number, Promise<void>>) {
  const { store, holder, secret, stop, onProblem } = options
  const sent = new Map<string, number[]>()
  while (!stop.aborted) {
    if (await forgetOldKeys(store)) await eraseDeleted(store).catch(onProblem)
    while (running.size < MAX_RUNNING && !stop.aborted) {
      const due = await takeDue(store, { holder, secretId: secret.id, running: [...running.keys()] })
      if (due === undefined) break
      const lease: Lease = { holder, accountId: due.account_id }
      const pulled = new ConnectedPull(
        options,
        due,
        lease,
        sent.getOrInsertComputed(due.origin, () => []),
      ).run()
      running.set(
        due.account_id,
        pulled.catch(onProblem).finally(() => running.delete(due.account_id)),
      )
    }
    if (running.size === 0) return
    const looked = new AbortController()
    const look = sleep(LOOK_MS, undefined, { signal: AbortSignal.any([looked.signal, stop]) }).catch(() => {})
    await Promise.race([look, ...running.values()])
    looked.abort()
  }
}

/** One round of one connection. */
class ConnectedPull {
  readonly #options: ScheduledOptions
  readonly #connection: Connection
  readonly #lease: Lease
  readonly #sent: number[]
  readonly #lost = new AbortController()
  readonly #read = new Map<string, RoundProgress['read'][number]>()
  #pause: RoundProgress['pause']
  #shown: string
  readonly #isFull: boolean

  constructor(options: ScheduledOptions, connection: Connection, lease: Lease, sent: number[]) {
    this.#options = options
    this.#connection = connection
    this.#lease = lease
    this.#sent = sent
    this.#shown = connection.progress
    this.#isFull = progressOf(connection).full === true
  }

  async run(): Promise<void> {
    const { store, onProblem } = this.#options
    const renewing = this.#keepLease()
    try {
      await this.#pull()
    } catch (error) {
      if (error instanceof LeaseLostError || this.#lost.signal.aborted) return
      const failure = failureOf(error)
      if (failure === 'internal') onProblem(error)
      await endRound(store, this.#lease, failure).catch((problem: unknown) => {
        // Whoever stopped or changed the connection meanwhile has said what is next.
        if (!(problem instanceof LeaseLostError)) throw problem
      })
    } finally {
      this.#lost.abort()
      await renewing
    }
  }

  async #pull() {
    const { store, secret, send, rate, clock, stop, quota, onProblem } = this.#options
    const { account_id: accountId, origin, sealed_key: sealed, every_minutes: every, known_locks } = this.#connection
    const key = sealed === null ? undefined : openKey(secret, { accountId, origin }, sealed)
    if (key === undefined) return endRound(store, this.#lease, 'key')
    const source = new Source({
      address: origin,
      key,
      rate,
      sent: this.#sent,
      clock,
      send,
      stop: AbortSignal.any([stop, this.#lost.signal]),
      onLimit: waitMs => (this.#pause = { reason: 'limit', until: Date.now() + waitMs }),
      onFailure: (_, waitMs) => (this.#pause = { reason: 'away', until: Date.now() + waitMs }),
    })
    const report = await pullOnce({
      store,
      source,
      quota,
      account: String(accountId),
      full: this.#isFull,
      mine: this.#connection.mine === 1,
      lockSessions: parseNumbers(known_locks),
      progress: progress => this.#note(progress),
      onTakeOver: text => onProblem(new Error(text)),
      check: async db => void (await checkLease(store, db, this.#lease)),
      onRenumber: async (db, id) => {
        const { sealed: sealed_key } = sealKey(secret, { accountId: id, origin }, key)
        await db.updateTable('source_connection').set({ sealed_key }).where('account_id', '=', id).execute()
        this.#lease.accountId = id
      },
    })
    await completeRound(store, this.#lease, report, known_locks)
    if (every === 0) await eraseDeleted(store).catch(onProblem)
  }

  #note({ kind, rows, expected }: PullProgress) {
    this.#options.showLife?.()
    this.#read.set(kind, { kind, read: rows, total: expected ?? null })
    this.#pause = undefined
  }

  /** Renews the lease until the round has ended; ends the round if the lease is lost. */
  async #keepLease() {
    let misses = 0
    while (!this.#lost.signal.aborted) {
      await sleep(RENEWAL_MS, undefined, { signal: this.#lost.signal }).catch(() => {})
      if (this.#lost.signal.aborted) return
      const progress = JSON.stringify({
        read: [...this.#read.values()],
        pause: this.#pause,
        full: this.#isFull || undefined,
      } satisfies RoundProgress)
      const changed = progress === this.#shown ? undefined : progress
      this.#shown = progress
      // While the database is away nothing is stored, and each transaction checks the lease itself.
      const { store, showLife } = this.#options
      const held = await renewLease(store, this.#lease, changed).catch(() => undefined)
      if (held === true) showLife?.()
      misses = held === false ? misses + 1 : 0
      // One miss is no loss: the account may just be getting another id.
      if (misses > 1) this.#lost.abort()
    }
  }
}

/** What to store of an error; undefined if the pull was only stopped. */
function failureOf(error: unknown): Failure | undefined {
  if (error instanceof StoppedError) return undefined
  if (error instanceof SourceRefusedError) return 'refused'
  if (error instanceof SourceUnavailableError) return 'away'
  if (error instanceof SourceError) return 'not-api'
  if (isRefusal(error, 'busy')) return 'busy'
  if (isRefusal(error, 'removed')) return 'removed'
  if (isRefusal(error, 'usage', 'refused')) return 'account'
  if (error instanceof StoreFullError) return 'disk-full'
  return isRefusal(error, 'full') ? 'full' : 'internal'
}
