import { globSync, readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'

export type Machine = typeof thisMachine

/** What `doctor` asks of the machine. */
export const thisMachine = {
  now: Date.now,
  /** The file system of a path: its number, as `statfs` names it, and what is free. */
  async fileSystem(path: string) {
    const { type, bavail, bsize } = await statfs(path)
    return { type, freeBytes: bavail * bsize }
  },
  /** How many files this process may have open. */
  openFiles() {
    // Only Linux says it in a file.
    const limits = process.platform === 'linux' ? readFileSync('/proc/self/limits', 'utf8') : ''
    return Number(/^Max open files +(\d+)/m.exec(limits)?.[1] ?? Infinity)
  },
  /** The limit of the memory of this process, or the memory of the machine. Without a limit, some kernels say 0 or more than there is. */
  memoryBytes: () => Math.min(process.constrainedMemory() || Infinity, totalmem()),
  /** The files from which units read settings, and with them secrets. */
  settingsFiles: () => globSync(['/etc/lockstep*.env', '/etc/lockstep/*.env']),
}
