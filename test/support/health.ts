import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { setTimeout as sleep } from 'node:timers/promises'
import { childrenOf } from './processes.ts'
import { ask } from './serving.ts'

/** Asks the health paths of a service from a process of its own. This file is also the program of that process. */

export interface HealthCheck {
  readonly path: string
  readonly status: number | string
  /** How long it took, without the time in which the service was ready to run and the machine had no core for it, in milliseconds. */
  readonly took: number
  readonly withoutCore: number
}

/** Asks on new connections, without a break, until it is stopped. */
export function watchHealth(url: string, pid: number | undefined) {
  const child = fork(fileURLToPath(import.meta.url), [url, String(pid)], {
    execArgv: [],
    // As in memory-worker.ts.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  })
  const checks: HealthCheck[] = []
  // It sends nothing else.
  child.on('message', check => checks.push(check as HealthCheck))
  return {
    checks: checks as readonly HealthCheck[],
    async stop() {
      child.disconnect()
      await once(child, 'exit')
      return checks
    },
    [Symbol.dispose]: () => void child.kill(),
  }
}

/** What is wrong with some checks, and the longest of them, to print. */
export function judgeHealth(checks: readonly HealthCheck[], maxMs: number) {
  const late = checks.filter(({ status, took }) => status !== 200 || took > maxMs)
  const longest = checks.toSorted((a, b) => b.took - a.took)[0]
  const figures = `${checks.length} checks of health, at most ${longest?.took.toFixed(0)} ms and ${longest?.withoutCore.toFixed(0)} ms without a core`
  return { late, figures }
}

/** How long the processes of a service have waited for a core in all, in milliseconds. 0 where the system does not say. */
export function waitedForCore(pid: number): number {
  try {
    const own = Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
    return childrenOf(pid).reduce((sum, child) => sum + waitedForCore(child), own)
  } catch {
    return 0
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const [url = '', pid = ''] = process.argv.slice(2)
  const watch = async (path: string) => {
    while (process.connected) {
      const before = waitedForCore(Number(pid))
      const { status, took } = await ask(url + path)
      const withoutCore = Math.min(took, waitedForCore(Number(pid)) - before)
      // The test may have ended meanwhile.
      process.send?.({ path, status, took: took - withoutCore, withoutCore }, undefined, {}, () => {})
      await sleep(20)
    }
  }
  await Promise.all(['/healthz', '/readyz'].map(watch))
}
