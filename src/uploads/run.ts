import { appendFileSync, writeFileSync } from 'node:fs'
import { csvLine } from '../archive/formats/csv.ts'
import { FormatError, UnclearKindError } from '../archive/formats/errors.ts'
import { importLines, ImportError, type OnConflict } from '../archive/import.ts'
import { type Preview, type PreviewOptions, previewImport } from '../archive/preview.ts'
import type { SampleRow } from '../archive/sample-rows.ts'
import { makeQuota } from '../archive/quota.ts'
import { recordEvent } from '../accounts/events.ts'
import { isRefusal } from '../contract/refusal.ts'
import { readKnownTime } from '../stats/known-time.ts'
import { messageOf, type Store, StoreFullError } from '../store/index.ts'
import { UploadedFiles } from './files.ts'
import { UploadFolder } from './folder.ts'
import { NO_SPACE, setState, type UploadOrder } from './uploads.ts'

/** What is known about the files of an upload. Stored as JSON. */
export interface UploadReport extends Partial<ReturnType<UploadedFiles['facts']>> {
  readonly preview?: Omit<Preview, 'rejected' | 'samples'>
  /** The first records of each kind as they would be stored. */
  readonly samples?: readonly (Omit<SampleRow, 'line'> & { readonly place: string })[]
  /** What would be rejected, by reason; `places` are the first of them. */
  readonly rejected?: readonly { readonly reason: string; readonly count: number; readonly places: readonly string[] }[]
  readonly stored?: readonly { readonly kind: string; readonly added: number; readonly replaced: number }[]
  /** Why the upload cannot be stored, or what is asked for, as a sentence. */
  readonly problem?: string
}

/** Does the work of an order, in a process that may end at any time: what it found and what it stored becomes visible at once. */
export async function runUploadOrder(store: Store, order: UploadOrder, showLife: () => void): Promise<void> {
  const folder = new UploadFolder(order.quota.databaseUrl)
  const before = await answersBefore(store, order)
  const { kind = before.kind, columns = before.columns } = order.answers
  const answers = { ...order.answers, kind, columns }
  const { timeZone } = await readKnownTime(store, order.accountId, order.accountId, Date.now())
  const files = new UploadedFiles(folder.filesOf(order.id), { ...order, answers, timeZone, showLife })
  try {
    if (order.work === 'check') await check(store, order, folder, files, showLife)
    else await storeFiles(store, order, files, showLife)
  } catch (error) {
    const problem = problemOf(error, files)
    if (problem === undefined) throw error
    const report: UploadReport = { problem: files.named(problem), needsSecret: files.needsSecret, kind, columns }
    const asked = askedFor(error)
    if (order.work === 'store' && asked !== undefined) {
      // The sender can store what was shown after answering with another secret.
      await setState(store.db, order, 'storing', { state: 'ready', failure: asked })
      return
    }
    await setState(store.db, order, order.work === 'check' ? 'checking' : 'storing', {
      state: asked === undefined ? 'failed' : 'asking',
      failure: asked ?? 'invalid',
      report: JSON.stringify(report),
    })
  }
}

/** Why the files cannot be read or stored; undefined for an error of this program or of the machine. */
function problemOf(error: unknown, files: UploadedFiles): string | undefined {
  if (error instanceof ImportError) {
    const [first] = error.errors
    return first === undefined ? error.message : `line ${files.placeOf(first.line)}: ${first.reason}`
  }
  if (isRefusal(error, 'no-identity')) return 'the file is encrypted'
  // The server of a database names files of its own.
  if (error instanceof StoreFullError) return NO_SPACE
  const isProblem =
    error instanceof FormatError || isRefusal(error, 'full') || isRefusal(error, 'no-backup', 'wrong-identity')
  return isProblem ? messageOf(error) : undefined
}

/** What the sender can answer. */
function askedFor(error: unknown): 'kind' | 'encrypted' | undefined {
  if (error instanceof UnclearKindError) return 'kind'
  return isRefusal(error, 'no-identity', 'wrong-identity') ? 'encrypted' : undefined
}

async function answersBefore({ db }: Store, { id }: UploadOrder): Promise<Pick<UploadReport, 'kind' | 'columns'>> {
  const row = await db.selectFrom('upload').select('report').where('id', '=', id).executeTakeFirst()
  // Only this file writes it.
  return JSON.parse(row?.report ?? '{}') as UploadReport
}

/** A later copy of a record is the newer one. */
const ON_CONFLICT: OnConflict = 'replace'

async function check(
  store: Store,
  order: UploadOrder,
  folder: UploadFolder,
  files: UploadedFiles,
  onDecided: () => void,
) {
  const list = folder.rejectedFile(order.id)
  writeFileSync(list, csvLine(['line', 'kind', 'id', 'reason']), { mode: 0o600 })
  const onRejected: PreviewOptions['onRejected'] = ({ line, kind, recordId, reason }) =>
    appendFileSync(list, csvLine([files.placeOf(line), kind, recordId, reason]))
  await files.open()
  const { isArchive } = files
  const options = { onlyAccount: order.accountId, onConflict: ON_CONFLICT, isArchive, onDecided, onRejected }
  const { rejected, samples, ...preview } = await previewImport(store, context => files.lines(context), options)
  const report: UploadReport = {
    preview,
    samples: samples.map(({ line, ...sample }) => ({ ...sample, place: files.placeOf(line) })),
    rejected: rejected.map(({ lines, ...reason }) => ({ ...reason, places: lines.map(line => files.placeOf(line)) })),
    ...files.facts(),
  }
  await setState(store.db, order, 'checking', { state: 'ready', report: JSON.stringify(report) })
}

async function storeFiles(store: Store, order: UploadOrder, files: UploadedFiles, onDecided: () => void) {
  const { accountId, actor } = order
  const quota = makeQuota(store, order.quota, accountId)
  // Counts what the account has before others wait for this one.
  await quota.prepare()
  await quota.add(store.db, 1, () => 0)
  await files.open()
  const upload = await store.db.selectFrom('upload').select('name').where('id', '=', order.id).executeTakeFirst()
  await importLines(store, context => files.lines(context), {
    confirm: files.found.confirm,
    file: upload?.name ?? '',
    onlyAccount: accountId,
    onConflict: ON_CONFLICT,
    onError: 'set-aside',
    source: `upload of account ${accountId}`,
    isArchive: files.isArchive,
    onDecided,
    // With the records, so that neither is there without the other.
    inTransaction: async (db, { kinds, setAside }) => {
      // What replaces others may be larger: if it seems too much, everything is counted again.
      const written = kinds.reduce((sum, { added, replaced }) => sum + added + replaced, setAside?.newCount ?? 0)
      await quota.add(db, written, () => files.bytes)
      const stored = kinds.map(({ kind, added, replaced }) => ({ kind, added, replaced }))
      const report: UploadReport = { stored: stored.filter(({ added, replaced }) => added + replaced > 0) }
      const isOpen = await setState(db, order, 'storing', { state: 'stored', report: JSON.stringify(report) })
      if (!isOpen) throw new Error('the upload has ended meanwhile')
      if (actor !== undefined) await recordEvent(db, { accountId, type: 'file-stored', now: Date.now(), actor })
    },
  })
}
