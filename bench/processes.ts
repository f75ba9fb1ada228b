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

  /** The service of a copy of the program, on the first core unless it has several processes; with limits that are never reached. */
  async service(
    database: string,
    more: readonly string[] = [],
    settings: Readonly<Record<string, string>> = {},
    copy = root,
  ): Promise<Running> {
    const args = ['serve', '--database', database, '--port', '0', ...more]
    const program = join(copy, 'lockstep')
    const [command, all] = args.includes('--workers') ? [program, args] : pinned(0, program, args)
    return this.#start(command, all, settings)
  }

  /** A server in a file of this folder, on the first core. */
  server(file: string, ...args: readonly string[]): Promise<Running> {
    return this.#start(...pinned(0, process.execPath, [join(root, 'bench', file), ...args]))
  }

  /** A program in a file of this folder, not on the core of the service. */
  async worker(file: string, ...args: readonly string[]): Promise<ChildProcess> {
    return (await this.#start(...pinned(1, process.execPath, [join(root, 'bench', file), ...args]))).process
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

  /** Resolves when the program prints that it is ready: a server ends its line with its address. */
  async #start(
    command: string,
    args: readonly string[],
    settings: Readonly<Record<string, string>> = {},
  ): Promise<Running> {
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
    const [ready] = (await Promise.race([once(child.stdout ?? child, 'data'), ended])) as [Buffer]
    ended.catch(() => {})
    return { url: /http:\S+/.exec(String(ready))?.[0] ?? '', process: child }
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
