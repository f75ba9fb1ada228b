import { closeSync, createReadStream, openSync, writeFileSync } from 'node:fs'
import { type CsvCells, csvLine } from '../archive/csv.ts'
import { importLines, ImportError } from '../archive/import.ts'
import { type Lines, readLines } from '../archive/lines.ts'
import { type Preview, type PreviewOptions, previewImport } from '../archive/preview.ts'
import { Quota, QuotaError } from '../archive/quota.ts'
import { recordEvent } from '../accounts/events.ts'
import type { Store } from '../store/index.ts'
import { UploadFolder } from './folder.ts'
import { setState, type UploadOrder } from './uploads.ts'

/** What is known about the files of an upload. Stored as JSON. */
export interface UploadReport {
  readonly preview?: Preview
  /** What was stored, by kind. */
  readonly stored?: readonly { readonly kind: string; readonly added: number; readonly replaced: number }[]
  /** Why the upload cannot be stored, as a sentence. */
  readonly problem?: string
  /** Whether storing needs the secret again. */
  readonly needsSecret?: boolean
  /** Whether times without a zone were read as times of the account. */
  readonly usesTimeZone?: boolean
  /** Whether the files are of a kind that has no last line. */
  readonly hasNoEnd?: boolean
}

/** Does the work of an order, in a process that may end at any time: what it found and what it stored becomes visible at once. */
export async function runUploadOrder(store: Store, order: UploadOrder): Promise<void> {
  const folder = new UploadFolder(order.quota.databaseUrl)
  const files = new UploadedFiles(folder.filesOf(order.id))
  try {
    if (order.work === 'check') await check(store, order, folder, files)
    else await storeFiles(store, order, files)
  } catch (error) {
    if (!(error instanceof ImportError || error instanceof QuotaError)) throw error
    const [first] = error instanceof ImportError ? error.errors : []
    const problem = first === undefined ? error.message : `Line ${first.line}: ${first.reason}`
    await setState(store.db, order, order.work === 'check' ? 'checking' : 'storing', {
      state: 'failed',
      failure: 'invalid',
      report: JSON.stringify({ problem } satisfies UploadReport),
    })
  }
}

async function check(store: Store, order: UploadOrder, folder: UploadFolder, files: UploadedFiles) {
  using list = new RejectedList(folder.rejectedFile(order.id))
  const onRejected: PreviewOptions['onRejected'] = ({ line, kind, recordId, reason }) =>
    list.add([line, kind, recordId, reason])
  const preview = await previewImport(store, files.lines(), { onlyAccount: order.accountId, onRejected })
  list.flush()
  const report: UploadReport = { preview }
  await setState(store.db, order, 'checking', { state: 'ready', report: JSON.stringify(report) })
}

async function storeFiles(store: Store, order: UploadOrder, files: UploadedFiles) {
  const { accountId, actor } = order
  const quota = new Quota(store, order.quota, accountId)
  // Counts what the account has before others wait for this one.
  await quota.during(() => quota.add(store.db, 1, () => 0))
  await importLines(store, files.lines(), {
    onlyAccount: accountId,
    onConflict: 'replace',
    onError: 'set-aside',
    source: `upload of account ${accountId}`,
    // With the records, so that neither is there without the other.
    inTransaction: async (db, { kinds, setAside }) => {
      const added = kinds.reduce((sum, { added }) => sum + added, setAside?.newCount ?? 0)
      await quota.add(db, added, () => files.bytes)
      const stored = kinds.map(({ kind, added, replaced }) => ({ kind, added, replaced }))
      const report: UploadReport = { stored: stored.filter(({ added, replaced }) => added + replaced > 0) }
      const isOpen = await setState(db, order, 'storing', { state: 'stored', report: JSON.stringify(report) })
      if (!isOpen) throw new Error('the upload has ended meanwhile')
      if (actor !== undefined) await recordEvent(db, { accountId, kind: 'file-stored', now: Date.now(), actor })
    },
  })
}

/** The lines of all files of an upload, one after the other. */
class UploadedFiles {
  readonly #paths: readonly string[]
  /** How many bytes were read. */
  bytes = 0

  constructor(paths: readonly string[]) {
    this.#paths = paths
  }

  async *lines(): Lines {
    for (const path of this.#paths) yield* readLines(this.#count(createReadStream(path) as AsyncIterable<Buffer>))
  }

  async *#count(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.bytes += chunk.length
      yield chunk
    }
  }
}

/** A file with the lines that would be rejected, at most `MAX_REJECTED` of them. */
class RejectedList implements Disposable {
  readonly #file: number
  #text = csvLine(['line', 'kind', 'id', 'reason'])
  #count = 0

  constructor(path: string) {
    this.#file = openSync(path, 'w', 0o600)
  }

  add(cells: CsvCells) {
    this.#count += 1
    if (this.#count > MAX_REJECTED) return
    this.#text += csvLine(cells)
    if (this.#text.length > TEXT_AT_ONCE) this.flush()
  }

  flush() {
    writeFileSync(this.#file, this.#text)
    this.#text = ''
  }

  [Symbol.dispose]() {
    closeSync(this.#file)
  }
}

const MAX_REJECTED = 1_000_000
const TEXT_AT_ONCE = 64 * 1024
