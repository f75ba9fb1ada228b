import type { Command } from 'commander'
import type { RunOrder, UploadOrder } from '../uploads/uploads.ts'
import { readOrder, startChild } from './child.ts'
import { COMMAND_BUSY_TIMEOUT_MS, openStore } from './terminal.ts'

/** Checks or stores an upload in a child process: its files may be hostile, and take long. */
export const runOrder: RunOrder = async (order, signal) => {
  if (signal.aborted) return false
  const child = startChild([COMMAND], order)
  signal.addEventListener('abort', child.stop)
  const code = await child.ended.finally(() => signal.removeEventListener('abort', child.stop))
  if (code !== 0 && !signal.aborted) {
    throw new Error(`the process that was to ${order.work} an upload ended (${code ?? 'killed'})`)
  }
  return code === 0
}

const COMMAND = 'upload'

/** The command of that process. It is not for people. */
export function addUploadCommand(program: Command) {
  program.command(COMMAND, { hidden: true }).action(async () => {
    const order = await readOrder<UploadOrder>(() => process.exit(1))
    const store = await openStore(order.storeUrl, {
      busyTimeoutMs: COMMAND_BUSY_TIMEOUT_MS,
      schema: 'current',
      bulk: order.work === 'store',
    })
    try {
      const { runUploadOrder } = await import('../uploads/run.ts')
      await runUploadOrder(store, order)
    } finally {
      await store.close()
      process.stdin.destroy()
    }
  })
}
