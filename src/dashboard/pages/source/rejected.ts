import { sql } from 'kysely'
import { OWNER_UNKNOWN } from '../../../archive/batch-importer.ts'
import { rejectedByReason, rejectedInParts, type RejectedReasons } from '../../../archive/retry-rejected.ts'
import { formatTimestamp } from '../../../contract/time.ts'
import { type Connection, mayWriteRecords } from '../../../pull/connections.ts'
import { pullStatus, type SourceStatus } from '../../../pull/state.ts'
import type { Store } from '../../../store/index.ts'
import { datedFile } from '../../files.ts'
import { html, type Html, nothing } from '../../html.ts'
import { AS_STORED, card, code, table, type TableColumn } from '../../layout/components.ts'
import type { DashboardPage, Viewer, Visit } from '../../page.ts'
import { countText, numberText } from '../../text/text.ts'

const MAX_REASONS = 20

/** What a source has that could not be stored, and what can be done about it while the source is connected. */
export async function rejectedOf(visit: Visit, whose: SourceStatus, connection?: Connection): Promise<Html> {
  const { store, viewer } = visit
  const { count, reasons } = await rejectedByReason(store, whose, MAX_REASONS)
  if (count === 0) return nothing
  const ownerless = connection?.mine === 1 ? 0 : (reasons.find(({ reason }) => reason === OWNER_UNKNOWN)?.count ?? 0)
  const actions =
    connection &&
    html`
      ${ownerless === 0 ? nothing : html`<form method="post" action="/source/mine"><button${connection.failure === null && html` class="primary"`}>${ownerless === 1 ? 'This one is mine' : `These ${numberText(ownerless)} are mine`}</button></form>`}
      ${(await mayWriteRecords(store)) ? html`<form method="post" action="/source/retry"><button>Try again</button></form>` : nothing}
    `
  return card(
    `${countText(count, 'record')} could not be stored`,
    html`<div class="stack">
      ${reasonTable(reasons, { title: 'One of them', line: 'second', cell: row => exampleOf(viewer, row) })}
      ${ownerless > 0 && html`<p>A server can hold records of several people. If these are yours, say so: they are stored then, and later ones as well.</p>`}
      <div class="buttons">${actions}<a class="button" href="/source/rejected.ndjson" download>Download all</a></div>
      ${viewer.discreet ? AS_STORED : nothing}
    </div>`,
  )
}

/** Why records of a server or rows of a file were rejected, how many, and which. */
export function reasonTable<Row extends { readonly reason: string; readonly count: number }>(
  rows: readonly Row[],
  which: TableColumn<Row>,
): Html {
  const reason: TableColumn<Row> = { title: 'Reason', line: 'first', cell: row => row.reason }
  const times: TableColumn<Row> = { title: 'Count', numeric: true, line: 'first', cell: row => numberText(row.count) }
  return table('What cannot be stored', [reason, times, which], rows, { id: 'rejected' })
}

function exampleOf({ discreet }: Pick<Viewer, 'discreet'>, example: RejectedReasons['reasons'][number]): Html {
  const { kind, recordId, raw, encoding } = example
  const name = `${kind === '' ? 'record' : kind.replaceAll('-', ' ')}${recordId === null ? '' : ` ${recordId}`}`
  if (discreet || encoding !== 'utf-8') return html`${name}`
  const shown = raw.length > MAX_SHOWN ? `${raw.slice(0, MAX_SHOWN).toWellFormed()}…` : raw
  return html`<details><summary>${name}</summary>${code(shown, `${name} as it came`)}</details>`
}

const MAX_SHOWN = 1000

export const rejectedPages: readonly DashboardPage[] = [
  {
    section: 'source',
    reads: null,
    path: '/source/rejected.ndjson',
    isDownload: true,
    handler: visit => datedFile(visit, 'rejected', 'ndjson', linesOf(visit.store, visit.viewer.session.accountId)),
  },
]

async function* linesOf(store: Store, accountId: number): AsyncGenerator<string> {
  for (const { origin } of await pullStatus(store, accountId)) {
    for await (const rows of rejectedInParts(store, sql`true`, { accountId, origin })) {
      for (const { kind, recordId, reason, raw, encoding, firstSeenAt } of rows)
        yield `${JSON.stringify({ origin, kind, id: recordId, reason, firstSeenAt: formatTimestamp(firstSeenAt), encoding, raw })}\n`
    }
  }
}
