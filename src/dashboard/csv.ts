import { setImmediate as nextTurn } from 'node:timers/promises'

type Cells = readonly (string | number | null)[]

/**
 * A CSV file (RFC 4180) with a row for each item, in parts, so that other requests are handled in between. It is safe for
 * spreadsheets: text that they would run as a formula is marked as text.
 */
export async function* csv<Item>(
  header: readonly string[],
  items: Iterable<Item> | AsyncIterable<Item>,
  rowOf: (item: Item) => Cells,
): AsyncGenerator<string> {
  yield line(header)
  let lines: string[] = []
  for await (const item of items) {
    lines.push(line(rowOf(item)))
    if (lines.length < ROWS_AT_ONCE) continue
    yield lines.join('')
    lines = []
    await nextTurn()
  }
  if (lines.length > 0) yield lines.join('')
}

const ROWS_AT_ONCE = 500

function line(cells: Cells): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const plain = value.replaceAll('\u00a0', ' ')
  const text = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
