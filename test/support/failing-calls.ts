import { closeSync, openSync, readSync, renameSync, rmSync, writeFileSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import { compileLibrary } from './preload.ts'

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
