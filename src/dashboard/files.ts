import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import { LimitError } from '../http/limits.ts'
import { type CsvCells, csvLine } from '../archive/formats/csv.ts'
import { pause } from '../fairness.ts'
import { type Download, download, type Visit } from './page.ts'

type Items<Item> = Iterable<Item> | AsyncIterable<Item>

/** A CSV file with a row for each item. Its name has the date of the download. */
export function csvFile<Item>(
  visit: Visit,
  name: string,
  header: readonly string[],
  items: Items<Item>,
  rowOf: (item: Item) => CsvCells,
): Download {
  return download({
    file: datedFile(name, visit, 'csv'),
    type: 'text/csv; charset=utf-8',
    body: csvParts(visit.viewer.session.accountId, header, items, rowOf),
  })
}

export function ndjsonFile(visit: Visit, name: string, body: Download['body']): Download {
  return download({ file: datedFile(name, visit, 'ndjson'), type: 'application/x-ndjson', body })
}

export function htmlFile(visit: Visit, name: string, body: Download['body']): Download {
  return download({ file: datedFile(name, visit, 'html'), type: 'text/html; charset=utf-8', body })
}

/** `locks-2026-02-16.csv` */
function datedFile(name: string, { now }: Visit, extension: string): string {
  return `${name}-${new Date(now).toISOString().slice(0, 10)}.${extension}`
}

/**
 * CSV (RFC 4180) in parts, between which others have their turns. It is safe for spreadsheets: text that they would run as a
 * formula is marked as text.
 */
async function* csvParts<Item>(
  account: number,
  header: readonly string[],
  items: Items<Item>,
  rowOf: (item: Item) => CsvCells,
): AsyncGenerator<string> {
  yield csvLine(header)
  let lines: string[] = []
  for await (const item of items) {
    lines.push(csvLine(rowOf(item)))
    if (lines.length < MAX_BATCH_ROWS) continue
    yield lines.join('')
    lines = []
    await pause()
  }
  if (lines.length > 0) yield lines.join('')
}

const MAX_BATCH_ROWS = 500

/** The accounts of which everything is being sent by this process: one export at a time for each. */
export class Exports {
  readonly #accounts = new Set<number>()

  /** Counts an export until its response has ended or its client is gone. Throws LimitError if there is another one. */
  begin(accountId: number, response: ServerResponse) {
    if (this.#accounts.has(accountId)) throw new LimitError('exports', 'rate_limited', RETRY_SECONDS, ANOTHER)
    this.#accounts.add(accountId)
    finished(response, () => this.#accounts.delete(accountId))
  }
}

const RETRY_SECONDS = 10
const ANOTHER =
  'Another export of this account is still being sent. Start this one when that has ended, or was cancelled'
