import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileLibrary } from './preload.ts'
import { until } from './waiting.ts'

/** While it is closed, every sync of the disk by a process blocks, as on a disk that never responds. */
export interface SyncGate {
  /** The settings of the process. */
  readonly env: Readonly<Record<string, string>>
  close(): void
  open(): void
  /** Waits until a sync has been stopped since it was closed. */
  reached(): Promise<void>
}

/** Needs a C compiler; undefined where there is none. */
export function makeSyncGate(folder: string): SyncGate | undefined {
  const library = compileLibrary('sync-gate', folder)
  if (library === undefined) return undefined
  const gate = join(folder, 'gate')
  const mark = `${gate}.reached`
  return {
    env: { LD_PRELOAD: library, SYNC_GATE: gate },
    close() {
      rmSync(mark, { force: true })
      writeFileSync(gate, '')
    },
    open: () => rmSync(gate, { force: true }),
    reached: () => until(async () => existsSync(mark)),
  }
}
