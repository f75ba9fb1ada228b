import { type Kysely, sql } from 'kysely'
import type { Engine, Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { InvalidError } from './canonical.ts'
import { account, type Kind, type Row, UnfinishedError } from './kinds.ts'
import { Notes } from './notes.ts'
import { identityOf, kindsByName, readRow, recordOf } from './records.ts'
import {
  type FieldCount,
  type LeniencyCount,
  NoteCounts,
  type OnConflict,
  type Outcome,
  type SetAsideReport,
} from './report.ts'
import { clearSetAside, SetAside } from './set-aside.ts'
import { ImportStaging } from './staging.ts'

/**
 * Records that come in batch by batch, each batch in one transaction: through the same checks and staging as an archive,
 * replacing what is stored, and setting aside what cannot be stored.
 */
export interface Intake {
  /** `within` runs in the same transaction, after the records are stored; it must use the connection it gets. */
  storeBatch(
    records: readonly IncomingRecord[],
    options?: { readonly within?: (db: Kysely<Tables>, report: BatchReport) => Promise<void> },
  ): Promise<BatchReport>
  /** Gives up the temporary tables. */
  close(): Promise<void>
}

export interface IntakeOptions {
  /** Names where the records come from, in the list of what is set aside. */
  readonly source: string
  /** Only rows of these accounts are stored, if given. The first owns what is set aside without a known owner. */
  readonly accounts?: readonly number[]
  /** What to do with a record that is stored with other content: it is replaced if not said otherwise. */
  readonly onConflict?: OnConflict
}

export interface IncomingRecord {
  readonly kind: string
  /** The record as the source sent it. */
  readonly data: unknown
  /** What an archive has beside `data`. What is not there is not told by the source, and stays as it is stored. */
  readonly beside?: Readonly<Record<string, unknown>>
  /** Why the record is set aside, whatever else it is. */
  readonly fault?: string
  /** Its bytes as they are set aside, if they are not those of its JSON. */
  readonly raw?: string
}

export interface BatchReport {
  /** What became of each record, in the order given. */
  readonly outcomes: readonly Outcome[]
  readonly added: number
  readonly replaced: number
  readonly unchanged: number
  /** Sessions that have not started, or are not finished. */
  readonly skipped: number
  /** In its rows, `line` is the place in the batch, from 0. */
  readonly setAside: SetAsideReport
  /** Fields that are not part of a record and are kept beside it. */
  readonly extra: readonly FieldCount[]
  /** Values that were taken though they are not what the format has there. */
  readonly leniencies: readonly LeniencyCount[]
}

export function openIntake(store: Store, options: IntakeOptions): Intake {
  const owners = options.accounts && new Set(options.accounts)
  return {
    storeBatch: (records, { within } = {}) =>
      store.db.connection().execute(async db => {
        const batch = new IntakeBatch(db, store.engine, options, records)
        await batch.stage(owners)
        return store.locked(db, async () => {
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

class IntakeBatch {
  readonly #db: Kysely<Tables>
  readonly #engine: Engine
  readonly #source: string
  readonly #records: readonly IncomingRecord[]
  readonly #rejects: SetAside
  readonly #incoming: ImportStaging
  readonly #kinds: readonly Kind[]
  readonly #outcomes: Outcome[]
  readonly #counts = new NoteCounts()

  constructor(
    db: Kysely<Tables>,
    engine: Engine,
    { source, accounts = [], onConflict = 'replace' }: IntakeOptions,
    records: readonly IncomingRecord[],
  ) {
    this.#db = db
    this.#engine = engine
    this.#records = records
    this.#source = source
    this.#outcomes = records.map(() => 'unchanged')
    const onReject = (index: number) => {
      this.#outcomes[index] = 'set-aside'
    }
    this.#rejects = new SetAside({ db, source, account: accounts[0], onReject })
    const present = new Set(records.map(({ kind }) => kind))
    // What names accounts is compared with those of the batch.
    this.#kinds = [...kindsByName.values()].filter(kind => kind === account || present.has(kind.name))
    this.#incoming = new ImportStaging({
      db,
      engine,
      rejects: this.#rejects,
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
        const read = recordOf(envelope)
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
          this.#rejects.add({ line: index, ...identityOf(envelope), reason: error.message, raw })
        } else throw error
      }
    }
    await this.#incoming.flush()
    await this.#incoming.compareLines()
  }

  async store(now: number): Promise<BatchReport> {
    // Nothing is known of how many rows the staging tables have: without this, PostgreSQL reads all that are stored.
    if (this.#engine === 'postgres') {
      await sql`select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)`.execute(
        this.#db,
      )
    }
    await this.#incoming.compareWithStore()
    let isChanged = false
    for (const [index, outcome] of await this.#incoming.outcomes()) {
      if (outcome !== 'unchanged') isChanged = true
      this.#outcomes[index] = outcome === 'refreshed' ? 'unchanged' : outcome
    }
    if (isChanged) await this.#incoming.moveIntoStore()
    await clearSetAside(this.#db, this.#kinds, this.#source)
    const setAside = await this.#rejects.store(now)
    const count = (wanted: Outcome) => this.#outcomes.filter(outcome => outcome === wanted).length
    return {
      outcomes: this.#outcomes,
      added: count('added'),
      replaced: count('replaced'),
      unchanged: count('unchanged'),
      skipped: count('skipped'),
      setAside,
      ...this.#counts.list(),
    }
  }
}

/** Why a row is set aside that is of no account that is read. */
const FOREIGN = 'is not of an account that is read here'

/** Why a row is set aside whose owner has the id of somebody else here, whose rows it must never become. */
export const OWNER_REFUSED = 'the id of its owner is another account here'

/** Whose rows a source may change is known to a pull alone. */
export const NOT_RETRIED: readonly string[] = [FOREIGN, OWNER_REFUSED]

function envelopeOf(record: IncomingRecord | undefined): unknown {
  return { kind: record?.kind, data: record?.data, ...record?.beside }
}

function rawOf(record: IncomingRecord | undefined): string {
  return record?.raw ?? JSON.stringify(envelopeOf(record))
}

function checkOwner(kind: Kind, row: Row, owners: ReadonlySet<number> | undefined) {
  if (owners !== undefined && !owners.has(Number(row[kind.ownerColumn]))) throw new InvalidError(FOREIGN)
}
