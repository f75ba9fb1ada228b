import type { Command } from 'commander'
import type { RunOrder, UploadOrder } from '../uploads/uploads.ts'
import { readInput, startChild } from './child.ts'
import { COMMAND_BUSY_TIMEOUT_MS, openStore } from './terminal.ts'

/** Checks or stores an upload in a child process: its files may be hostile, and take long. */
export const runOrder: RunOrder = async (order, signal) => {
  if (signal.aborted) return false
  // Whoever lists processes sees arguments and the environment, so the order is sent.
  const child = startChild([COMMAND], { heapMb: HEAP_MB, input: `${JSON.stringify(order)}\n` })
  const stop = () => child.process.kill()
  signal.addEventListener('abort', stop)
  const { code, said } = await child.ended.finally(() => signal.removeEventListener('abort', stop))
  if (code !== 0 && !signal.aborted) {
    throw new Error(`the process that was to ${order.work} an upload ended (${code ?? 'killed'}): ${said}`)
  }
  return code === 0
}

const COMMAND = 'upload'
const HEAP_MB = 256

/** The command of that process. It is not for people. */
export function addUploadCommand(program: Command) {
  program.command(COMMAND, { hidden: true }).action(async () => {
    // Only `runOrder` starts this command.
    const order = JSON.parse(await readInput()) as UploadOrder
    const store = await openStore(order.quota.databaseUrl, {
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
