import type { Store } from '../store/index.ts'
import { InvalidError, isObject, type JsonObject } from './canonical.ts'
import { writeLine } from './export.ts'
import { ImportStaging } from './staging.ts'
import { type Kind, kinds, type Row, UnfinishedError } from './kinds.ts'
import { isTooLong, type Line, readLines } from './lines.ts'
import { Errors, type ImportReport, MAX_LISTED, type OnConflict } from './report.ts'

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
    const incoming = new ImportStaging(db, store.engine)
    await incoming.prepare()
    try {
      const errors = new Errors()
      const passedOver = await readArchive(incoming, watch(chunks, progress, signal), errors)
      progress?.(undefined)
      await incoming.compareLines(errors)
      signal?.throwIfAborted()
      const finish = async () => {
        await incoming.compareWithStore(onConflict, errors)
        errors.throwIfAny()
        return incoming.moveIntoStore(onConflict)
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

/** Reads every line, sets its row aside, and collects what is wrong. */
async function readArchive(incoming: ImportStaging, chunks: AsyncIterable<Buffer>, errors: Errors) {
  const unfinished: { line: number; id: number }[] = []
  let unfinishedCount = 0
  const dropped = new DroppedFields()

  for await (const lines of readLines(chunks)) {
    for (const line of lines) {
      try {
        stage(line, incoming, dropped)
      } catch (error) {
        if (error instanceof UnfinishedError) {
          unfinishedCount += 1
          if (unfinished.length < MAX_LISTED) unfinished.push({ line: line.number, id: error.id })
        } else if (error instanceof InvalidError) errors.add(line.number, error.message)
        else throw error
      }
    }
    await incoming.flushFull()
  }
  await incoming.flush()
  return { unfinished, unfinishedCount, dropped: dropped.list() }
}

/** Throws Invalid or Unfinished. */
function stage({ number, text, fault }: Line, incoming: ImportStaging, dropped: DroppedFields) {
  if (text === undefined) throw new InvalidError(fault ?? 'cannot be read')
  const record = parse(text)
  if (!isObject(record)) throw new InvalidError('must be an object with kind and data')
  const kind = typeof record['kind'] === 'string' ? kindsByName.get(record['kind']) : undefined
  if (kind === undefined) throw new InvalidError(`must be one of ${[...kindsByName.keys()].join(', ')}`, 'kind')
  const { data } = record
  if (!isObject(data)) throw new InvalidError('must be an object', 'data')
  try {
    incoming.add(kind, number, readRow(kind, data, record, dropped))
  } catch (error) {
    if (error instanceof UnfinishedError) incoming.passOver(kind)
    // The records of an account are not wrong because its own line is.
    if (kind.name === 'account' && Number.isSafeInteger(data['id']))
      incoming.add(kind, number, { id: Number(data['id']) })
    throw error
  }
}

function readRow(kind: Kind, data: JsonObject, record: JsonObject, dropped: DroppedFields): Row {
  const keys = ['kind', 'data', ...kind.beside]
  if (!Object.keys(record).every(key => keys.includes(key))) {
    throw new InvalidError(`must have no other keys than ${keys.join(', ')}`)
  }
  const row = kind.read(data, record, field => dropped.count(kind.name, field))
  // Numbers can be longer than they were, and what is exported must be accepted again.
  if (isTooLong(writeLine(kind, row)))
    throw new InvalidError('is longer than 1 MiB when its numbers are written in full')
  return row
}

const kindsByName = new Map(kinds.map(kind => [kind.name, kind]))

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser's own message quotes the line.
    throw new InvalidError('is not valid JSON')
  }
}

class DroppedFields {
  readonly #entries = new Map<string, { kind: string; field: string; count: number }>()

  count(kind: string, field: string) {
    // Names come from the file: only plain ones are shown, and only so many.
    const shown = /^[A-Za-z_][A-Za-z0-9_]{0,63}$/.test(field) && this.#entries.size < MAX_LISTED ? field : '(other)'
    const key = `${kind}.${shown}`
    const entry = this.#entries.get(key)
    if (entry === undefined) this.#entries.set(key, { kind, field: shown, count: 1 })
    else entry.count += 1
  }

  list() {
    return [...this.#entries.values()]
  }
}
