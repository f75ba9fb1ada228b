import { type AccountEvent, eventText, listEvents } from '../../../accounts/events.ts'
import { logPage, table } from '../../layout/components.ts'
import { html, type Html, nothing } from '../../html.ts'
import { freeText, recordName } from '../../text/names.ts'
import { type DashboardPage, view, type Viewer, type Visit } from '../../page.ts'
import { countText, dateTime } from '../../text/text.ts'

/** The log of what concerns the safety of the account that signed in. */
export const eventPages: readonly DashboardPage[] = [
  { section: 'settings', reads: null, path: '/settings/events', handler: showEvents },
]

const ROWS = 25

async function showEvents({ store, viewer, query, path, sectionStart }: Visit) {
  const { rows: events, links } = await logPage({ path, query, anchor: undefined }, ROWS, range =>
    listEvents(store, viewer.session.accountId, range),
  )
  return view({
    title: 'Account events',
    back: sectionStart,
    lead: 'Events of the last year.',
    body: html`
      ${
        events.length === 0
          ? html`<p class="card muted">No events in the last year.</p>`
          : html`<div class="card">${eventTable(viewer, events)}${links}</div>`
      }
      <p class="muted">A network is the part of an address that many people share. Wrong passwords are counted by the hour. If you do not recognise an event, sign out the other browsers, remove passkeys and links that are not yours, revoke API keys, and change your password.</p>
    `,
  })
}

function eventTable(viewer: Viewer, events: readonly AccountEvent[]): Html {
  return table(
    'Account events',
    [
      {
        title: 'What',
        line: 'first',
        cell: event => {
          const { subject: name, subject_id: id } = event
          const subject = id === 0 ? freeText(viewer, name) : recordName(viewer, 'key', { id, name })
          return html`${eventText(event)}${subject === '' ? nothing : html`: <strong>${subject}</strong>`}${event.times === 1 ? nothing : html` <span class="muted">${countText(event.times, 'time')}</span>`}`
        },
      },
      { title: 'When', line: 'second', cell: ({ at }) => dateTime(viewer, at) },
      {
        title: 'By',
        line: 'second',
        cell: ({ actor }) => ({ self: 'You', operator: 'Operator', service: 'Lockstep', '': '' })[actor],
      },
      {
        title: 'Network',
        line: 'second',
        // Of events that are counted, those beyond the rows of an hour have none.
        cell: ({ actor, network }) => (actor === '' && network === '' ? 'Other networks' : network),
      },
      { title: 'Browser', line: 'second', cell: ({ browser }) => browser },
    ],
    events,
    { id: 'event-table' },
  )
}
