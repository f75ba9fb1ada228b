import { operatorPullCommands } from '../../accounts/first-steps.ts'
import { sourceLists } from '../../pull/lists.ts'
import { rejectedByReason } from '../../pull/rejected.ts'
import { pullStatus, type SourceStatus } from '../../pull/status.ts'
import { html, type Html } from '../html.ts'
import { card, code, table } from '../layout/components.ts'
import { type DashboardPage, view, type Visit } from '../page.ts'
import { countText, momentText, numberText } from '../text/text.ts'
import { MAX_REASONS, rejectedCard, rejectedPages } from './source-rejected.ts'
import { uploadCard } from './upload.ts'

const OF_SOURCE = { section: 'source', reads: null } as const

/** Where the records of the account that signed in come from, whichever account's records the other pages show. */
export const sourcePages: readonly DashboardPage[] = [
  { ...OF_SOURCE, path: '/source', handler: showSource },
  ...rejectedPages,
]

async function showSource(visit: Visit) {
  const { store, viewer } = visit
  const { accountId } = viewer.session
  const sources = await pullStatus(store, accountId)
  const pulled = await Promise.all(
    sources.map(async source => {
      const rejected = await rejectedByReason(store, { accountId, origin: source.origin }, MAX_REASONS)
      return html`${statusCard(visit, source)}${rejectedCard(visit, source, rejected)}`
    }),
  )
  return view({
    title: 'Source',
    lead: 'Where your records come from.',
    body: html`${pulled}<div class="columns">${card('From another server', fromServer(visit))}${await uploadCard(visit)}</div>`,
  })
}

function statusCard({ viewer, now }: Visit, { origin, rows, gone, setAside, completedAt }: SourceStatus): Html {
  const there = sum(rows) - sum(gone)
  const asOf =
    completedAt === null
      ? 'No complete copy yet.'
      : `Complete as of ${momentText(viewer, Date.parse(completedAt), now)}.`
  return card(
    origin,
    html`
      <p class="summary">${numberText(Math.max(0, there - setAside))} of ${countText(there, 'record')}. ${asOf}</p>
      ${table(
        `Records of ${origin} by kind`,
        [
          { title: 'Kind', cell: ({ title }) => title.charAt(0).toUpperCase() + title.slice(1) },
          { title: 'There', numeric: true, cell: ({ kind }) => numberText((rows[kind] ?? 0) - (gone[kind] ?? 0)) },
          { title: 'Gone there', numeric: true, cell: ({ kind }) => numberText(gone[kind] ?? 0) },
        ],
        sourceLists.filter(({ kind }) => (rows[kind] ?? 0) > 0),
        { look: 'compact' },
      )}
    `,
  )
}

function sum(counts: Readonly<Record<string, number>>): number {
  return Object.values(counts).reduce((total, count) => total + count, 0)
}

function fromServer({ viewer }: Visit): Html {
  return html`
    <div class="stack">
      <p>Lockstep copies your records from a hosted service of this API, or from another Lockstep. It changes nothing there.</p>
      <p>Whoever runs this service starts the copy with these commands:</p>
      ${code(operatorPullCommands(viewer.session.accountId).join('\n'), 'commands of a pull')}
    </div>
  `
}
