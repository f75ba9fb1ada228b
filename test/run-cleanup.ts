import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

/**
 * Ends what a run of the tests has left behind: the processes of its test files, and the database servers in its folder, which
 * it removes. A process of its own that waits for the end of the run, because a run that is killed can do nothing any more.
 */

/** What the run sends: the process of test files that has started or ended. */
export interface Notice {
  readonly pid: number
  readonly isRunning: boolean
}

const [folder = ''] = process.argv.slice(2)
const running = new Set<number>()

// It sends nothing else.
process.on('message', (notice: Notice) => {
  if (notice.isRunning) running.add(notice.pid)
  else running.delete(notice.pid)
})
process.once('disconnect', () => void cleanUp())

async function cleanUp() {
  // Each leads a group, which the processes that it has started belong to.
  for (const pid of running) send(-pid, 'SIGKILL')
  for (const pid of databaseServers()) {
    // Immediate shutdown.
    send(pid, 'SIGQUIT')
    for (let turn = 0; turn < 500 && send(pid, 0); turn += 1) await sleep(20)
  }
  // What still writes there, such as a browser that ends with its pipe, is gone soon.
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 })
}

/** The process identifiers of the PostgreSQL servers that run on a folder of the run. */
function databaseServers(): number[] {
  return readdirSync(folder).flatMap(name => {
    try {
      return [Number.parseInt(readFileSync(join(folder, name, 'data/postmaster.pid'), 'utf8'))]
    } catch {
      return []
    }
  })
}

/** Whether there is such a process. */
function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}
