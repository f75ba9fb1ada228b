import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { counting } from './formats/unwrap.ts'
import { Incoming, type IncomingOptions, type KindReport } from './incoming.ts'
import { type LinesOf, readLines } from './lines.ts'
import { clearRejected, type RejectedReport, storeRejected } from './rejected-rows.ts'
import { type LineFacts, stageLines } from './stage-lines.ts'

export { conflictChoices, ImportError, type OnConflict } from './report.ts'

/** What to do with invalid lines: store nothing, or reject them and store the others. */
export const errorChoices = ['fail', 'set-aside'] as const
export type OnError = (typeof errorChoices)[number]

type SharedOptions = 'onConflict' | 'tiers' | 'isArchive' | 'onlyAccount' | 'file' | 'signal' | 'onDecided'

export interface ImportOptions extends Partial<Pick<IncomingOptions, SharedOptions>> {
  readonly onError?: OnError
  /** The name of the archive in the list of rejected rows. */
  readonly source?: string
  /** Called with the number of bytes read so far, and with undefined when storing begins. */
  readonly progress?: (bytes: number | undefined) => void
  /** Called in the transaction that stores the records; what it throws ends the import. */
  readonly confirm?: (db: Kysely<Tables>) => Promise<void>
  /** Work of the transaction that stores the records, after they are stored. */
  readonly inTransaction?: (
    db: Kysely<Tables>,
    report: { readonly kinds: readonly KindReport[]; readonly setAside?: RejectedReport },
  ) => Promise<void>
}

export type ImportReport = Awaited<ReturnType<typeof importLines>>

/**
 * Imports one archive: all of it or nothing, unless invalid lines are to be rejected one by one. Lines are checked first, and what becomes
 * of each is decided, which needs no lock; then one transaction decides again what has changed since, and writes. Throws ImportError.
 */
export function importArchive(store: Store, chunks: AsyncIterable<Buffer>, options: ImportOptions = {}) {
  return importLines(store, () => readLines(withProgress(chunks, options)), options)
}

/** The same for lines that were read from a file of any format. `progress` is only called when storing begins. */
export function importLines(store: Store, lines: LinesOf, options: ImportOptions = {}) {
  const { onError = 'fail', source = 'archive', progress, signal, onlyAccount, inTransaction } = options
  return store.db.connection().execute(async db => {
    const setsAside = onError === 'set-aside'
    return withDecided(store, lines, { ...options, db, setsAside }, async (incoming, facts) => {
      if (!setsAside) await incoming.throwIfRejected()
      progress?.(undefined)
      const work = async () => {
        await options.confirm?.(db)
        await incoming.decideMoved()
        if (!setsAside) await incoming.throwIfRejected()
        const endedAccess = await incoming.endedAccess()
        await incoming.store(Date.now())
        const kinds = incoming.report().map(({ report }) => report)
        await incoming.updateAsOf()
        await clearRejected(db, source)
        const setAside = setsAside
          ? { setAside: await storeRejected(incoming, db, { source, account: onlyAccount, now: Date.now() }) }
          : {}
        // On SQLite, statements keep the process from hearing a signal.
        await nextTurn()
        signal?.throwIfAborted()
        await inTransaction?.(db, { kinds, ...setAside })
        return { kinds, endedAccess, ...facts, ...setAside }
      }
      return store.locked(db, () => incoming.inStore(work))
    })
  })
}

type DecidedOptions = Omit<ImportOptions, 'onError'> & Pick<IncomingOptions, 'db' | 'setsAside' | 'isPreview'>

/** Checks lines and decides about their rows, for work that stores or counts them; none of it is left behind. */
export async function withDecided<Result>(
  { engine }: Store,
  lines: LinesOf,
  options: DecidedOptions,
  work: (incoming: Incoming, facts: LineFacts) => Promise<Result>,
): Promise<Result> {
  const incoming = new Incoming({ onConflict: 'fail', tiers: false, isArchive: true, ...options, engine })
  await incoming.prepare()
  try {
    const facts = await stageLines(incoming, lines({ db: options.db, isPreview: options.isPreview }))
    await incoming.decide()
    return await work(incoming, facts)
  } finally {
    await incoming.discard()
  }
}

/** The same bytes; counts them, and throws when the signal is aborted. */
export function withProgress(
  chunks: AsyncIterable<Buffer>,
  { progress, signal }: Pick<ImportOptions, 'progress' | 'signal'>,
): AsyncGenerator<Buffer> {
  let bytes = 0
  return counting(chunks, ({ length }) => {
    signal?.throwIfAborted()
    bytes += length
    progress?.(bytes)
  })
}
