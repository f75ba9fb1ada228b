import { basename } from 'node:path'
import type { Progress } from '../backup/copy.ts'
import { escapeControls } from '../contract/control-characters.ts'

/** A progress bar for one file. */
export interface Bar {
  /** Shows how many bytes were read; undefined once all are read and are being stored. */
  show(bytes: number | undefined): void
  /** Replaces the bar by the outcome. */
  end(outcome: string): void
}

/**
 * A bar on stderr if that is a terminal, else undefined. It does not listen to the keyboard: a library that does would
 * catch the interrupt and exit with 0.
 */
export function startBar(file: string, size: number | undefined): Bar | undefined {
  const { stderr } = process
  if (!stderr.isTTY || size === undefined || size === 0) return undefined
  const name = basename(file)
  let current = ''
  const write = (line: string) => {
    if (line === current) return
    current = line
    overwriteLine(line)
  }
  return {
    show(bytes) {
      if (bytes === undefined) return write(`Storing ${name}`)
      const part = Math.min(1, bytes / size)
      const done = Math.floor(part * WIDTH)
      write(`${'█'.repeat(done)}${'░'.repeat(WIDTH - done)} ${Math.floor(part * 100)} % of ${name}`)
    },
    end(outcome) {
      write(`${name}: ${outcome}`)
      stderr.write('\n')
    },
  }
}

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

/** Replaces the last line on the terminal. */
export function overwriteLine(line: string) {
  const { stderr } = process
  // A line that wraps could not be overwritten. Some terminals do not report their width.
  stderr.write(`\r\u001b[K${escapeControls(line).slice(0, (stderr.columns || 80) - 1)}`)
}

const WIDTH = 30
