import type { ServerResponse } from 'node:http'
import { finished } from 'node:stream'
import { recordEvent } from '../accounts/events.ts'
import { LimitError } from '../http/limits.ts'
import { type CsvCells, csvLine } from '../archive/formats/csv.ts'
import { pause } from '../fairness.ts'
import { type Download, download, type Visit } from './page.ts'

type Items<Item> = Iterable<Item> | AsyncIterable<Item>

/** A CSV file with a row for each item. */
export function csvFile<Item>(
  visit: Visit,
  name: string,
  header: readonly string[],
  items: Items<Item>,
  rowOf: (item: Item) => CsvCells,
): Download {
  return datedFile(visit, name, 'csv', csvParts(visit.viewer.session.accountId, header, items, rowOf))
}

const types = {
  csv: 'text/csv; charset=utf-8',
  html: 'text/html; charset=utf-8',
  ndjson: 'application/x-ndjson',
} as const

/** A file whose name has the date of the download, such as `locks-2026-02-16.csv`. */
export function datedFile(
  { now }: Visit,
  name: string,
  extension: keyof typeof types,
  body: Download['body'],
): Download {
  const file = `${name}-${new Date(now).toISOString().slice(0, 10)}.${extension}`
  return download({ file, type: types[extension], body })
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

/**
 * Counts and records that everything of an account is about to be sent, until the response has ended or its client is gone; `sending`
 * has the accounts of which this process does so. One export at a time: throws LimitError if there is another one.
 */
export async function beginExport(
  sending: Set<number>,
  { store, viewer, now, actor }: Visit,
  response: ServerResponse,
) {
  const { accountId } = viewer.session
  if (sending.has(accountId)) throw new LimitError('exports', 'rate_limited', RETRY_SECONDS, ANOTHER)
  sending.add(accountId)
  finished(response, () => sending.delete(accountId))
  await recordEvent(store.db, { accountId, type: 'exported', now, actor })
}

const RETRY_SECONDS = 10
const ANOTHER = 'Another export of this account is still being sent. Start this one when it has ended or was cancelled'
