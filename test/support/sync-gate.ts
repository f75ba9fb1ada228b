import { existsSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileLibrary } from './preload.ts'
import { until } from './waiting.ts'

/** While it is closed, every sync of the disk by a process blocks, as on a disk that never responds. */
export interface SyncGate {
  /** The settings of the process. */
  readonly env: Readonly<Record<string, string>>
  /** Closing it again lets the syncs continue that wait, and stops the next one. */
  close(): void
  open(): void
  /** Waits until a sync has been stopped since it was closed, or the work has ended. Returns whether one was stopped. */
  reached(work?: Promise<unknown>): Promise<boolean>
}

/** Needs a C compiler; undefined where there is none. */
export function makeSyncGate(folder: string): SyncGate | undefined {
  const library = compileLibrary('sync-gate', folder)
  if (library === undefined) return undefined
  const gate = join(folder, 'gate')
  const mark = `${gate}.reached`
  let closings = 0
  return {
    env: { LD_PRELOAD: library, SYNC_GATE: gate },
    close() {
      rmSync(mark, { force: true })
      closings += 1
      // At once, because a sync may look at any moment.
      writeFileSync(`${gate}.next`, String(closings))
      renameSync(`${gate}.next`, gate)
    },
    open: () => rmSync(gate, { force: true }),
    async reached(work) {
      let hasEnded = false
      void work?.finally(() => (hasEnded = true))
      await until(async () => hasEnded || existsSync(mark))
      return !hasEnded
    },
  }
}
