import { setImmediate as nextTurn } from 'node:timers/promises'

type Cells = readonly (string | number | null)[]

/**
 * A CSV file (RFC 4180) with a row for each item, in parts, so that others have their turn between them. It is safe for
 * spreadsheets: text that they would run as a formula is marked as text.
 */
export async function* csv<Item>(
  header: readonly string[],
  items: readonly Item[],
  rowOf: (item: Item) => Cells,
): AsyncGenerator<string> {
  yield line(header)
  for (let start = 0; start < items.length; start += ROWS_AT_ONCE) {
    yield items
      .slice(start, start + ROWS_AT_ONCE)
      .map(item => line(rowOf(item)))
      .join('')
    await nextTurn()
  }
}

const ROWS_AT_ONCE = 500

function line(cells: Cells): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
