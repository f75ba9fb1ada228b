import type { Progress } from '../backup/copy.ts'
import { overwriteLine } from './progress.ts'

/** A line on stderr with the current table and its rows so far, if stderr is a terminal; else undefined. */
export function startRowProgress(verb: string): { show: Progress; end(): void } | undefined {
  if (!process.stderr.isTTY) return undefined
  let shown = false
  return {
    show(table, rows) {
      shown = true
      overwriteLine(`${verb} ${table}: ${rows} rows`)
    },
    end() {
      if (shown) overwriteLine('')
      shown = false
    },
  }
}
