export type CsvCells = readonly (string | number | null)[]

/** A line of a CSV file (RFC 4180). Text that spreadsheets would run as a formula is marked as text. */
export function csvLine(cells: CsvCells): string {
  return `${cells.map(cell).join(',')}\r\n`
}

function cell(value: string | number | null): string {
  if (value === null) return ''
  if (typeof value === 'number') return String(value)
  const plain = value.replaceAll('\u00a0', ' ')
  const text = /^[=+\-@\t\r]/.test(plain) ? `'${plain}` : plain
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
