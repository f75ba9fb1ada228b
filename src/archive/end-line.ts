import { InvalidError } from './faults.ts'
import { isObject } from './values.ts'

/** The line that ends an archive says how many lines come before it, so that one that was cut short is noticed. */

/** Without the newline. */
export function endLine(lines: number): string {
  return `{"kind":"${END}","data":{"lines":${lines}}}`
}

export function isEndLine(envelope: unknown): boolean {
  return isObject(envelope) && envelope['kind'] === END
}

/** Counts the lines of an archive, or of several that stand one after the other. */
export class LineCount {
  #lines = 0
  /** Whether the last line is the end of an archive. */
  hasEnd = false

  add() {
    this.#lines += 1
    this.hasEnd = false
  }

  /** Checks the line that was counted last, as the end of an archive. Throws InvalidError if lines before it are missing. */
  end(envelope: unknown) {
    const before = this.#lines - 1
    this.#lines = 0
    this.hasEnd = true
    const data = isObject(envelope) ? envelope['data'] : undefined
    const expected = isObject(data) ? data['lines'] : undefined
    if (expected === before) return
    throw new InvalidError(
      typeof expected === 'number'
        ? `ends an archive of ${expected} lines, but ${before} lines come before it: the archive is incomplete, so export or copy it again`
        : 'must say how many lines come before it, as data.lines',
    )
  }
}

const END = 'end'
