import { allReads, listReads, type ReadEntry, listReaders } from '../../../accounts/read-log-queries.ts'
import { listGiven } from '../../../accounts/given-access.ts'
import { formatTimestamp } from '../../../contract/time.ts'
import { card, logPage, options, table } from '../../layout/components.ts'
import { csvFile } from '../../files.ts'
import { html, type Html, nothing } from '../../html.ts'
import { areaLabels, readTypeLabels, readWayLabels } from '../../text/labels.ts'
import { recordName, personName } from '../../text/names.ts'
import type { DashboardPage, Visit } from '../../page.ts'
import { dateTime, NONE, numberText } from '../../text/text.ts'

const OF_PEOPLE = { section: 'people', reads: null } as const

/** The log of who read one's records. */
export const readsPages: readonly DashboardPage[] = [
  {
    ...OF_PEOPLE,
    path: '/people/reads.csv',
    isDownload: true,
    async handler(visit) {
      const { store, viewer, now, query } = visit
      const { accountId } = viewer.session
      const names = await makeNames(visit, await listGiven(store, accountId, now))
      const entries = allReads(store, accountId, { readerId: readerOf(query, names) })
      return csvFile(visit, 'reads', ['Hour', 'Who', 'How', 'Key', 'Area', 'What', 'Times'], entries, entry => {
        const { hour, id, via, tokenName, area, kind, count } = entry
        return [
          formatTimestamp(hour),
          whoOf(accountId, entry, names),
          via === null ? null : readWayLabels[via],
          tokenName === null ? null : recordName(viewer, 'key', { id, name: tokenName }),
          area === null ? null : areaLabels[area],
          kind === null ? null : readTypeLabels[kind],
          count,
        ]
      })
    },
  },
]

const ROWS = 25

/** A page of the log, with the filter by reader. */
export async function readsSection(visit: Visit, names: PeopleNames): Promise<Html> {
  const { store, viewer, query } = visit
  const readerId = readerOf(query, names)
  const chosen = readerId === undefined ? '' : `?reader=${readerId}`
  const { rows: entries, links } = await logPage({ path: '/people', query, anchor: 'reads' }, ROWS, range =>
    listReads(store, viewer.session.accountId, { readerId, ...range }),
  )
  if (entries.length === 0 && readerId === undefined) return nothing
  return card(
    'Read log',
    html`
      ${readsTable(visit, entries, names)}
      ${links}
      <p class="small muted">A row counts the reads of one kind in one hour. Your own on these pages are not listed.</p>
    `,
    {
      id: 'reads',
      actions: html`<div class="row">${filter(names, readerId)}<a href="/people/reads.csv${chosen}" download>CSV</a></div>`,
    },
  )
}

function filter({ readers, of }: PeopleNames, readerId: number | undefined): Html {
  if (readers.length === 0) return nothing
  return html`
    <form class="filters" action="/people#reads" data-submit-on-change>
      <label><span class="hidden">Reader</span>
        <select name="reader">${options([['', 'All readers'], ...readers.map(({ id, username }) => [id, of(username)] as const)], readerId)}</select>
      </label>
      <button class="no-script">Show</button>
    </form>
  `
}

function readsTable({ viewer }: Visit, entries: readonly ReadEntry[], names: PeopleNames): Html {
  return table(
    'Read log',
    [
      { title: 'Who', line: 'first', cell: entry => whoOf(viewer.session.accountId, entry, names) },
      { title: 'Hour', line: 'second', cell: ({ hour }) => dateTime(viewer, hour) },
      {
        title: 'How',
        line: 'second',
        cell: ({ via, tokenName, id }) =>
          html`${via === null ? NONE : readWayLabels[via]}${tokenName === null ? nothing : html` <span class="muted">${recordName(viewer, 'key', { id, name: tokenName })}</span>`}`,
      },
      {
        title: 'What',
        line: 'second',
        cell: ({ area, kind }) =>
          `${area === null ? NONE : areaLabels[area]}${kind === null ? '' : `, ${readTypeLabels[kind]}`}`,
      },
      { title: 'Times', numeric: true, line: 'first', unit: '\u00a0×', cell: ({ count }) => numberText(count) },
    ],
    entries,
  )
}

function whoOf(accountId: number, { readerId, reader, via }: ReadEntry, names: PeopleNames): string {
  if (via === null) return 'Only counted'
  if (readerId === null) return 'Operator'
  return readerId === accountId ? 'You' : names.of(reader ?? '')
}

/** The reader that the query names, if there is one. */
function readerOf(query: URLSearchParams, { readers }: PeopleNames): number | undefined {
  return readers.find(({ id }) => String(id) === query.get('reader'))?.id
}

/** The names of people on the page that lists them. */
export type PeopleNames = Awaited<ReturnType<typeof makeNames>>

export async function makeNames(
  { store, viewer }: Pick<Visit, 'store' | 'viewer'>,
  given: readonly { readonly username: string }[],
) {
  const { accountId, username: own } = viewer.session
  const readers = (await listReaders(store, accountId)).filter(({ id }) => id !== accountId)
  const partners = new Map(viewer.readable.map(person => [person.username, personName(viewer, person)]))
  const others = [...new Set([...given, ...readers].map(({ username }) => username))]
    .filter(username => !partners.has(username) && username !== own)
    .toSorted()
  return {
    /** Everybody who read, except the viewer. */
    readers,
    /** A name as it is shown: in discreet mode a neutral one, the same wherever the page names this person. */
    of: (username: string): string =>
      viewer.discreet ? (partners.get(username) ?? `Person ${others.indexOf(username) + 1}`) : username,
  }
}
