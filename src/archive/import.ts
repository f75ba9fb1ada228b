import { setImmediate as nextTurn } from 'node:timers/promises'
import type { Store } from '../store/index.ts'
import { account } from './account-kinds.ts'
import { InvalidError } from './faults.ts'
import { isEndLine, LineCount } from './end-line.ts'
import { UnfinishedError } from './kind.ts'
import { watchLockWaits } from './lock-waits.ts'
import { type Line, readLines } from './lines.ts'
import { Notes } from './notes.ts'
import { identityOf, parseLine, readRow, archiveRecord } from './records.ts'
import { clearRejected, RejectedRows } from './rejected-rows.ts'
import { ImportStaging } from './staging.ts'
import { LineErrors, ImportError, type ImportReport, MAX_LISTED, NoteCounts, type OnConflict } from './report.ts'

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
}

/**
 * Imports one archive: all of it or nothing, unless invalid lines are to be rejected one by one. Lines are checked and staged first, which
 * needs no lock; then one transaction compares the rows with the store and copies them. Throws ImportError.
 */
export async function importArchive(
  store: Store,
  chunks: AsyncIterable<Buffer>,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const { onConflict = 'fail', onError = 'fail', source = 'archive', tiers = false, progress, signal } = options
  const { onWait = () => {} } = options
  return store.db.connection().execute(async db => {
    const rejected = onError === 'fail' ? new LineErrors() : new RejectedRows({ db, source })
    const incoming = new ImportStaging({ db, engine: store.engine, rejected, onConflict, tiers, isArchive: true })
    await incoming.discard()
    await incoming.prepare()
    try {
      const notStored = await readArchive(incoming, withProgress(chunks, progress, signal), rejected)
      progress?.(undefined)
      await incoming.compareLines()
      signal?.throwIfAborted()
      const work = () => incoming.inStore(() => storeAll(incoming, { source, signal }))
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

/** Compares the rows with the store and copies them into it. */
async function storeAll(
  incoming: ImportStaging,
  { source, signal }: { readonly source: string; readonly signal: AbortSignal | undefined },
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
  // Before the commit, so that their space and that of the stored rows in the file are not needed at the same time.
  await incoming.discard()
  // On SQLite, statements keep the process from hearing a signal.
  await nextTurn()
  signal?.throwIfAborted()
  return { kinds, endedAccess, setAside }
}

async function* withProgress(
  chunks: AsyncIterable<Buffer>,
  progress: ImportOptions['progress'],
  signal: AbortSignal | undefined,
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

/** Reads every line, stages its row, and collects errors. */
async function readArchive(
  incoming: ImportStaging,
  chunks: AsyncIterable<Buffer>,
  rejected: LineErrors | RejectedRows,
) {
  const unfinished: { line: number; kind: string; id: number }[] = []
  let unfinishedCount = 0
  const counts = new NoteCounts()
  const lineCount = new LineCount()
  const context = { counts, lineCount, now: Date.now(), rejected }

  for await (const lines of readLines(chunks)) {
    for (const line of lines) {
      lineCount.add()
      try {
        stage(line, incoming, context)
      } catch (error) {
        if (!(error instanceof UnfinishedError)) throw error
        unfinishedCount += 1
        if (unfinished.length < MAX_LISTED) unfinished.push({ line: line.number, kind: error.kind, id: error.id })
      }
    }
    await incoming.flushFull()
    if (rejected instanceof RejectedRows) await rejected.flushFull()
  }
  await incoming.flush()
  return { hasEnd: lineCount.hasEnd, unfinished, unfinishedCount, ...counts.list() }
}

interface LineContext {
  readonly counts: NoteCounts
  readonly lineCount: LineCount
  readonly now: number
  readonly rejected: LineErrors | RejectedRows
}

/** Throws UnfinishedError. */
function stage(line: Line, incoming: ImportStaging, { counts, lineCount, now, rejected }: LineContext) {
  let envelope: unknown
  try {
    envelope = parseLine(line)
    if (isEndLine(envelope)) return lineCount.end(envelope)
    const record = archiveRecord(envelope)
    const notes = new Notes(now)
    try {
      incoming.add(record.kind, line.number, readRow(record, notes), line.text)
    } catch (error) {
      if (!(error instanceof UnfinishedError)) throw error
      incoming.skip(record.kind)
      counts.add(record.kind.name, notes)
      throw error
    }
    counts.add(record.kind.name, notes)
  } catch (error) {
    if (!(error instanceof InvalidError)) throw error
    const identity = identityOf(envelope)
    if (rejected instanceof RejectedRows) {
      // It says that lines are missing, and missing lines cannot be rejected.
      if (isEndLine(envelope)) throw new ImportError([{ line: line.number, reason: error.message }], 1)
      const raw = line.text ?? line.bytes
      rejected.add({ line: line.number, ...identity, reason: error.message, raw })
      return
    }
    rejected.add(line.number, error.message)
    // The records of an account are valid even if its own line is not.
    if (identity.kind === account.name && identity.recordId !== null) {
      incoming.add(account, line.number, { id: identity.recordId })
    }
  }
}
