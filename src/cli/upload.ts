import type { Command } from 'commander'
import { allowRecords, deleteRecords } from '../accounts/deleted-records.ts'
import { undoFile } from '../accounts/imported-files.ts'
import { isRefusal, Refusal } from '../contract/refusal.ts'
import type { Store } from '../store/index.ts'
import type { ActOrder, RunOrder, UploadOrder } from '../uploads/uploads.ts'
import { runAsChild, SilentChildError, startChild } from './child.ts'
import { COMMAND_BUSY_TIMEOUT_MS, openStore } from './opening.ts'
import { say } from './print.ts'

/** Checks or stores an upload in a child process: its files may be hostile, and take long. */
export const runOrder: RunOrder = async (order, signal) => {
  if (signal.aborted) return 'ended'
  const child = startChild([COMMAND], order, MAX_SILENCE_MS[order.work])
  signal.addEventListener('abort', child.stop)
  try {
    const code = await child.ended
    if (code === 0) return 'done'
    if (code === REFUSED) throw new Refusal('refused', 'what it is about has changed meanwhile')
    if (signal.aborted) return 'ended'
    throw new Error(`the process that was to ${order.work} records ended (${code ?? 'killed'})`)
  } catch (error) {
    if (!(error instanceof SilentChildError) || signal.aborted) throw error
    say(`lockstep: the process that was to ${order.work} records: ${error.message}`)
    return 'silent'
  } finally {
    signal.removeEventListener('abort', child.stop)
  }
}

const COMMAND = 'upload'
/** Storing shows no progress while it waits for other writers, for up to a minute. */
const MAX_SILENCE_MS = { check: 60_000, store: 120_000, change: 120_000 } as const
/** The exit code for an act that is refused. */
const REFUSED = 3

/** The command of that process. It is not for people. */
export function addUploadCommand(program: Command) {
  program.command(COMMAND, { hidden: true }).action(() => runAsChild(() => process.exit(1), runUpload))
}

async function runUpload(order: UploadOrder | ActOrder, showLife: () => void) {
  await using store = await openStore(order.storeUrl, {
    busyTimeoutMs: COMMAND_BUSY_TIMEOUT_MS,
    schema: 'current',
    bulk: order.work === 'store',
  })
  if (order.work === 'change') return await runAct(store, order)
  const { runUploadOrder } = await import('../uploads/run.ts')
  await runUploadOrder(store, order, showLife)
}

async function runAct(store: Store, { event, input, actor, now }: ActOrder) {
  const act = [deleteRecords, allowRecords, undoFile].find(one => one.event === event)
  // Its schema checks the input.
  const perform = act as ((store: Store, input: object, now: number, by: typeof actor) => Promise<unknown>) | undefined
  if (perform === undefined) throw new Error(`no act leaves the event ${event}`)
  await perform(store, input, now, actor).catch((error: unknown) => {
    if (!isRefusal(error, 'refused')) throw error
    process.exitCode = REFUSED
  })
}
