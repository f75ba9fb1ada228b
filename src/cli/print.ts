import { once } from 'node:events'
import { escapeControls } from '../contract/control-characters.ts'
import { formatTimestamp } from '../contract/time.ts'

/** What commands print: data on stdout, everything else on stderr. */

export function print(text: string) {
  process.stdout.write(`${escapeControls(text)}\n`)
}

/** Writes data to stdout, as it is unless that is a terminal, and waits while the reader is slow. */
export async function writeToStdout(data: string | Uint8Array): Promise<void> {
  const shown = process.stdout.isTTY && typeof data === 'string' ? escapeControls(data) : data
  if (!process.stdout.write(shown)) await once(process.stdout, 'drain')
}

export function say(text: string) {
  process.stderr.write(`${escapeControls(text)}\n`)
}

/** Prints rows as a table of their fields, or of those that are named, or as JSON. Numbers under the name of a time are instants. */
export function printRows(rows: readonly object[], json = false, fields?: readonly string[]) {
  const shown = rows.map(row => Object.fromEntries(Object.entries(row).map(shownField)))
  if (json) return print(JSON.stringify(shown, null, 2))
  if (rows.length === 0) return
  const names = fields ?? Object.keys(shown[0] ?? {})
  const titles = names.map(name => name.replaceAll(/[A-Z]/g, letter => ` ${letter.toLowerCase()}`))
  const table = [titles, ...shown.map(row => names.map(name => cellText(row[name])))]
  const widths = titles.map((_, column) => Math.max(...table.map(row => row[column]?.length ?? 0)))
  for (const row of table) {
    const cells = row.map((cell, column) => cell.padEnd(widths[column] ?? 0))
    print(cells.join('  ').trimEnd())
  }
}

/** As the API has them: names without underscores, and instants as text. */
function shownField([column, value]: readonly [column: string, value: unknown]): [name: string, shown: unknown] {
  const name = column.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  return [name, typeof value === 'number' && INSTANT.test(name) ? formatTimestamp(value) : value]
}

const INSTANT = /^(at|hour|since|until)$|At$/

/** On one line, as wide as it is shown. */
function cellText(value: unknown): string {
  if (value === null || value === undefined) return '–'
  const text = Array.isArray(value) ? value.join(' ') : typeof value === 'string' ? value : JSON.stringify(value)
  return escapeControls(text).replaceAll('\n', '\\n')
}
