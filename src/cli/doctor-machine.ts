import { existsSync, globSync, readFileSync } from 'node:fs'
import { statfs } from 'node:fs/promises'
import { totalmem } from 'node:os'

/** What `doctor` asks of the machine. */
export interface Machine {
  readonly now: () => number
  /** The file system of a path: its number, as `statfs` names it, and what is free. */
  readonly fileSystem: (path: string) => Promise<{ readonly type: number; readonly freeBytes: number }>
  readonly limits: () => Limits
  /** Whether this is a container of Docker with a network of its own: a proxy on the host then has the address of the gateway. */
  readonly isBridged: () => boolean
  /** The files from which units read settings, and with them secrets. */
  readonly settingsFiles: () => readonly string[]
}

interface Limits {
  /** How many files a process may have open; undefined if that is unknown. */
  readonly openFiles: number | undefined
  /** The limit of memory, or the memory of the machine. */
  readonly memoryBytes: number
  /** Whether they are those of the installed service; otherwise those of this process. */
  readonly isOfService: boolean
}

/** The unit, as docs/operating.md and the package install it. */
const UNIT = '/sys/fs/cgroup/system.slice/lockstep.service'

/** `unit` is the control group of the service. */
export function makeMachine(unit = UNIT): Machine {
  return {
    now: Date.now,
    async fileSystem(path) {
      const { type, bavail, bsize } = await statfs(path)
      return { type, freeBytes: bavail * bsize }
    },
    limits() {
      const process = readIfPresent(`${unit}/cgroup.procs`)?.split('\n')[0] ?? ''
      const limits = readIfPresent(`/proc/${process === '' ? 'self' : process}/limits`)
      const files = /^Max open files +(\d+|unlimited)/m.exec(limits ?? '')?.[1]
      return {
        openFiles: files === undefined ? undefined : Number(files.replace('unlimited', 'Infinity')),
        memoryBytes:
          process === '' ? ownMemory() : Math.min(Number(readIfPresent(`${unit}/memory.max`)) || Infinity, totalmem()),
        isOfService: process !== '',
      }
    },
    isBridged: () => existsSync('/.dockerenv') && !existsSync('/sys/class/net/docker0'),
    settingsFiles: () => globSync(['/etc/lockstep*.env', '/etc/lockstep/*.env']),
  }
}

function ownMemory(): number {
  const limit = process.constrainedMemory()
  // Without a limit, some kernels say 0 or more than there is.
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem()
}

function readIfPresent(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
