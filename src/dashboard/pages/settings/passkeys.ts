import { browserName } from '../../../accounts/events.ts'
import { listPasskeys, type PasskeyFacts, registerPasskey, verifyNewPasskey } from '../../../accounts/passkeys.ts'
import { removePasskey } from '../../../accounts/sign-in-methods.ts'
import { notFound } from '../../../contract/errors.ts'
import { MAX_NAME_LENGTH } from '../../../contract/names.ts'
import { setting, table } from '../../layout/components.ts'
import { actPages, formPage, submitAct } from '../../layout/form-page.ts'
import { fieldText, html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, redirect, view, type Visit } from '../../page.ts'
import { NOT_ACCEPTED, passkeyField, whyNoPasskeys } from '../../sign-in/passkey-fields.ts'
import { othersSignedOut, signInAddress } from '../../sign-in/reauthentication.ts'
import { challengeOf } from '../../sign-in/sealed-cookie.ts'
import { dateText, lastUsed } from '../../text/text.ts'

const OF_SETTINGS = { section: 'settings', reads: null } as const

/** The passkeys of the account that signed in. */
export const passkeyPages: readonly DashboardPage[] = [
  {
    ...OF_SETTINGS,
    path: '/settings/passkeys/new',
    act: registerPasskey,
    handler: visit => showAdding(visit),
  },
  {
    ...OF_SETTINGS,
    method: 'POST',
    path: '/settings/passkeys/new',
    act: registerPasskey,
    async handler(visit) {
      const { store, viewer, site, cookies, form, now } = visit
      const { id } = viewer.session
      const challenge = await challengeOf(store, cookies, 'register', { site, subject: String(id), now })
      const passkey = await verifyNewPasskey(store, form.get('answer'), challenge, now)
      if (passkey === undefined) return showAdding(visit, NOT_ACCEPTED)
      return submitAct(
        visit,
        registerPasskey,
        { passkey },
        () => redirect('/settings?saved=passkeys'),
        refusal => showAdding(visit, refusal),
      )
    },
  },
  ...actPages({
    section: 'settings',
    path: '/settings/passkeys/:id/remove',
    act: removePasskey,
    find: ownPasskey,
    isDangerous: true,
    body: ({ viewer }, passkey) =>
      html`<p>Remove <strong>${recordName(viewer, 'passkey', passkey)}</strong>? You can no longer sign in with it, and every other browser is signed out. Also remove it from the device.</p>`,
    enter: (visit, { id }) => ({ id, address: signInAddress(visit), keepSession: visit.viewer.session.id }),
    done: visit => othersSignedOut(visit, 'passkeys'),
  }),
]

export async function passkeysSetting(visit: Visit): Promise<Html> {
  const { store, viewer, site } = visit
  const passkeys = await listPasskeys(store, viewer.session.accountId)
  const isOffered = whyNoPasskeys(site) === undefined
  if (!isOffered && passkeys.length === 0) return nothing
  return setting(
    'Passkeys',
    isOffered
      ? html`Sign in with the screen lock of your device.<span class="no-script"> Passkeys need JavaScript, which is off in this browser.</span>`
      : 'Not available at this address.',
    isOffered ? html`<a class="button needs-script" href="/settings/passkeys/new">Add a passkey</a>` : nothing,
    passkeys.length === 0 ? nothing : passkeyTable(visit, passkeys),
  )
}

function passkeyTable({ viewer, now, site }: Visit, passkeys: readonly PasskeyFacts[]): Html {
  const hostNote = ({ rp_id }: PasskeyFacts) =>
    rp_id === site.rpId ? nothing : html` <span class="state">only at ${rp_id}</span>`
  return table(
    'Passkeys',
    [
      {
        title: 'Name',
        line: 'first',
        cell: passkey => html`<strong>${recordName(viewer, 'passkey', passkey)}</strong>${hostNote(passkey)}`,
      },
      { title: 'Created', line: 'second', before: 'created ', cell: ({ created_at }) => dateText(viewer, created_at) },
      {
        title: 'Last used',
        line: 'second',
        cell: ({ last_used_at: at }) => lastUsed(viewer, at, now),
      },
      {
        title: html`<span class="hidden">Action</span>`,
        numeric: true,
        cell: passkey =>
          html`<a class="button small" href="/settings/passkeys/${passkey.id}/remove" aria-label="Remove ${recordName(viewer, 'passkey', passkey)}">Remove</a>`,
      },
    ],
    passkeys,
  )
}

/** The passkey in the path, if it is the viewer's own. */
async function ownPasskey({ store, viewer, id }: Visit): Promise<PasskeyFacts> {
  const passkey = (await listPasskeys(store, viewer.session.accountId)).find(own => own.id === id)
  if (passkey === undefined) throw notFound('Passkey')
  return passkey
}

function showAdding(visit: Visit, problem?: string) {
  const { site, form, userAgent } = visit
  const why = whyNoPasskeys(site)
  if (why !== undefined)
    return view({ title: 'Add a passkey', back: visit.sectionStart, body: html`<p class="card">${why}</p>` })
  return formPage(visit, {
    title: 'Add a passkey',
    problem,
    button: 'Add passkey',
    body: html`
      <p>Your browser asks you where to keep it and how to unlock it.</p>
      ${passkeyName(form.get('name') ?? browserName(userAgent))}
      ${passkeyField('register')}
    `,
  })
}

/** The field for the name of a new passkey. */
export function passkeyName(name: string): Html {
  return html`
    <label>Name <span class="muted">where it is kept</span>
      <input name="name" required maxlength="${MAX_NAME_LENGTH}" autocomplete="off" value="${fieldText(name)}">
    </label>
  `
}
