import type { SharedAccess } from '../../accounts/access.ts'
import { dotted, emptyState } from './components.ts'
import { html, type Html, nothing } from '../html.ts'
import { areasText } from '../text/labels.ts'
import { personName } from '../text/names.ts'
import { type Person, type View, view, type Viewer, sharedAreas } from '../page.ts'
import { countText, dateText, dateTime } from '../text/text.ts'

/** Notes on pages that show the records of somebody else, or did until access ended. */

/** Says whose records a page shows, where that is not only the viewer. */
export function ownerBanner(viewer: Viewer, owner: Person, path: string, { asOf = viewer.asOf }: View): Html {
  const name = personName(viewer, owner)
  const access = viewer.shared.find(({ ownerId }) => ownerId === owner.id)
  return html`
    <section class="banner" aria-label="Whose records">
      <p>${dotted(html`<strong>Records of ${name}</strong>`, access && extentOf(access), 'read only', asOf === null ? nothing : html`as of ${dateTime(viewer, asOf)}`)}</p>
      ${backToMine(viewer, path, 'link')}
    </section>
  `
}

/** Says that figures are of a copy that was never complete. How many records it has is for their owner alone. */
export function partialNote({ session, subject }: Viewer, { owner = subject.id }: View, copied: number): Html {
  if (owner !== subject.id) return nothing
  if (owner !== session.accountId)
    return html`<p class="warning">These records are a copy that is not complete yet.</p>`
  return html`<p class="warning">The copy of your records is not complete yet: ${countText(copied, 'record')} so far. <a href="/source">Source</a></p>`
}

/** What of the records of somebody else the viewer may read. Days are those of UTC. */
function extentOf({ areas, recordsFrom }: SharedAccess): string {
  const from = recordsFrom === null ? '' : ` from ${dateText({ timeZone: 'UTC' }, recordsFrom)} on`
  return `${areasText(areas).toLowerCase()}${from}`
}

/** The page in place of records of an area that somebody else does not share. */
export function notShared(viewer: Viewer, title: string): View {
  const text = `What ${personName(viewer, viewer.subject)} shares with you is ${areasText(sharedAreas(viewer))}.`
  return view({ title, body: emptyState('Not shared with you', text) })
}

export function accessEndedView(viewer: Viewer, title: string): View {
  return view({
    title,
    body: html`
      <div class="card stack">
        <h2>Your access to these records has ended</h2>
        <p>The account whose records you were viewing no longer shares them with you.</p>
        ${backToMine(viewer, '/', 'primary')}
      </div>
    `,
  })
}

function backToMine({ session }: Viewer, path: string, look: 'link' | 'primary'): Html {
  return showRecords(
    path,
    html`<button class="${look}" name="subject" value="${session.accountId}">My records</button>`,
  )
}

/** A form whose button, named `subject`, shows the records of an account. */
export function showRecords(path: string, button: Html): Html {
  return html`<form method="post" action="/subject"><input type="hidden" name="back" value="${path}">${button}</form>`
}
