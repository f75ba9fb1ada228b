import { accessSync, constants, existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The programs of the machine that tests run. */

/** Debian has some where only root looks for them. */
const FOLDERS = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin']

/** Where a program is; undefined if the machine lacks it. */
export function programPath(name: string): string | undefined {
  return FOLDERS.map(folder => join(folder, name)).find(path => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}

/** Options of a test that runs these: without one of them it is skipped by name, which CI counts as a failure. */
export function needs(...names: readonly string[]): { readonly skip: string | false } {
  const missing = names.filter(name => programPath(name) === undefined)
  return { skip: missing.length > 0 && `missing: ${missing.join(', ')}` }
}

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
