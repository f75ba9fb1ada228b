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

/** Throws InvalidError if lines are missing before an end line. */
export function checkEnd(envelope: unknown, before: number) {
  const data = isObject(envelope) ? envelope['data'] : undefined
  const expected = isObject(data) ? data['lines'] : undefined
  if (expected === before) return
  throw new InvalidError(
    typeof expected === 'number'
      ? `ends an archive of ${expected} lines, but ${before} lines come before it: the archive is incomplete, so export or copy it again`
      : 'must say how many lines come before it, as data.lines',
  )
}

const END = 'end'
