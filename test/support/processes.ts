import { existsSync, readdirSync, readFileSync } from 'node:fs'

/** The processes of the machine, as the kernel of Linux lists them. */

export const needsProc = { skip: !existsSync('/proc/self/task') && 'missing: /proc' }

/** The processes that another one has started and that are still listed; none if it is gone. */
export function childrenOf(pid: number): number[] {
  try {
    const texts = readdirSync(`/proc/${pid}/task`).map(task => readOf(`/proc/${pid}/task/${task}/children`))
    return texts.flatMap(text => text.split(' ').filter(Boolean).map(Number))
  } catch {
    return []
  }
}

/** Whether it still runs: one that has ended is listed until its parent asks for it. */
export function isAlive(pid: number): boolean {
  return /^State:\s+[^ZX]/m.test(readOf(`/proc/${pid}/status`))
}

/** What was started with which arguments, of those that still run. */
export function commandLines(pids: readonly number[]): string[] {
  return pids.filter(isAlive).map(pid => readOf(`/proc/${pid}/cmdline`).replaceAll('\0', ' '))
}

/** What the kernel says there; empty if the process is gone. */
export function readOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
