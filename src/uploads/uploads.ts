import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyRequest } from 'fastify'
import type { Kysely } from 'kysely'
import pLimit from 'p-limit'
import type { Actor } from '../accounts/events.ts'
import type { QuotaConfig } from '../archive/quota.ts'
import { type Config, MIN_FREE_BYTES } from '../config.ts'
import { LimitError, limits } from '../http/limits.ts'
import { escapeControls } from '../contract/control-characters.ts'
import { ApiError } from '../contract/errors.ts'
import { type Store, StoreUnavailableError } from '../store/index.ts'
import type { Tables, UploadTable } from '../store/tables.ts'
import { KEPT_MS, newUploadId, UploadFolder } from './folder.ts'
import { Refusal } from '../contract/refusal.ts'

/** Files that people bring in: received into a folder, checked and stored by a child process, one upload for each account. */

/** What a child process is told, on its standard input. */
export interface UploadOrder {
  readonly work: 'check' | 'store'
  /** The database, as a role that may write records. */
  readonly storeUrl: string
  readonly quota: QuotaConfig
  readonly accountId: number
  readonly id: string
  readonly answers: UploadAnswers
  readonly actor?: Actor
}

type UploadWork = Omit<UploadOrder, 'quota' | 'storeUrl'>

/** An act that changes records, in a child process as a role that may. */
export interface ActOrder {
  readonly work: 'change'
  readonly storeUrl: string
  /** The event of the act, which tells it from others. */
  readonly event: string
  readonly input: object
  readonly actor: Actor
  readonly now: number
}

/** What only the sender knows. It is never stored. */
export interface UploadAnswers {
  /** The kind of the records, where the files do not say it. */
  readonly kind?: string | undefined
  /** Our titles of columns, by their titles in the file. */
  readonly columns?: Readonly<Record<string, string>> | undefined
  /** What opens an encrypted file: an age identity or a passphrase. */
  readonly secret?: string | undefined
}

/** Runs the work of an order in a child process. It is `silent` if it was ended because it showed no progress. */
export type RunOrder = (order: UploadOrder | ActOrder, signal: AbortSignal) => Promise<Outcome>

type Outcome = 'done' | 'ended' | 'silent'

interface UploadsOptions {
  readonly store: Store
  readonly config: QuotaConfig & Pick<Config, 'uploadMax' | 'requestTimeout' | 'pullDatabaseUrl'>
  readonly runOrder: RunOrder
  readonly onFailure: (error: unknown) => void
}

export type Upload = Readonly<UploadTable>

/** Those in which the files are needed. */
const OPEN_STATES = ['receiving', 'checking', 'asking', 'ready', 'storing'] as const satisfies Upload['state'][]

export class Uploads {
  readonly #options: UploadsOptions
  readonly #folder: UploadFolder
  readonly #closing = new AbortController()
  readonly #running = new Set<Promise<void>>()
  /** What ends the work on an upload, by its identifier. */
  readonly #stopping = new Map<string, AbortController>()
  readonly #queue = pLimit(1)
  readonly #slots = pLimit(limits.uploadsInWork.max)
  readonly #timer: NodeJS.Timeout

  constructor(options: UploadsOptions) {
    this.#options = options
    this.#folder = new UploadFolder(options.config.databaseUrl)
    this.#timer = setInterval(() => this.#inBackground(this.#tidy()), TIDY_MS).unref()
    this.#inBackground(this.#tidy())
  }

  /** How many bytes an upload may have; 0 if there are none. */
  get maxBytes(): number {
    return this.#options.config.uploadMax
  }

  /** Whether the files of an upload are on this machine. */
  isHere({ id }: Pick<Upload, 'id'>): boolean {
    return this.#folder.has(id)
  }

  rejectedFile({ id }: Pick<Upload, 'id'>): string {
    return this.#folder.rejectedFile(id)
  }

  /**
   * Receives the files of a request. Before the body is read, throws Refusal if there is no space, and LimitError if another upload of
   * the account is under way.
   */
  async receive(request: FastifyRequest, accountId: number): Promise<void> {
    const { store, config } = this.#options
    const { context, headers } = request
    const announced = Number(headers['content-length'] ?? config.uploadMax)
    if (announced > config.uploadMax) throw new LimitError('uploadBytes', 'body_too_large')
    if ((await this.#freeBytes()) < announced + MIN_FREE_BYTES) throw new Refusal('refused', NO_SPACE)
    const id = newUploadId(context.now)
    const release = await this.#folder.waitForLock(id)
    if (release === undefined) throw new Error('the lock of a new upload is taken')
    try {
      await openUpload(store.db, { accountId, id, now: context.now })
      await this.#readFiles(request, id)
    } catch (error) {
      this.#folder.remove(id)
      await store.db.deleteFrom('upload').where('id', '=', id).execute()
      await release()
      const isFullDisk = error instanceof Error && 'code' in error && error.code === 'ENOSPC'
      throw isFullDisk ? new Refusal('refused', NO_SPACE) : error
    }
    this.#inBackground(this.#run({ work: 'check', accountId, id, answers: {} }, release))
    this.#inBackground(this.#tidy())
  }

  async #freeBytes(): Promise<number> {
    try {
      return await this.#folder.free()
    } catch (error) {
      this.#options.onFailure(error)
      throw new Refusal('refused', 'the folder for uploads cannot be used, and the log of this service says why')
    }
  }

  async #readFiles(request: FastifyRequest, id: string) {
    const { store, config } = this.#options
    // Loaded here, because most processes receive no files.
    const { readFileForm } = await import('./file-form.ts')
    const { names, bytes } = await readFileForm(request, {
      folder: this.#folder.create(id),
      maxBytes: config.uploadMax,
      periodMs: config.requestTimeout,
      signal: this.#closing.signal,
    })
    if (names.length === 0) throw new Refusal('refused', 'choose a file')
    this.#folder.finish(id)
    const name =
      names.length === 1 ? [...escapeControls(names[0] ?? '')].slice(0, MAX_NAME).join('') : `${names.length} files`
    await setState(store.db, { id }, 'receiving', { state: 'checking', name, bytes })
  }

  /** Checks the files again, with what the sender has answered. */
  async check(upload: Upload, answers: UploadAnswers): Promise<void> {
    await this.#begin({ work: 'check', accountId: upload.account_id, id: upload.id, answers }, upload.state)
  }

  async store(upload: Upload, answers: UploadAnswers, actor: Actor): Promise<void> {
    await this.#begin({ work: 'store', accountId: upload.account_id, id: upload.id, answers, actor }, upload.state)
  }

  async #begin(order: UploadWork, before: Upload['state']) {
    const { store } = this.#options
    if (!this.#folder.has(order.id)) throw new Refusal('refused', 'the files are on another machine')
    // The process that has found what is shown may not have ended yet.
    const release = await this.#folder.waitForLock(order.id)
    if (release === undefined) throw new Refusal('refused', 'the file is still in use, so try again in a moment')
    const state = order.work === 'check' ? 'checking' : 'storing'
    const isMine = await setState(store.db, order, before, { state, failure: null }).catch(async (error: unknown) => {
      await release()
      throw error
    })
    if (!isMine) return release()
    this.#inBackground(this.#run(order, release))
  }

  /** Changes records as the role that may. Throws Refusal. */
  async change(act: Omit<ActOrder, 'work' | 'storeUrl'>): Promise<void> {
    const { config, runOrder } = this.#options
    const order = { work: 'change', storeUrl: config.pullDatabaseUrl, ...act } as const
    const signal = AbortSignal.any([this.#closing.signal, AbortSignal.timeout(MAX_WORK_MS.change)])
    if ((await runOrder(order, signal)) !== 'done') throw new Refusal('refused', 'the process that was to do it ended')
  }

  /** Discards an upload that is not being stored; a check of it ends. */
  async discard({ id }: Pick<Upload, 'id'>): Promise<void> {
    const { store } = this.#options
    await store.db.deleteFrom('upload').where('id', '=', id).where('state', '!=', 'storing').execute()
    this.#stopping.get(id)?.abort()
    this.#inBackground(this.#tidy())
  }

  /** Runs a child process while this one holds the lock of the upload. */
  async #run(order: UploadWork, release: () => Promise<void>) {
    const { store, config, runOrder } = this.#options
    try {
      const { databaseUrl, maxRecords, maxBytes, pullDatabaseUrl } = config
      const storeUrl = pullDatabaseUrl === '' ? databaseUrl : pullDatabaseUrl
      const quota = { databaseUrl, maxRecords, maxBytes }
      const stopping = new AbortController()
      this.#stopping.set(order.id, stopping)
      const work = () => {
        const limit = AbortSignal.timeout(MAX_WORK_MS[order.work])
        const signal = AbortSignal.any([this.#closing.signal, stopping.signal, limit])
        return runOrder({ ...order, storeUrl, quota }, signal)
      }
      const outcome = await this.#queued(order, work).catch((error: unknown): Outcome => {
        this.#options.onFailure(error)
        return 'ended'
      })
      // A service that stops leaves the rest to the one that starts.
      if (outcome !== 'done' && !this.#closing.signal.aborted) await afterFailure(store.db, order.id, outcome)
    } finally {
      this.#stopping.delete(order.id)
      await release()
    }
    await this.#tidy()
  }

  /**
   * Runs one child process after the other, because each may need much memory (`limits.uploadsInWork`). After a minute of a check the
   * next one begins beside it.
   */
  #queued({ work: type }: UploadWork, work: () => Promise<Outcome>): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>()
    void this.#queue(async () => {
      const done = this.#slots(work)
      resolve(done)
      const ended = done.then(nothing, nothing)
      await (type === 'check' ? Promise.race([ended, sleep(ALONE_MS, undefined, { ref: false })]) : ended)
    })
    return promise
  }

  /** Removes files that are not needed, and goes on with what a killed process has left. */
  async #tidy() {
    const { db } = this.#options.store
    const now = Date.now()
    const open = await this.#openRows()
    const needed = open.filter(({ received_at }) => now - received_at <= KEPT_MS)
    const ids = new Set(needed.map(({ id }) => id))
    await this.#folder.sweep(now, id => ids.has(id))
    for (const row of needed) await this.#resume(row)
    // What was found in them goes with the files.
    const expired = open.filter(({ id }) => !ids.has(id)).map(({ id }) => id)
    if (expired.length > 0) await db.deleteFrom('upload').where('id', 'in', expired).execute()
  }

  /** The uploads whose files are here, or should be. */
  #openRows(): Promise<Upload[]> {
    const { db, engine } = this.#options.store
    return db
      .selectFrom('upload')
      .selectAll()
      .where('state', 'in', OPEN_STATES)
      .$if(engine === 'postgres', rows =>
        rows.where(({ eb, or }) => or([eb('host', '=', hostname()), eb('id', 'in', ['', ...this.#folder.ids()])])),
      )
      .execute()
  }

  /** Goes on with an upload that nobody works on. */
  async #resume({ id, account_id: accountId, state }: Upload) {
    if (state !== 'receiving' && state !== 'checking' && state !== 'storing') return
    const release = this.#folder.lock(id)
    if (release === undefined) return
    const { db } = this.#options.store
    // It may have ended meanwhile.
    const isSame = await setState(db, { id }, state, { state })
    if (!isSame || state !== 'checking' || !this.#folder.has(id)) {
      if (isSame && state === 'storing') await afterFailure(db, id, 'ended')
      if (isSame && state === 'receiving') await db.deleteFrom('upload').where('id', '=', id).execute()
      return release()
    }
    this.#inBackground(this.#run({ work: 'check', accountId, id, answers: {} }, release))
  }

  #inBackground(work: Promise<void>) {
    const { onFailure } = this.#options
    const report = (error: unknown) => {
      // While the database is down, the log has that already.
      if (!(error instanceof StoreUnavailableError)) onFailure(error)
    }
    const watched = work.catch(report).finally(() => this.#running.delete(watched))
    this.#running.add(watched)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    this.#closing.abort(
      new ApiError('unavailable', 'The service stops, so nothing was received. Try again in a moment'),
    )
    while (this.#running.size > 0) await Promise.all(this.#running)
  }
}

const TIDY_MS = 60_000
const MAX_WORK_MS = { check: KEPT_MS, store: 600_000, change: 60_000 } as const
const ALONE_MS = 60_000
export const NO_SPACE = 'there is not enough free space on the disk of this service'

function nothing() {}

/** The upload of an account; undefined if there is none, or if its hour has passed. */
export async function findUpload(
  { reads }: Pick<Store, 'reads'>,
  accountId: number,
  now: number,
): Promise<Upload | undefined> {
  const upload = await reads.selectFrom('upload').selectAll().where('account_id', '=', accountId).executeTakeFirst()
  return upload !== undefined && OPEN_STATES.some(open => open === upload.state) && now - upload.received_at > KEPT_MS
    ? undefined
    : upload
}

/** Makes this the upload of the account. Throws LimitError if it has an open one. */
async function openUpload(db: Kysely<Tables>, { accountId, id, now }: { accountId: number; id: string; now: number }) {
  const values = { id, name: '', state: 'receiving', received_at: now, bytes: 0, host: hostname() } as const
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('upload')
    .values({ account_id: accountId, ...values, report: null, failure: null })
    .onConflict(conflict =>
      conflict
        .column('account_id')
        .doUpdateSet({ ...values, report: null, failure: null })
        .where(({ eb, or }) =>
          or([eb('upload.state', 'not in', OPEN_STATES), eb('upload.received_at', '<', now - KEPT_MS)]),
        ),
    )
    .executeTakeFirst()
  if (numInsertedOrUpdatedRows === 0n) throw new LimitError('uploads', 'rate_limited', RETRY_SECONDS, ANOTHER)
}

const RETRY_SECONDS = 10
const ANOTHER =
  'Another file of this account is under way, or waits to be stored. Store or discard it first, on the page Source'

/** Changes an upload in this state; false if it has another one by now. */
export async function setState(
  db: Kysely<Tables>,
  { id }: Pick<Upload, 'id'>,
  before: Upload['state'],
  values: Partial<Pick<Upload, 'state' | 'name' | 'bytes' | 'report' | 'failure'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('upload')
    .set(values)
    .where('id', '=', id)
    .where('state', '=', before)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** What could not be checked has failed; what could not be stored can be tried again. */
async function afterFailure(db: Kysely<Tables>, id: string, failure: string) {
  await setState(db, { id }, 'checking', { state: 'failed', failure })
  await setState(db, { id }, 'storing', { state: 'ready', failure })
}

const MAX_NAME = 80
