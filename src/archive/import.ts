import type { Store } from '../store/index.ts'
import { ArchiveParts, type ArchivePartsOptions } from './archive-parts.ts'
import { account } from './account-kinds.ts'
import { InvalidError } from './faults.ts'
import { isEndLine, LineCount } from './end-line.ts'
import { UnfinishedError } from './kind.ts'
import { type Line, readLines } from './lines.ts'
import { Notes } from './notes.ts'
import { identityOf, parseLine, readRow, recordOf } from './records.ts'
import { clearSetAside, SetAside } from './set-aside.ts'
import { ImportStaging } from './staging.ts'
import { Errors, ImportError, type ImportReport, MAX_LISTED, NoteCounts, type OnConflict } from './report.ts'

export { conflictChoices, ImportError, type ImportReport, type OnConflict } from './report.ts'

/** What to do with invalid lines: store nothing, or set them aside and store the others. */
export type OnError = 'fail' | 'set-aside'
export const errorChoices: readonly OnError[] = ['fail', 'set-aside']

export interface ImportOptions {
  readonly onConflict?: OnConflict
  readonly onError?: OnError
  /** The name of the archive in the list of rows set aside. */
  readonly source?: string
  /** Whether the tier of stored accounts, and its end, are updated. */
  readonly tiers?: boolean
  /** Called with the number of bytes read so far, and with undefined when storing begins. */
  readonly progress?: (bytes: number | undefined) => void
  /** Stops the import; nothing is written. */
  readonly signal?: AbortSignal
}

/**
 * Imports one archive: all of it or nothing, unless errors are to be set aside. Lines are checked and staged first, which
 * needs no lock; the store is locked only while the rows are copied. Throws ImportError.
 */
export async function importArchive(
  store: Store,
  chunks: AsyncIterable<Buffer>,
  options: ImportOptions = {},
): Promise<ImportReport> {
  const { onConflict = 'fail', onError = 'fail', source = 'archive', tiers = false, progress, signal } = options
  return store.db.connection().execute(async db => {
    const rejects = onError === 'fail' ? new Errors() : new SetAside({ db, source })
    const staging = { store, db, rejects, onConflict, tiers, source }
    const incoming = store.engine === 'sqlite' ? new ArchiveParts(staging) : new WholeArchive(staging)
    await incoming.discard()
    await incoming.prepare()
    try {
      const notStored = await readArchive(incoming, withProgress(chunks, progress, signal), rejects)
      progress?.(undefined)
      await incoming.compareLines()
      signal?.throwIfAborted()
      const { kinds, endedAccess, setAside } = await incoming.store(signal)
      return { kinds, endedAccess, ...notStored, ...(setAside === undefined ? {} : { setAside }) }
    } finally {
      await incoming.discard()
      if (rejects instanceof SetAside) await rejects.discard()
    }
  })
}

/** An archive that is stored in one transaction, which does not hold up other writers on PostgreSQL. */
class WholeArchive extends ImportStaging {
  readonly #options: ArchivePartsOptions

  constructor(options: ArchivePartsOptions) {
    super({ ...options, engine: options.store.engine, isArchive: true })
    this.#options = options
  }

  async store() {
    const { store, db, rejects, source } = this.#options
    const finish = async () => {
      await this.compareWithStore()
      if (rejects instanceof Errors) rejects.throwIfAny()
      const endedAccess = await this.endedAccess()
      const kinds = await this.moveIntoStore()
      await this.findNewest()
      await this.updateAsOf()
      await clearSetAside(db, this.tables(), source)
      const setAside = rejects instanceof SetAside ? await rejects.store(Date.now()) : undefined
      return { kinds, endedAccess, setAside }
    }
    // After an error, the comparison only finds further errors and needs no lock.
    const isRefused = rejects instanceof Errors && rejects.count > 0
    const work = () => this.inStore(finish)
    return isRefused ? work() : store.locked(db, work)
  }
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
  incoming: ArchiveParts | WholeArchive,
  chunks: AsyncIterable<Buffer>,
  rejects: Errors | SetAside,
) {
  const unfinished: { line: number; kind: string; id: number }[] = []
  let unfinishedCount = 0
  const counts = new NoteCounts()
  const lineCount = new LineCount()
  const context = { counts, lineCount, now: Date.now(), rejects }

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
    if (rejects instanceof SetAside) await rejects.flushFull()
  }
  await incoming.flush()
  return { hasEnd: lineCount.hasEnd, unfinished, unfinishedCount, ...counts.list() }
}

interface LineContext {
  readonly counts: NoteCounts
  readonly lineCount: LineCount
  readonly now: number
  readonly rejects: Errors | SetAside
}

/** Throws UnfinishedError. */
function stage(line: Line, incoming: ArchiveParts | WholeArchive, { counts, lineCount, now, rejects }: LineContext) {
  let envelope: unknown
  try {
    envelope = parseLine(line)
    if (isEndLine(envelope)) return lineCount.end(envelope)
    const record = recordOf(envelope)
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
    if (rejects instanceof SetAside) {
      // It says that lines are missing, and missing lines cannot be set aside.
      if (isEndLine(envelope)) throw new ImportError([{ line: line.number, reason: error.message }], 1)
      const raw = line.text ?? line.bytes
      rejects.add({ line: line.number, ...identity, reason: error.message, raw })
      return
    }
    rejects.add(line.number, error.message)
    // The records of an account are valid even if its own line is not.
    if (identity.kind === account.name && identity.recordId !== null) {
      incoming.add(account, line.number, { id: identity.recordId })
    }
  }
}
