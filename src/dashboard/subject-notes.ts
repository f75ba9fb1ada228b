import { html, type Html, nothing } from './html.ts'
import { personName } from './names.ts'
import { type Person, type Section, type View, view, type Viewer } from './page.ts'

/** Notes on pages that show the records of somebody else, or did until access ended. */

/** Sections that are about the account that signed in, whichever account's records the others show. */
const OWN_SECTIONS: readonly (Section | undefined)[] = ['people', 'keys', 'settings']

export function isOwnSection(section: Section | undefined): boolean {
  return OWN_SECTIONS.includes(section)
}

/** The owner of the records that a page shows, if that is not the viewer but somebody who gave them access. */
export function otherOwner(viewer: Viewer, { section, owner = viewer.subject.id }: View): Person | undefined {
  if (owner === viewer.session.accountId || isOwnSection(section)) return undefined
  return viewer.readable.find(({ id }) => id === owner)
}

export function ownerBanner(viewer: Viewer, owner: Person | undefined, path: string): Html {
  if (owner === undefined) return nothing
  return html`
    <section class="banner" aria-label="Whose records">
      <p>Showing ${personName(viewer, owner)}’s records<span class="between"> ·</span></p>
      ${backToMine(viewer, path, 'link')}
    </section>
  `
}

/** The page in place of records that may not be read any more. */
export function accessEnded(viewer: Viewer, section: Section, title: string): View {
  return view({
    section,
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
  return html`<form method="post" action="/subject">
    <input type="hidden" name="back" value="${path}">
    <button class="${look}" name="subject" value="${session.accountId}">Back to my records</button>
  </form>`
}
