import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import type { Store } from '../store/index.ts'
import type { Tables } from '../store/tables.ts'
import { watchLockWaits } from './lock-waits.ts'
import { type Lines, readLines } from './lines.ts'
import { clearRejected, RejectedRows } from './rejected-rows.ts'
import { ImportStaging } from './staging.ts'
import { LineErrors, type ImportReport, type OnConflict } from './report.ts'
import { stageLines } from './stage-lines.ts'

export { conflictChoices, ImportError, type ImportReport, type OnConflict } from './report.ts'

/** What to do with invalid lines: store nothing, or reject them and store the others. */
export type OnError = 'fail' | 'set-aside'
export const errorChoices: readonly OnError[] = ['fail', 'set-aside']

export interface ImportOptions {
  readonly onConflict?: OnConflict
  readonly onError?: OnError
  /** The name of the archive in the list of rejected rows. */
  readonly source?: string
  /** Whether the tier of stored accounts, and its end, are updated. */
  readonly tiers?: boolean
  /** Called with the number of bytes read so far, and with undefined when storing begins. */
  readonly progress?: (bytes: number | undefined) => void
  /** Called with what the import waits for, if that takes long. */
  readonly onWait?: (what: string) => void
  /** Stops the import; nothing is written. */
  readonly signal?: AbortSignal
  /** Whether the lines are those of an archive, in which a missing field means no value. */
  readonly isArchive?: boolean
  /** Only records of this account are stored; those of others, accounts and access are counted and left out. */
  readonly onlyAccount?: number
  /** Work of the transaction that stores the records, after they are stored. */
  readonly inTransaction?: (db: Kysely<Tables>, report: Pick<ImportReport, 'kinds' | 'setAside'>) => Promise<void>
}

/**
 * Imports one archive: all of it or nothing, unless invalid lines are to be rejected one by one. Lines are checked and staged first, which
 * needs no lock; then one transaction compares the rows with the store and copies them. Throws ImportError.
 */
export function importArchive(
  store: Store,
  chunks: AsyncIterable<Buffer>,
  options: ImportOptions = {},
): Promise<ImportReport> {
  return importLines(store, readLines(withProgress(chunks, options)), options)
}

/** The same for lines that were read from a file of any format. `progress` is only called when storing begins. */
export async function importLines(store: Store, lines: Lines, options: ImportOptions = {}): Promise<ImportReport> {
  const { onConflict = 'fail', onError = 'fail', source = 'archive', tiers = false, progress, signal } = options
  const { onWait = () => {}, isArchive = true, onlyAccount } = options
  const { engine } = store
  return store.db.connection().execute(async db => {
    const rejected = onError === 'fail' ? new LineErrors() : new RejectedRows({ db, source, account: onlyAccount })
    const incoming = new ImportStaging({ db, engine, rejected, onConflict, tiers, isArchive, onlyAccount })
    await incoming.discard()
    await incoming.prepare()
    try {
      const notStored = await stageLines(incoming, lines)
      progress?.(undefined)
      await incoming.compareLines()
      signal?.throwIfAborted()
      const work = () => incoming.inStore(() => storeAll(incoming, { ...options, source }))
      // After an error, the comparison only finds further errors and needs no lock.
      const isRefused = rejected instanceof LineErrors && rejected.count > 0
      const endWatch = await watchLockWaits(store, db, onWait)
      const { setAside, ...stored } = await (isRefused ? work() : store.locked(db, work)).finally(endWatch)
      return { ...stored, ...notStored, ...(setAside === undefined ? {} : { setAside }) }
    } finally {
      await incoming.discard()
      if (rejected instanceof RejectedRows) await rejected.discard()
    }
  })
}

async function storeAll(
  incoming: ImportStaging,
  { source = '', signal, inTransaction }: Pick<ImportOptions, 'source' | 'signal' | 'inTransaction'>,
) {
  const { db, rejected } = incoming.options
  await incoming.compareWithStore()
  if (rejected instanceof LineErrors) rejected.throwIfAny()
  const endedAccess = await incoming.endedAccess()
  await incoming.findGivenAccess()
  const kinds = await incoming.moveIntoStore()
  await incoming.recordGivenAccess(Date.now())
  await incoming.updateAsOf()
  await clearRejected(db, incoming.tables(), source)
  const setAside = rejected instanceof RejectedRows ? await rejected.store(Date.now()) : undefined
  // Before the commit, so that the file never has room for both the staged and the stored rows.
  await incoming.discard()
  // On SQLite, statements keep the process from hearing a signal.
  await nextTurn()
  signal?.throwIfAborted()
  await inTransaction?.(db, { kinds, ...(setAside === undefined ? {} : { setAside }) })
  return { kinds, endedAccess, setAside }
}

/** The same bytes; counts them, and throws when the signal is aborted. */
export async function* withProgress(
  chunks: AsyncIterable<Buffer>,
  { progress, signal }: Pick<ImportOptions, 'progress' | 'signal'>,
): AsyncGenerator<Buffer> {
  let bytes = 0
  for await (const chunk of chunks) {
    signal?.throwIfAborted()
    yield chunk
    bytes += chunk.length
    progress?.(bytes)
  }
  signal?.throwIfAborted()
}
