import type { Kysely, Updateable } from 'kysely'
import { renumberAccount } from '../accounts/renumber.ts'
import { type IncomingRecord, storeBatch } from '../archive/batch-importer.ts'
import { makeQuota, type QuotaConfig } from '../archive/quota.ts'
import { isObject } from '../archive/values.ts'
import { formatTimestamp } from '../contract/time.ts'
import { checkJob, holdJob, pullJob } from '../jobs/jobs.ts'
import type { PullSourceTable, Tables } from '../store/tables.ts'
import { ListPull, type RoundState } from './list-pull.ts'
import { FULL_WALK_EVERY_MS, idOf, lockSessions, type SourceData, sourceLists, trainingSessions } from './lists.ts'
import { type PullReport, ReportBuilder } from './report.ts'
import { type Source, SourceError, SourceRefusedError, SourceUnavailableError } from './source.ts'
import { capabilitiesOf, findSource, type PullSource, readCapabilities } from './state.ts'
import { SourceReader } from './walk.ts'
import { claimRejected, findTarget, identify, type Identity, makeOwnership, type Target, usernameOf } from './whose.ts'

export interface RoundOptions extends Pick<RoundState, 'store' | 'source' | 'progress'> {
  /** The value of `--account`. */
  readonly account?: string | undefined
  /** Whether all lists are read to their end, and every record is read again. */
  readonly full?: boolean
  /** Whether training sessions without an owner belong to the account, which is remembered for the source. */
  readonly mine?: boolean | undefined
  /** Numbers of lock sessions to read by id, where the source has no list of them. */
  readonly lockSessions?: readonly number[] | undefined
  /** Bounds what is stored of the account of the API key: set for pulls that a page started. */
  readonly quota?: QuotaConfig
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
  const { id, presentId = id } = target
  const job = { name: pullJob(presentId), by: 'the command', running: `another pull for account ${id}` }
  await using hold = options.check === undefined ? await holdJob(store, job) : undefined
  const check = options.check ?? (async db => hold && checkJob(store.engine, db, hold))
  if (target.presentId !== undefined) {
    await renumberAccount(store, target.presentId, target.id, async (db, id) => {
      await options.onRenumber?.(db, id)
      if (hold !== undefined) hold.name = pullJob(id)
    })
  }
  return await runRound({ ...options, check }, identity, target)
}

async function runRound(options: RoundOptions, identity: Identity | undefined, target: Target): Promise<PullReport> {
  const { store, source, check, full: readsAll = false, lockSessions: numbers = [] } = options
  const startedAt = source.clock.now()
  const report = new ReportBuilder()
  const account = { store, source, target, user: identity?.user, report, check }
  const pulled = await beginSource(account)
  const mine = options.mine ?? pulled.mine === 1
  const isFull = readsAll || pulled.full_at === null || startedAt - pulled.full_at >= FULL_WALK_EVERY_MS
  const reader = new SourceReader(source, isFull ? {} : readCapabilities(pulled.capabilities), identity && target.id)
  const ownership = makeOwnership(store, source, reader, target.id)
  const quota = options.quota && makeQuota(store, options.quota, target.id)
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

interface AccountState extends Pick<RoundState, 'store' | 'source' | 'target' | 'report' | 'check'> {
  /** The account as the source has it. */
  readonly user: SourceData | undefined
}

/**
 * The stored state of the source, which is created together with the account in one transaction: with all fields of the account, or with
 * its name alone if they cannot be stored.
 */
async function beginSource(state: AccountState): Promise<PullSource> {
  const { store, source, target, user, report, check } = state
  const { address: origin } = source
  const known = await findSource(store, target.id, origin)
  if (known !== undefined) return known
  const username = usernameOf(user)
  if (target.isNew && username !== target.username) report.noteName(username ?? '', target.username)
  const values = { account_id: target.id, origin, username: username ?? null, knows_me: user === undefined ? 0 : 1 }
  for (const isMinimal of [false, true]) {
    let begun: PullSource | undefined
    const record = accountRecord(state, isMinimal)
    const stored = await storeBatch(store, [record], {
      source: origin,
      account: target.id,
      check,
      within: async (db, { outcomes }) => {
        if (outcomes[0] === 'rejected') return
        const row = db.insertInto('pull_source').values({ ...values, capabilities: '{}' })
        begun = await row.returningAll().executeTakeFirstOrThrow()
      },
    })
    if (stored.outcomes[0] === 'added') report.add([record], stored)
    if (begun !== undefined) return begun
  }
  throw new SourceError(`the account ${target.id} of the source cannot be stored`)
}

/** Stores the account, known up to now, and the state of the source. */
async function completeSource(state: AccountState & Pick<RoundState, 'pulled'>, values: Updateable<PullSourceTable>) {
  const { store, source, target, report, check, pulled } = state
  const now = source.clock.now()
  const envelope = { asOf: formatTimestamp(now) }
  const record = { ...accountRecord(state), envelope }
  const options = { source: source.address, account: target.id, check, noteCounts: report.noteCounts }
  const stored = await storeBatch(store, [record], {
    ...options,
    within: async db => {
      const row = db.updateTable('pull_source').set({ ...values, completed_at: now })
      await row.where('id', '=', pulled.id).execute()
    },
  })
  report.add([record], stored)
  if (stored.outcomes[0] === 'rejected') await storeBatch(store, [{ ...accountRecord(state, true), envelope }], options)
}

function accountRecord({ user, target: { id, username } }: AccountState, isMinimal = false): IncomingRecord {
  const { subscriptionEndsAt: _, ...fields } = isMinimal ? {} : { ...user }
  // The tier is used for a new account only.
  return { kind: 'account', data: { ...fields, id, username, subscriptionTier: 'ultra' } }
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
