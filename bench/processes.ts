import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, openSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { pinned } from './load.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

export interface Running {
  readonly url: string
  readonly process: ChildProcess
}

/** Starts programs. When it is disposed of, it ends those that still run, and removes its folder. */
export class Programs {
  /** For temporary files; it also gets the log of the programs. */
  readonly folder = mkdtempSync(join(tmpdir(), 'lockstep-bench-'))
  readonly #running = new Set<ChildProcess>()
  #nextPort = 18_000

  /** The service of a copy of the program, on the first core unless it has several processes; with limits that are never reached. */
  async service(
    database: string,
    more: readonly string[] = [],
    settings: Readonly<Record<string, string>> = {},
    copy = root,
  ): Promise<Running> {
    const port = (this.#nextPort += 1)
    const args = ['serve', '--database', database, '--port', String(port), ...more]
    const program = join(copy, 'lockstep')
    const [command, all] = args.includes('--workers') ? [program, args] : pinned(0, program, args)
    return { url: `http://127.0.0.1:${port}`, process: await this.#start(command, all, settings) }
  }

  /** A server in a file of this folder, on the first core; it gets its port as last argument. */
  async server(file: string, ...args: readonly string[]): Promise<Running> {
    const port = (this.#nextPort += 1)
    const [command, all] = pinned(0, process.execPath, [join(root, 'bench', file), ...args, String(port)])
    return { url: `http://127.0.0.1:${port}`, process: await this.#start(command, all) }
  }

  /** A program in a file of this folder, not on the core of the service. */
  worker(file: string, ...args: readonly string[]): Promise<ChildProcess> {
    return this.#start(...pinned(1, process.execPath, [join(root, 'bench', file), ...args]))
  }

  async stop(child: ChildProcess) {
    const gone = once(child, 'exit')
    child.kill('SIGTERM')
    await gone
    this.#running.delete(child)
  }

  [Symbol.dispose]() {
    for (const child of this.#running) child.kill('SIGKILL')
    rmSync(this.folder, { recursive: true, force: true })
  }

  /** Resolves when the program prints that it is ready. */
  async #start(command: string, args: readonly string[], settings: Readonly<Record<string, string>> = {}) {
    const child = spawn(command, args, {
      // The log goes to a file, as in production.
      stdio: ['ignore', 'pipe', openSync(join(this.folder, 'log'), 'w')],
      env: {
        ...process.env,
        LOCKSTEP_RATE_LIMIT: '999999999',
        LOCKSTEP_CONCURRENCY_LIMIT: '999999999',
        LOCKSTEP_FAILURE_LIMIT: '999999999',
        ...settings,
      },
    })
    this.#running.add(child)
    const ended = once(child, 'exit').then(([code]) => {
      throw new Error(`${args.join(' ')} ended with ${String(code)}: see its log`)
    })
    await Promise.race([once(child.stdout ?? child, 'data'), ended])
    ended.catch(() => {})
    return child
  }
}

/** Seconds of CPU time of a process and its children, those that have ended included. */
export function cpuOf(pid = 0): number {
  return family(pid).reduce((sum, member) => {
    const fields = readFileSync(`/proc/${member}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
    return fields.slice(11, 15).reduce((all, ticks) => all + Number(ticks) / 100, sum)
  }, 0)
}

/** The peak memory of a process or of one of its children, in MB. */
export function memoryOf(pid = 0): number {
  const peaks = family(pid).map(member => /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${member}/status`, 'utf8'))?.[1])
  return Math.max(...peaks.map(Number)) / 1024
}

function family(pid: number): number[] {
  const children = readdirSync(`/proc/${pid}/task`).flatMap(task =>
    readFileSync(`/proc/${pid}/task/${task}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  )
  return [pid, ...children.flatMap(family)]
}

export function median(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  return sorted.length % 2 === 1 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2
}
