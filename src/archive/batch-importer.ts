import { type Kysely, sql } from 'kysely'
import type { Engine, Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { InvalidError } from './faults.ts'
import { account } from './account-kinds.ts'
import { type Kind, type Row, UnfinishedError } from './kind.ts'
import { Notes } from './notes.ts'
import { identityOf, kindsByName, readRow, archiveRecord } from './records.ts'
import {
  type FieldCount,
  type LeniencyCount,
  NoteCounts,
  type OnConflict,
  type Outcome,
  type RejectedReport,
} from './report.ts'
import { clearRejected, type RejectedRow, RejectedRows } from './rejected-rows.ts'
import { ImportStaging } from './staging.ts'

/**
 * Stores records in batches, each in one transaction, with the same checks and staging as an archive. Stored records are
 * replaced, and records that cannot be stored are rejected.
 */
export interface BatchImporter {
  /** `within` runs in the same transaction after the records are stored, and must use the connection passed to it. */
  storeBatch(
    records: readonly IncomingRecord[],
    options?: { readonly within?: (db: Kysely<Tables>, report: BatchReport) => Promise<void> },
  ): Promise<BatchReport>
  /** Drops the temporary tables. */
  close(): Promise<void>
}

export interface BatchImporterOptions {
  /** The name of the source in the list of rejected rows. */
  readonly source: string
  /** If given, only rows of these accounts are stored. Rejected rows without a known owner belong to the first. */
  readonly accounts?: readonly number[] | undefined
  /** What to do with a record that is stored with other content; it is replaced by default. */
  readonly onConflict?: OnConflict
  /** Runs at the start of each transaction, which it ends if it throws. */
  readonly check?: ((db: Kysely<Tables>) => Promise<void>) | undefined
}

export interface IncomingRecord {
  readonly kind: string
  /** The record as the source sent it, without the fields of the envelope. */
  readonly data: unknown
  /** The fields that an archive has next to `data`. Fields that are missing keep their stored values. */
  readonly envelope?: Readonly<Record<string, unknown>>
  /** If present, the record is rejected with this reason. */
  readonly fault?: string
  /** The text to store if it is rejected, if it is not the JSON of the record. */
  readonly raw?: string
}

export interface BatchReport {
  /** One for each record, in the order given. */
  readonly outcomes: readonly Outcome[]
  readonly added: number
  readonly replaced: number
  readonly unchanged: number
  /** How many of the unchanged ones got other extra fields. */
  readonly refreshed: number
  /** Sessions that have not started, or are not finished. */
  readonly skipped: number
  /** In its rows, `line` is the index in the batch. */
  readonly setAside: RejectedReport
  /** Fields that the format does not have. They are kept as extra fields. */
  readonly extra: readonly FieldCount[]
  /** Values that did not match the format and were converted. */
  readonly leniencies: readonly LeniencyCount[]
}

export function openBatchImporter(store: Store, options: BatchImporterOptions): BatchImporter {
  const owners = options.accounts && new Set(options.accounts)
  return {
    storeBatch: (records, { within } = {}) =>
      store.db.connection().execute(async db => {
        const batch = new ImporterBatch(db, store.engine, options, records)
        await batch.stage(owners)
        return store.locked(db, async () => {
          await options.check?.(db)
          const report = await batch.store(Date.now())
          await within?.(db, report)
          return report
        })
      }),
    close: () =>
      store.db.connection().execute(async db => {
        for (const { table } of kindsByName.values())
          await sql.raw(`drop table if exists incoming_${table}`).execute(db)
      }),
  }
}

class ImporterBatch {
  readonly #db: Kysely<Tables>
  readonly #engine: Engine
  readonly #source: string
  readonly #records: readonly IncomingRecord[]
  readonly #rejected: RejectedRows
  readonly #incoming: ImportStaging
  readonly #kinds: readonly Kind[]
  readonly #outcomes: Outcome[]
  readonly #counts = new NoteCounts()

  constructor(
    db: Kysely<Tables>,
    engine: Engine,
    { source, accounts = [], onConflict = 'replace' }: BatchImporterOptions,
    records: readonly IncomingRecord[],
  ) {
    this.#db = db
    this.#engine = engine
    this.#records = records
    this.#source = source
    this.#outcomes = records.map(() => 'unchanged')
    const onReject = ({ line }: RejectedRow) => {
      this.#outcomes[line] = 'rejected'
    }
    this.#rejected = new RejectedRows({ db, source, account: accounts[0], onReject })
    const present = new Set(records.map(({ kind }) => kind))
    // References to accounts are compared with the accounts of the batch.
    this.#kinds = [...kindsByName.values()].filter(kind => kind === account || present.has(kind.name))
    this.#incoming = new ImportStaging({
      db,
      engine,
      rejected: this.#rejected,
      onConflict,
      tiers: false,
      isArchive: false,
      kinds: this.#kinds,
      rawOf: index => rawOf(records[index]),
    })
  }

  /** Checks the records and stages their rows, which needs no lock. */
  async stage(owners: ReadonlySet<number> | undefined) {
    await this.#incoming.prepare()
    for (const [index, record] of this.#records.entries()) {
      const envelope = envelopeOf(record)
      const notes = new Notes()
      try {
        if (record.fault !== undefined) throw new InvalidError(record.fault)
        const read = archiveRecord(envelope)
        const row = readRow(read, notes)
        checkOwner(read.kind, row, owners)
        this.#incoming.add(read.kind, index, row)
        this.#counts.add(record.kind, notes)
      } catch (error) {
        if (error instanceof UnfinishedError) {
          this.#outcomes[index] = 'skipped'
          this.#counts.add(record.kind, notes)
        } else if (error instanceof InvalidError) {
          const raw = rawOf(record)
          this.#rejected.add({ line: index, ...identityOf(envelope), reason: error.message, raw })
        } else throw error
      }
    }
    await this.#incoming.flush()
    await this.#incoming.compareLines()
  }

  store(now: number): Promise<BatchReport> {
    return this.#incoming.inStore(() => this.#store(now))
  }

  async #store(now: number): Promise<BatchReport> {
    // PostgreSQL has no statistics of the staging tables; without this, it reads all stored rows.
    if (this.#engine === 'postgres') {
      await sql`select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`.execute(
        this.#db,
      )
    }
    await this.#incoming.compareWithStore()
    let isChanged = false
    let refreshed = 0
    for (const [index, outcome] of await this.#incoming.outcomes()) {
      if (outcome !== 'unchanged') isChanged = true
      if (outcome === 'refreshed') refreshed += 1
      this.#outcomes[index] = outcome === 'refreshed' ? 'unchanged' : outcome
    }
    if (isChanged) {
      await this.#incoming.findGivenAccess()
      await this.#incoming.moveIntoStore()
      await this.#incoming.recordGivenAccess(now)
    }
    await clearRejected(this.#db, this.#incoming.tables(), this.#source)
    const setAside = await this.#rejected.store(now)
    const count = (wanted: Outcome) => this.#outcomes.filter(outcome => outcome === wanted).length
    return {
      outcomes: this.#outcomes,
      added: count('added'),
      replaced: count('replaced'),
      unchanged: count('unchanged'),
      refreshed,
      skipped: count('skipped'),
      setAside,
      ...this.#counts.list(),
    }
  }
}

const NOT_PULLED = 'is not of an account that is read here'

/** The owner has the id of another account here, which must not get the row. */
export const OWNER_REFUSED = 'the id of its owner is another account here'

export const OWNER_UNKNOWN = 'the source does not say who owns it'
export const UNANSWERED = 'the source does not return the record'

/** Only a pull knows which accounts a source may change, and has what these rows lack. */
export const NOT_RETRIED: readonly string[] = [NOT_PULLED, OWNER_REFUSED, OWNER_UNKNOWN, UNANSWERED]

function envelopeOf(record: IncomingRecord | undefined): unknown {
  return { kind: record?.kind, data: record?.data, ...record?.envelope }
}

function rawOf(record: IncomingRecord | undefined): string {
  return record?.raw ?? JSON.stringify(envelopeOf(record))
}

function checkOwner(kind: Kind, row: Row, owners: ReadonlySet<number> | undefined) {
  if (owners !== undefined && !owners.has(Number(row[kind.ownerColumn]))) throw new InvalidError(NOT_PULLED)
}
