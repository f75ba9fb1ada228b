import { globSync, readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'

/** What `doctor` asks of the machine. */
export interface Machine {
  readonly now: () => number
  /** The file system of a path: its number, as `statfs` names it, and what is free. */
  readonly fileSystem: (path: string) => Promise<{ readonly type: number; readonly freeBytes: number }>
  /** How many files this process may have open. */
  readonly openFiles: () => number
  /** The limit of the memory of this process, or the memory of the machine. */
  readonly memoryBytes: () => number
  /** The files from which units read settings, and with them secrets. */
  readonly settingsFiles: () => readonly string[]
}

export const thisMachine: Machine = {
  now: Date.now,
  async fileSystem(path) {
    const { type, bavail, bsize } = await statfs(path)
    return { type, freeBytes: bavail * bsize }
  },
  openFiles() {
    // Only Linux says it in a file.
    const limits = process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : ''
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
  },
  // Without a limit, some kernels say 0 or more than there is.
  memoryBytes: () => Math.min(process.constrainedMemory() || Infinity, totalmem()),
  settingsFiles: () => globSync(['/etc/lockstep*.env', '/etc/lockstep/*.env']),
}
