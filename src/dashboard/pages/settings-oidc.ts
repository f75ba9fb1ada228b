import { findLink } from '../../accounts/identities.ts'
import type { Oidc } from '../../accounts/oidc.ts'
import { removeIdentity } from '../../accounts/ways.ts'
import { notFound } from '../../contract/errors.ts'
import { card, facts } from '../components.ts'
import { CONFIRM_PATH, isFresh } from '../confirmation.ts'
import { formPage, submit } from '../form-page.ts'
import { html, type Html, nothing } from '../html.ts'
import { keptFields, noKeptForm, readKeptForm } from '../kept-form.ts'
import { sessionMark } from '../oidc-start.ts'
import { type Page, redirect, sections, view, type Visit } from '../page.ts'
import { dateText, lastUsed } from '../text.ts'
import { othersSignedOut } from '../others-signed-out.ts'
import { waysHere } from '../ways-here.ts'

/** Linking the account with an identity at the issuer, and continuing a form after the issuer has confirmed that identity. */
export const oidcPages: readonly Page[] = [
  { path: '/settings/oidc', confirms: { section: 'settings', action: 'Link sign-in' }, handler: showLinking },
  { path: '/settings/oidc/remove', handler: visit => showRemoving(issuerOf(visit)) },
  {
    method: 'POST',
    path: '/settings/oidc/remove',
    confirms: { section: 'settings', action: 'Remove link' },
    handler: visit =>
      submit(
        async () => {
          const { accountId, id } = visit.viewer.session
          await removeIdentity(visit.store, { accountId, here: waysHere(visit), keep: id })
          return othersSignedOut(visit, 'oidc')
        },
        refusal => showRemoving(issuerOf(visit), refusal),
      ),
  },
  {
    path: '/confirm/continue',
    async handler(visit) {
      const kept = await readKeptForm(visit)
      const isConfirmed = isFresh(visit)
      const cookies = isConfirmed ? [noKeptForm(visit)] : []
      if (kept === undefined) return redirect('/', { cookies })
      const { action: path, fields, confirms } = kept
      const [field] = fields
      // If there is no form to continue, this field has the path of the page that asked.
      if (path === CONFIRM_PATH && field?.[0] === 'next') return redirect(field[1], { cookies })
      const { section = 'settings', action = 'Continue' } = confirms ?? {}
      return view({
        section,
        title: isConfirmed ? 'Confirmed' : 'Not confirmed',
        cookies,
        body: html`
          <form class="card narrow stack" method="post" action="${path}">
            <p>${isConfirmed ? 'You confirmed that it is you' : 'You have not confirmed yet that it is you'}. Continue with: <strong>${action}</strong>.${fields.length === 0 ? nothing : ' What you entered was kept.'}</p>
            ${keptFields(kept)}
            <div class="buttons"><button class="primary" autofocus>${action}</button><a class="button" href="${sections[section].path}">Cancel</a></div>
          </form>
        `,
      })
    },
  },
]

/** The card about the link in Settings. */
export async function oidcCard({ store, viewer, now }: Visit, oidc: Oidc, message: Html): Promise<Html> {
  const link = await findLink(store, viewer.session.accountId, oidc.issuer)
  return card(
    `Sign-in with ${oidc.name}`,
    link === undefined
      ? html`${message}<p>Signs you in here with your account there. Only your identifier there is used.</p>
          <p><a class="button" href="/settings/oidc">Link</a></p>`
      : html`${message}
          ${facts([
            ['Linked', dateText(viewer, link.linked_at)],
            ['Last used', lastUsed(viewer, link.last_used_at, now)],
          ])}
          <p><a class="button" href="/settings/oidc/remove" data-dialog>Remove link</a></p>`,
  )
}

function issuerOf({ oidc }: Visit): Oidc {
  if (oidc === undefined) throw notFound('Issuer')
  return oidc
}

async function showLinking(visit: Visit) {
  const { name } = issuerOf(visit)
  const mark = await sessionMark(visit.store, visit.viewer.session.id, visit.now)
  return view({
    section: 'settings',
    title: `Link with ${name}`,
    back: { path: '/settings', title: 'Settings' },
    body: html`
      <div class="card narrow stack">
        <p>You sign in there next. From then on, whoever can sign in there as you can also sign in to this account.</p>
        <div class="buttons"><a class="button primary" href="/settings/oidc/start?mark=${mark}">Continue with ${name}</a><a class="button" href="/settings">Cancel</a></div>
      </div>
    `,
  })
}

function showRemoving({ name }: Oidc, problem?: string) {
  return formPage({
    section: 'settings',
    title: 'Remove link',
    action: '/settings/oidc/remove',
    problem,
    button: 'Remove link',
    isDangerous: true,
    focusesButton: true,
    body: html`<p>Remove the link with ${name}? You can no longer sign in with it, and every other browser is signed out.</p>`,
  })
}
