import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

/** A command that runs in a process of its own, and dies before this one when memory is short. */
interface Child {
  /** Its exit code; null if it was killed. */
  readonly ended: Promise<number | null>
  /** Asks it to end, and kills it if that takes too long. */
  stop(): void
}

/**
 * Starts a command that reads its order from its standard input, which stays open for as long as this process lives. Whoever lists
 * processes sees arguments and the environment, so no setting is in them. What the command says goes where this process says it.
 */
export function startChild(args: readonly string[], order: object): Child {
  const child = spawn(process.execPath, ['--disable-sigusr1', ...HEAP, PROGRAM, ...args], {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LOCKSTEP_'))),
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  dieFirst(child)
  // A child that ends early does not read its input.
  child.stdin.on('error', () => {}).write(`${JSON.stringify(order)}\n`)
  let kill: NodeJS.Timeout | undefined
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', resolve)
  })
  return {
    ended: ended.finally(() => clearTimeout(kill)),
    stop() {
      child.kill()
      kill ??= setTimeout(() => child.kill('SIGKILL'), MAX_STOP_MS).unref()
    },
  }
}

/** What a child gets is bounded, and so is what becomes of it. */
const HEAP = ['--max-old-space-size=256', '--max-semi-space-size=4', '--heap-growing-percent=30']
const PROGRAM = join(import.meta.dirname, '..', 'cli.ts')
const MAX_STOP_MS = 6000

/** Linux kills the process with the highest score first. */
function dieFirst({ pid }: ChildProcess) {
  if (process.platform !== 'linux' || pid === undefined) return
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '500')
  } catch {
    // It has ended, or this system does not allow it.
  }
}

/** The order that this process was started with. Calls `onOrphaned` when the process that gave it is gone. */
export function readOrder<Order extends object>(onOrphaned: () => void): Promise<Order> {
  const lines = createInterface({ input: process.stdin }).once('close', onOrphaned)
  // Only `startChild` gives orders.
  return new Promise(resolve => lines.once('line', line => resolve(JSON.parse(line) as Order)))
}
