import type { Command } from 'commander'
import type { RunOrder, UploadOrder } from '../uploads/uploads.ts'
import { runAsChild, SilentChildError, startChild } from './child.ts'
import { COMMAND_BUSY_TIMEOUT_MS, openStore, say } from './terminal.ts'

/** Checks or stores an upload in a child process: its files may be hostile, and take long. */
export const runOrder: RunOrder = async (order, signal) => {
  if (signal.aborted) return 'ended'
  const child = startChild([COMMAND], order, MAX_SILENCE_MS[order.work])
  signal.addEventListener('abort', child.stop)
  try {
    const code = await child.ended
    if (code === 0) return 'done'
    if (signal.aborted) return 'ended'
    throw new Error(`the process that was to ${order.work} an upload ended (${code ?? 'killed'})`)
  } catch (error) {
    if (!(error instanceof SilentChildError) || signal.aborted) throw error
    say(`lockstep: the process that was to ${order.work} an upload: ${error.message}`)
    return 'silent'
  } finally {
    signal.removeEventListener('abort', child.stop)
  }
}

const COMMAND = 'upload'
/** Storing shows no progress while it waits for other writers, for up to a minute. */
const MAX_SILENCE_MS = { check: 60_000, store: 120_000 } as const

/** The command of that process. It is not for people. */
export function addUploadCommand(program: Command) {
  program.command(COMMAND, { hidden: true }).action(() => runAsChild(() => process.exit(1), runUpload))
}

async function runUpload(order: UploadOrder, showLife: () => void) {
  const store = await openStore(order.storeUrl, {
    busyTimeoutMs: COMMAND_BUSY_TIMEOUT_MS,
    schema: 'current',
    bulk: order.work === 'store',
  })
  try {
    const { runUploadOrder } = await import('../uploads/run.ts')
    await runUploadOrder(store, order, showLife)
  } finally {
    await store.close()
  }
}
