import {
  type BatchImporter,
  type BatchImporterOptions,
  type IncomingRecord,
  openBatchImporter,
} from '../archive/batch-importer.ts'
import { formatTimestamp } from '../contract/time.ts'
import type { Store } from '../store/index.ts'
import type { ReportBuilder } from './report.ts'
import type { SourceData } from './rows.ts'
import { SourceError } from './source.ts'
import type { PullSource } from './state.ts'
import { type Target, usernameOf } from './whose.ts'

interface PulledAccountOptions {
  readonly known: PullSource | undefined
  /** The user as the source sends it. */
  readonly user: SourceData | undefined
  readonly report: ReportBuilder
  readonly check: BatchImporterOptions['check']
}

/** The account that a pull stores rows of: that of the API key. */
export class PulledAccount {
  readonly #origin: string
  readonly #target: Target
  readonly #user: SourceData | undefined
  readonly #report: ReportBuilder
  readonly #importer: BatchImporter
  #source: PullSource | undefined

  constructor(store: Store, origin: string, target: Target, { known, user, report, check }: PulledAccountOptions) {
    this.#origin = origin
    this.#target = target
    this.#user = user
    this.#source = known
    this.#report = report
    this.#importer = openBatchImporter(store, { source: origin, accounts: [target.id], check })
  }

  get id(): number {
    return this.#target.id
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
    this.#report.add([record], report)
    if (report.outcomes[0] === 'rejected') await importer.storeBatch([{ ...this.#record(true), envelope }])
  }

  close(): Promise<void> {
    return this.#importer.close()
  }

  /**
   * Creates the account and the state of its source in one transaction: with all fields of the account, or with its name alone if
   * they cannot be stored.
   */
  async #begin(): Promise<PullSource> {
    const sourceName = usernameOf(this.#user)
    if (this.#target.isNew && sourceName !== this.#target.username)
      this.#report.noteName(sourceName ?? '', this.#target.username)
    for (const isMinimal of [false, true]) {
      let source: PullSource | undefined
      const record = this.#record(isMinimal)
      const report = await this.#importer.storeBatch([record], {
        within: async (db, { outcomes }) => {
          if (outcomes[0] === 'rejected') return
          const values = {
            account_id: this.id,
            origin: this.#origin,
            username: sourceName ?? null,
            knows_me: this.#user === undefined ? 0 : 1,
            capabilities: '{}',
          }
          source = await db.insertInto('pull_source').values(values).returningAll().executeTakeFirstOrThrow()
        },
      })
      if (report.outcomes[0] === 'added') this.#report.add([record], { ...report, extra: [], leniencies: [] })
      if (source !== undefined) return source
    }
    throw new SourceError(`the account ${this.id} of the source cannot be stored`)
  }

  #record(isMinimal = false): IncomingRecord {
    const { subscriptionEndsAt: _, ...user } = isMinimal ? {} : { ...this.#user }
    const { id, username } = this.#target
    // The tier is used for a new account only.
    return { kind: 'account', data: { ...user, id, username, subscriptionTier: 'ultra' } }
  }
}
