import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { InvalidError } from './faults.ts'
import type { Decided } from './decide.ts'
import { Incoming } from './incoming.ts'
import type { FieldCount, LeniencyCount, OnConflict, Outcome, RejectedReport } from './report.ts'
import { clearRejected, storeRejected } from './rejected-rows.ts'
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
  const { source, accounts, onConflict = 'replace', check } = options
  const owners = accounts && new Set(accounts)
  return {
    storeBatch: (records, { within } = {}) =>
      store.db.connection().execute(async db => {
        const common = { engine: store.engine, setsAside: true, tiers: false, isArchive: false }
        const incoming = new Incoming({ db, onConflict, ...common })
        await incoming.prepare()
        try {
          const { extra, leniencies } = await stageLines(incoming, linesOf(records), (kind, row) => {
            if (owners?.has(Number(row[kind.ownerColumn])) === false) throw new InvalidError(NOT_PULLED)
          })
          const work = async () => {
            // A batch is small, so all of it is decided here.
            await incoming.decide(false)
            await incoming.store(Date.now())
            await clearRejected(db, source)
            const setAside = await storeRejected(incoming, db, { source, account: accounts?.[0], now: Date.now() })
            return { ...(await countsOf(incoming, records)), setAside, extra, leniencies }
          }
          return await store.locked(db, async () => {
            await check?.(db)
            const report = await incoming.inStore(work)
            await within?.(db, report)
            return report
          })
        } finally {
          await incoming.discard()
        }
      }),
  }
}

/** What became of the records; what has no decision is a session that is not finished. */
async function countsOf(incoming: Incoming, records: readonly IncomingRecord[]) {
  const decisions = await incoming.decisions()
  const decided = records.map((_, line) => decisions.get(line) ?? 'skipped')
  const outcomes = decided.map(one => OUTCOMES[one])
  const count = (wanted: Outcome) => outcomes.filter(outcome => outcome === wanted).length
  return {
    outcomes,
    added: count('added'),
    replaced: count('replaced'),
    unchanged: count('unchanged'),
    refreshed: decided.filter(one => one === 'refreshed').length,
    skipped: count('skipped'),
  }
}

const OUTCOMES: Readonly<Record<Decided, Outcome>> = {
  added: 'added',
  replaced: 'replaced',
  refreshed: 'unchanged',
  unchanged: 'unchanged',
  repeated: 'unchanged',
  skipped: 'skipped',
  deleted: 'deleted',
  refused: 'rejected',
  contradicts: 'rejected',
  invalid: 'rejected',
}

async function* linesOf(records: readonly IncomingRecord[]) {
  yield records.map((record, number) => ({
    number,
    text: record.raw ?? JSON.stringify(envelopeOf(record)),
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

function envelopeOf({ kind, data, envelope }: IncomingRecord) {
  return { kind, data, ...envelope }
}
