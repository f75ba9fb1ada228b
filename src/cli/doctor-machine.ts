import { readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'

/** What `doctor` asks of the machine. */
export interface Machine {
  readonly now: () => number
  /** The file system of a path: its number, as `statfs` names it, and what is free. */
  readonly fileSystem: (path: string) => Promise<{ readonly type: number; readonly freeBytes: number }>
  /** How many files the process may have open; undefined if that is unknown. */
  readonly openFiles: () => number | undefined
  /** The memory of the process: its limit, or that of the machine. */
  readonly memoryBytes: () => number
}

export const machine: Machine = {
  now: Date.now,
  async fileSystem(path) {
    const { type, bavail, bsize } = await statfs(path)
    return { type, freeBytes: bavail * bsize }
  },
  openFiles() {
    try {
      const soft = /^Max open files +(\d+|unlimited)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1]
      return soft === 'unlimited' ? Infinity : Number(soft)
    } catch {
      return undefined
    }
  },
  memoryBytes() {
    const limit = process.constrainedMemory()
    // Without a limit, some kernels say 0 or more than there is.
    return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
  },
}
