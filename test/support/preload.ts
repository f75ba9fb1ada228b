import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** Compiles a library of this folder that is preloaded into processes; undefined where there is no C compiler. */
export function compileLibrary(name: string, folder: string): string | undefined {
  const library = join(folder, `${name}.so`)
  const source = join(import.meta.dirname, `${name}.c`)
  return spawnSync('gcc', ['-shared', '-fPIC', '-O1', '-o', library, source]).status === 0 ? library : undefined
}
