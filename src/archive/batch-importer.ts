import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { InvalidError } from './faults.ts'
import { Incoming, type IncomingOptions } from './incoming.ts'
import type { FieldCount, LeniencyCount, OnConflict, Outcome, RejectedReport } from './report.ts'
import { clearRejected, RejectedRows, type RejectedRowsOptions } from './rejected-rows.ts'
import { stageLines } from './stage-lines.ts'

/**
 * Stores records in batches, each in one transaction, with the same checks and decisions as an archive. Stored records are
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
  return {
    storeBatch: (records, { within } = {}) =>
      store.db.connection().execute(async db => {
        const outcomes: Outcome[] = records.map(() => 'unchanged')
        let refreshed = 0
        const { incoming, rejected } = open(store, db, options, {
          rawOf: line => rawOf(records[line]),
          onReject: ({ line }) => void (outcomes[line] = 'rejected'),
          onDecided: (line, decided) => {
            if (decided === 'refreshed') refreshed += 1
            const outcome = NAMED.find(one => one === decided)
            if (outcome !== undefined) outcomes[line] = outcome
          },
        })
        const owners = options.accounts && new Set(options.accounts)
        await incoming.prepare()
        const { extra, leniencies } = await stageLines(incoming, linesOf(records), (kind, row) => {
          if (owners?.has(Number(row[kind.ownerColumn])) === false) throw new InvalidError(NOT_PULLED)
        })
        const work = async () => {
          // A batch is small, so all of it is decided here.
          await incoming.decide(false)
          await incoming.reject()
          await incoming.store(Date.now())
          await clearRejected(db, options.source)
          const setAside = await rejected.store(Date.now())
          const count = (wanted: Outcome) => outcomes.filter(outcome => outcome === wanted).length
          const [added, replaced, unchanged, skipped] = [
            count('added'),
            count('replaced'),
            count('unchanged'),
            count('skipped'),
          ]
          return { outcomes, added, replaced, unchanged, refreshed, skipped, setAside, extra, leniencies }
        }
        return store.locked(db, async () => {
          await options.check?.(db)
          const report = await incoming.inStore(work)
          await within?.(db, report)
          return report
        })
      }),
    close: () => store.db.connection().execute(db => open(store, db, options).incoming.discard()),
  }
}

function open(
  { engine }: Store,
  db: Kysely<Tables>,
  { source, accounts, onConflict = 'replace' }: BatchImporterOptions,
  { onReject, ...rest }: Pick<IncomingOptions, 'rawOf' | 'onDecided'> & Pick<RejectedRowsOptions, 'onReject'> = {},
) {
  const rejected = new RejectedRows({ db, source, account: accounts?.[0], ...(onReject && { onReject }) })
  const common = { db, engine, rejected, setsAside: true, tiers: false, isArchive: false }
  return { rejected, incoming: new Incoming({ ...common, onConflict, ...rest }) }
}

/** The outcomes that decisions are named after; the others are `unchanged` or `rejected`. */
const NAMED = ['added', 'replaced', 'skipped', 'deleted'] as const

async function* linesOf(records: readonly IncomingRecord[]) {
  yield records.map((record, number) => ({
    number,
    text: undefined,
    fault: record.fault,
    envelope: envelopeOf(record),
  }))
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
