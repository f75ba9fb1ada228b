import { type ChildProcess, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

interface ChildOptions {
  /** How large its heap may be, in megabytes. */
  readonly heapMb: number
  /** Settings beside those of this process. */
  readonly env?: Readonly<Record<string, string>>
  /** What it reads first from its standard input. That stays open for as long as this process lives. */
  readonly input?: string
}

/** A command that runs in a process of its own, and dies before this one when memory is short. */
export interface Child {
  readonly process: ChildProcess
  /** Its exit code, null if it was killed, and the end of what it said. */
  readonly ended: Promise<{ readonly code: number | null; readonly said: string }>
}

export function startChild(args: readonly string[], { heapMb, env = {}, input = '' }: ChildOptions): Child {
  const heap = [`--max-old-space-size=${heapMb}`, '--max-semi-space-size=4', '--heap-growing-percent=30']
  const child = spawn(process.execPath, [...heap, PROGRAM, ...args], {
    env: { ...process.env, ...env },
    stdio: ['pipe', 'ignore', 'pipe'],
  })
  dieFirst(child)
  // A child that ends early does not read its input.
  child.stdin.on('error', () => {}).write(input)
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(-MAX_SAID)
  })
  return {
    process: child,
    ended: new Promise((resolve, reject) => {
      child.once('error', reject)
      child.once('close', code => resolve({ code, said }))
    }),
  }
}

export const PROGRAM = join(import.meta.dirname, '..', 'cli.ts')
const MAX_SAID = 2000

/** Linux kills the process with the highest score first. */
function dieFirst({ pid }: ChildProcess) {
  if (process.platform !== 'linux' || pid === undefined) return
  try {
    writeFileSync(`/proc/${pid}/oom_score_adj`, '500')
  } catch {
    // It has ended, or this system does not allow it.
  }
}

/** The first line of the standard input. When that ends, so does this process: whoever started it is gone. */
export function readInput(): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>()
  let text = ''
  process.stdin.setEncoding('utf8').on('data', (part: string) => {
    text += part
    const end = text.indexOf('\n')
    if (end !== -1) resolve(text.slice(0, end))
  })
  process.stdin.once('end', () => process.exit(1))
  return promise
}
