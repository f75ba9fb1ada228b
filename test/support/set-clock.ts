import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { compileLibrary } from './preload.ts'

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
