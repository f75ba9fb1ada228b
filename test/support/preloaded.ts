import { spawnSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { until } from './waiting.ts'

/** Compiles a library of this folder that is preloaded into processes; undefined where there is no C compiler. */
export function compileLibrary(name: string, folder: string): string | undefined {
  const library = join(folder, `${name}.so`)
  const source = join(import.meta.dirname, `${name}.c`)
  return spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source]).status === 0 ? library : undefined
}

/** The wall clock of a process, which can be set while it runs. */
export interface SetClock {
  /** The settings of the process. */
  readonly env: Readonly<Record<string, string>>
  /** Sets it to so many seconds after the real time. */
  set(seconds: number): void
}

/** Needs a C compiler; undefined where there is none. */
export function makeSetClock(folder: string): SetClock | undefined {
  const library = compileLibrary('set-clock', folder)
  if (library === undefined) return undefined
  const offset = join(folder, 'clock-offset')
  return {
    env: { LD_PRELOAD: library, CLOCK_OFFSET: offset },
    set: seconds => writeFileSync(offset, String(seconds)),
  }
}

/** While it is closed, every sync of the disk by a process blocks, as on a disk that never responds. */
export interface SyncGate {
  /** The settings of the process. */
  readonly env: Readonly<Record<string, string>>
  /** Closing it again lets the syncs continue that wait, and stops the next one. */
  close(): void
  open(): void
  /** Waits until a sync has been stopped since it was closed, or the work has ended. Returns whether one was stopped. */
  reached(work?: Promise<unknown>): Promise<boolean>
}

/** Needs a C compiler; undefined where there is none. */
export function makeSyncGate(folder: string): SyncGate | undefined {
  const library = compileLibrary('sync-gate', folder)
  if (library === undefined) return undefined
  const gate = join(folder, 'gate')
  const mark = `${gate}.reached`
  let closings = 0
  return {
    env: { LD_PRELOAD: library, SYNC_GATE: gate },
    close() {
      rmSync(mark, { force: true })
      closings += 1
      // At once, because a sync may look at any moment.
      writeFileSync(`${gate}.next`, String(closings))
      renameSync(`${gate}.next`, gate)
    },
    open: () => rmSync(gate, { force: true }),
    async reached(work) {
      let hasEnded = false
      void work?.finally(() => (hasEnded = true))
      await until(async () => hasEnded || existsSync(mark))
      return !hasEnded
    },
  }
}

/** How a call fails; `killed` ends the process in it, after half of what it would write. */
export const failures = ['once', 'killed', 'full disk', 'from then on'] as const

export type Failure = (typeof failures)[number]

/** Lets a call of processes fail that opens, writes, syncs, cuts, names or removes files below a folder. */
export interface FailingCalls extends Disposable {
  /** The settings of the processes. */
  readonly env: Readonly<Record<string, string>>
  /**
   * Counts from one again. The call with this number fails; none with 0. With `copied` the folder is copied as it is then, and the process
   * goes on: this takes a tenth of the time of a process that is killed.
   */
  arm(number: number, how: Failure | 'copied'): void
  /** Puts the copy in the place of the folder. */
  useCopy(): void
  /** How many calls there were. */
  readonly calls: number
  /** Which call failed, and on which file. */
  readonly failed: string
}

/** Needs a C compiler; undefined where there is none. `kept` is a folder outside of `root`. */
export function makeFailingCalls(root: string, kept: string): FailingCalls | undefined {
  const library = compileLibrary('failing-calls', kept)
  if (library === undefined) return undefined
  const path = join(kept, 'control')
  writeFileSync(path, Buffer.alloc(SIZE))
  const file = openSync(path, 'r+')
  const copy = join(kept, 'copy')
  const read = () => {
    const bytes = Buffer.alloc(SIZE)
    readSync(file, bytes, 0, SIZE, 0)
    return bytes
  }
  return {
    env: { LD_PRELOAD: library, FAILING_ROOT: root, FAILING_CONTROL: path, FAILING_COPY: copy },
    arm(number, how) {
      const bytes = Buffer.alloc(SIZE)
      bytes.writeBigInt64LE(BigInt(number), 8)
      bytes.writeBigInt64LE(BigInt([...failures, 'copied'].indexOf(how) + 1), 16)
      writeSync(file, bytes, 0, SIZE, 0)
      rmSync(copy, { recursive: true, force: true })
    },
    useCopy() {
      rmSync(root, { recursive: true })
      renameSync(copy, root)
    },
    get calls() {
      return Number(read().readBigInt64LE(0))
    },
    get failed() {
      const name = read().subarray(24)
      return name.toString('utf8', 0, name.indexOf(0)).replace(root, '').trim()
    },
    [Symbol.dispose]: () => closeSync(file),
  }
}

/** Three numbers and a text, as in failing-calls.c. */
const SIZE = 24 + 4096
