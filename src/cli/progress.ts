import { basename } from 'node:path'
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

/** A line on stderr with how much of the current work is done, and how long the rest takes. */
export interface ProgressLine {
  show(title: string, done: number, expected?: number, count?: string): void
  end(): void
}

/** Undefined if stderr is no terminal. */
export function startProgress(verb?: string): ProgressLine | undefined {
  if (!process.stderr.isTTY) return undefined
  let current = ''
  let startedAt = 0
  return {
    show(title, done, expected = 0, count = `${done} rows`) {
      if (title !== current) startedAt = performance.now()
      current = title
      const seconds = (performance.now() - startedAt) / 1000
      const pace = seconds < 1 ? 0 : done / seconds
      const line = [
        `${verb === undefined ? '' : `${verb} `}${title}: ${count}`,
        ...(pace === 0 ? [] : [`${Math.round(pace)} a second`]),
        ...(pace === 0 || expected <= done ? [] : [`${spanOf((expected - done) / pace)} left`]),
      ].join(', ')
      overwriteLine(line)
    },
    end() {
      if (current !== '') overwriteLine('')
      current = ''
    },
  }
}

function spanOf(seconds: number): string {
  return seconds < 90 ? `${Math.ceil(seconds)} s` : `${Math.ceil(seconds / 60)} min`
}

/** Replaces the last line on the terminal. */
export function overwriteLine(line: string) {
  const { stderr } = process
  // A line that wraps could not be overwritten. Some terminals do not report their width.
  stderr.write(`\r\u001b[K${escapeControls(line).slice(0, (stderr.columns || 80) - 1)}`)
}

const WIDTH = 30
