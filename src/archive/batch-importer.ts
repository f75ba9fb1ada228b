import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { InvalidError } from './faults.ts'
import { type Decided, WRITTEN } from './decide.ts'
import { Incoming } from './incoming.ts'
import type { Kind, Row } from './kind.ts'
import type { NoteCounts, OnConflict, Outcome } from './report.ts'
import { clearRejected, type RejectedReport, storeRejected } from './rejected-rows.ts'
import { stageLines } from './stage-lines.ts'

export interface BatchOptions {
  /** The name of the source in the list of rejected rows. */
  readonly source: string
  /** If given, only rows of this account are stored, and rejected rows without a known owner belong to it. */
  readonly account?: number | undefined
  /** What to do with a record that is stored with other content; it is replaced by default. */
  readonly onConflict?: OnConflict
  /** Runs at the start of the transaction, which it ends if it throws. */
  readonly check?: ((db: Kysely<Tables>) => Promise<void>) | undefined
  /** Counts fields that the format does not have, and conversions. */
  readonly noteCounts?: NoteCounts | undefined
  /** Runs in the same transaction after the records are stored, and must use the connection passed to it. */
  readonly within?: (db: Kysely<Tables>, report: BatchReport) => Promise<void>
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
  /** How many were written: added, replaced, or given other extra fields. */
  readonly written: number
  /** In its rows, `line` is the index in the batch. */
  readonly setAside: RejectedReport
}

/**
 * Stores a batch of records in one transaction, with the same checks and decisions as an archive. Stored records are replaced, and records
 * that cannot be stored are rejected.
 */
export function storeBatch(
  store: Store,
  records: readonly IncomingRecord[],
  { source, account, onConflict = 'replace', check, noteCounts, within }: BatchOptions,
): Promise<BatchReport> {
  return store.db.connection().execute(async db => {
    const common = { engine: store.engine, setsAside: true, tiers: false, isArchive: false }
    const incoming = new Incoming({ db, onConflict, ...common })
    await incoming.prepare()
    try {
      const checkOwner = (kind: Kind, row: Row) => {
        if (account !== undefined && row[kind.ownerColumn] !== account) throw new InvalidError(NOT_PULLED)
      }
      await stageLines(incoming, linesOf(records), checkOwner, noteCounts)
      const work = async () => {
        // A batch is small, so all of it is decided here.
        await incoming.decide(false)
        await incoming.store(Date.now())
        await clearRejected(db, source)
        const setAside = await storeRejected(incoming, db, { source, account, now: Date.now() })
        const decisions = await incoming.decisions()
        return {
          // What has no decision is a session that is not finished.
          outcomes: records.map((_, line) => outcomeOf(decisions.get(line) ?? 'skipped')),
          written: [...decisions.values()].filter(one => WRITTEN.some(written => written === one)).length,
          setAside,
        }
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
  })
}

function outcomeOf(decided: Decided): Outcome {
  if (decided === 'refused' || decided === 'contradicts' || decided === 'invalid') return 'rejected'
  return decided === 'refreshed' || decided === 'repeated' ? 'unchanged' : decided
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

export const OWNER_UNKNOWN = 'the source does not say who owns it'
export const UNANSWERED = 'the source does not return the record'

/** Only a pull knows which accounts a source may change, and has what these rows lack. */
export const NOT_RETRIED: readonly string[] = [NOT_PULLED, OWNER_UNKNOWN, UNANSWERED]

function envelopeOf({ kind, data, envelope }: IncomingRecord) {
  return { kind, data, ...envelope }
}
