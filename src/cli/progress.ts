import { basename } from 'node:path'

/** A line that shows how far a file has been read. */
export interface Bar {
  /** How many bytes were read; undefined once all were, and what was read is being stored. */
  show(bytes: number | undefined): void
  /** Leaves a last word in its place. */
  end(word: string): void
}

/**
 * A bar on stderr, where that is a terminal; nothing elsewhere. It leaves the keyboard alone: a library that listens to
 * it would take the interrupt, and end the program as if all were well.
 */
export function startBar(file: string, size: number | undefined): Bar | undefined {
  const { stderr } = process
  if (!stderr.isTTY || size === undefined || size === 0) return undefined
  const name = basename(file)
  let shown = ''
  const write = (line: string) => {
    if (line === shown) return
    shown = line
    // A line that wraps could not be written anew. Some terminals do not say how wide they are.
    stderr.write(`\r\u001b[K${line.slice(0, (stderr.columns || 80) - 1)}`)
  }
  return {
    show(bytes) {
      if (bytes === undefined) return write(`Storing ${name}`)
      const part = Math.min(1, bytes / size)
      const done = Math.floor(part * WIDTH)
      write(`${'█'.repeat(done)}${'░'.repeat(WIDTH - done)} ${Math.floor(part * 100)} % of ${name}`)
    },
    end(word) {
      write(`${name}: ${word}`)
      stderr.write('\n')
    },
  }
}

const WIDTH = 30
