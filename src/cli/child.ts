import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

/**
 * Starts a command in a process of its own, which dies before this one when memory is short. It reads its order from its standard input, which stays open for as long as this process lives. Whoever lists
 * processes sees arguments and the environment, so no setting is in them. What the command says goes where this process says it.
 * Each sign of life is a byte on its standard output; without one for `maxSilenceMs` it is ended, and `ended` rejects with
 * SilentChildError. Otherwise that is its exit code; null if it was killed. `stop` asks it to end, and kills it if that takes too long.
 */
export function startChild(args: readonly string[], order: object, maxSilenceMs: number) {
  const child = spawn(process.execPath, ['--disable-sigusr1', ...HEAP, PROGRAM, ...args], {
    env: Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('LOCKSTEP_'))),
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  dieFirst(child)
  // A child that ends early does not read its input.
  child.stdin.on('error', () => {}).write(`${JSON.stringify(order)}\n`)
  let kill: NodeJS.Timeout | undefined
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', code => (isSilent ? reject(new SilentChildError(maxSilenceMs)) : resolve(code)))
  })
  const stop = () => {
    child.kill()
    kill ??= setTimeout(() => child.kill('SIGKILL'), MAX_STOP_MS).unref()
  }
  // Looked at several times, because a machine that was asleep wakes up with the timer.
  let looks = 0
  let isSilent = false
  child.stdout.on('data', () => (looks = 0))
  const watch = setInterval(() => {
    looks += 1
    isSilent ||= looks > LOOKS
    if (isSilent) stop()
  }, maxSilenceMs / LOOKS).unref()
  const end = () => {
    clearTimeout(kill)
    clearInterval(watch)
  }
  return { ended: ended.finally(end), stop }
}

/** The process was ended, because it gave no sign of life. */
export class SilentChildError extends Error {
  override readonly name = 'SilentChildError'
  constructor(maxSilenceMs: number) {
    super(`it showed no progress for ${maxSilenceMs / 1000} seconds, and was ended`)
  }
}

/** What a child gets is bounded, and so is what becomes of it. */
const HEAP = ['--max-old-space-size=256', '--max-semi-space-size=4', '--heap-growing-percent=30']
const PROGRAM = fileURLToPath(new URL('../cli.ts', import.meta.url))
const MAX_STOP_MS = 6000
const LOOKS = 10

/** Linux kills the process with the highest score first. */
function dieFirst({ pid }: ChildProcess) {
  if (process.platform !== 'linux' || pid === undefined) return
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '500')
  } catch {
    // It has ended, or this system does not allow it.
  }
}

/**
 * Does the work of the order that this process was started with; `showLife` is called with each progress. The process ends after it,
 * whatever the work met. Calls `onOrphaned` when the process that gave the order is gone.
 */
export async function runAsChild<Order extends object>(
  onOrphaned: () => void,
  work: (order: Order, showLife: () => void) => Promise<void>,
): Promise<void> {
  const lines = createInterface({ input: process.stdin }).once('close', onOrphaned)
  let shownAt = -Infinity
  const showLife = () => {
    const now = performance.now()
    if (now - shownAt < LIFE_MS) return
    shownAt = now
    process.stdout.write('.')
  }
  try {
    // Only `startChild` gives orders.
    const order = await new Promise<Order>(resolve => lines.once('line', line => resolve(JSON.parse(line) as Order)))
    await work(order, showLife)
  } finally {
    lines.off('close', onOrphaned)
    process.stdin.destroy()
    // Something that was left, such as a connection, would keep it.
    setTimeout(() => process.exit(), MAX_REST_MS).unref()
  }
}

/** How often a sign of life is given, at most. */
const LIFE_MS = 1000
const MAX_REST_MS = 3000
