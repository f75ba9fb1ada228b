import type { Store } from '../store/index.ts'
import { InvalidError } from './canonical.ts'
import { UnfinishedError } from './kinds.ts'
import { type Line, readLines } from './lines.ts'
import { Notes } from './notes.ts'
import { parseLine, readRow, recordOf } from './records.ts'
import { ImportStaging } from './staging.ts'
import { Errors, type ImportReport, MAX_LISTED, NoteCounts, type OnConflict } from './report.ts'

export { conflictChoices, ImportError, type ImportReport, type OnConflict } from './report.ts'

export interface ImportOptions {
  readonly onConflict?: OnConflict
  /** Called with the bytes read so far, and once with undefined when the checked records are being stored. */
  readonly progress?: (bytes: number | undefined) => void
  /** Stops the import; nothing is written. */
  readonly signal?: AbortSignal
}

/**
 * Imports one archive: all of it, or nothing. Lines are checked and set aside first, which holds up nobody; only then is
 * the store locked, for as long as the rows take to be copied. Throws ImportError.
 */
export async function importArchive(
  store: Store,
  chunks: AsyncIterable<Buffer>,
  { onConflict = 'fail', progress, signal }: ImportOptions = {},
): Promise<ImportReport> {
  return store.db.connection().execute(async db => {
    const errors = new Errors()
    const incoming = new ImportStaging({
      db,
      engine: store.engine,
      rejects: errors,
      onConflict,
      tiers: false,
      isArchive: true,
    })
    await incoming.discard()
    await incoming.prepare()
    try {
      const passedOver = await readArchive(incoming, watch(chunks, progress, signal), errors)
      progress?.(undefined)
      await incoming.compareLines()
      signal?.throwIfAborted()
      const finish = async () => {
        await incoming.compareWithStore()
        errors.throwIfAny()
        const reports = await incoming.moveIntoStore()
        await incoming.noteNewest()
        return reports
      }
      // Where something is wrong already, all that is left is to tell what else is, and that needs no lock.
      const reports = errors.count > 0 ? await finish() : await store.locked(db, finish)
      return { kinds: reports, ...passedOver }
    } finally {
      await incoming.discard()
    }
  })
}

async function* watch(
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

/** Reads every line, stages its row, and collects what is wrong. */
async function readArchive(incoming: ImportStaging, chunks: AsyncIterable<Buffer>, errors: Errors) {
  const unfinished: { line: number; kind: string; id: number }[] = []
  let unfinishedCount = 0
  const counts = new NoteCounts()
  const now = Date.now()

  for await (const lines of readLines(chunks)) {
    for (const line of lines) {
      try {
        stage(line, incoming, counts, now)
      } catch (error) {
        if (error instanceof UnfinishedError) {
          unfinishedCount += 1
          if (unfinished.length < MAX_LISTED) unfinished.push({ line: line.number, kind: error.kind, id: error.id })
        } else if (error instanceof InvalidError) errors.add(line.number, error.message)
        else throw error
      }
    }
    await incoming.flushFull()
  }
  await incoming.flush()
  return { unfinished, unfinishedCount, ...counts.list() }
}

/** Throws Invalid or Unfinished. */
function stage(line: Line, incoming: ImportStaging, counts: NoteCounts, now: number) {
  const record = recordOf(parseLine(line))
  const { kind, data } = record
  const notes = new Notes(now)
  try {
    incoming.add(kind, line.number, readRow(record, notes))
    counts.add(kind.name, notes)
  } catch (error) {
    if (error instanceof UnfinishedError) {
      incoming.passOver(kind)
      counts.add(kind.name, notes)
    }
    // The records of an account are not wrong because its own line is.
    if (kind.name === 'account' && Number.isSafeInteger(data['id']))
      incoming.add(kind, line.number, { id: Number(data['id']) })
    throw error
  }
}
