import { findLink, linkOwnIdentity } from '../../../accounts/identities.ts'
import type { Oidc } from '../../../accounts/oidc.ts'
import { removeIdentity } from '../../../accounts/sign-in-methods.ts'
import { notFound } from '../../../contract/errors.ts'
import { card, facts } from '../../layout/components.ts'
import {
  CONFIRM_PATH,
  isFresh,
  hiddenFields,
  noPendingForm,
  readPendingForm,
  othersSignedOut,
  signInAddress,
} from '../../sign-in/reauthentication.ts'
import { actPages, formPage } from '../../layout/form-page.ts'
import { html, type Html, nothing } from '../../html.ts'
import { sessionMark } from '../../sign-in/oidc-start.ts'
import { type DashboardPage, redirect, view, type Visit } from '../../page.ts'
import { dateText, lastUsed } from '../../text/text.ts'

const OF_SETTINGS = { section: 'settings', reads: null } as const

/** Linking the account with an identity at the issuer, and continuing a form after the issuer has confirmed that identity. */
export const oidcPages: readonly DashboardPage[] = [
  { ...OF_SETTINGS, path: '/settings/oidc', act: linkOwnIdentity, handler: showLinking },
  ...actPages({
    section: 'settings',
    path: '/settings/oidc/remove',
    act: removeIdentity,
    find: issuerOf,
    show: showRemoving,
    enter: visit => ({ address: signInAddress(visit), keepSession: visit.viewer.session.id }),
    done: visit => othersSignedOut(visit, 'oidc'),
  }),
  {
    ...OF_SETTINGS,
    path: '/confirm/continue',
    async handler(visit) {
      const form = await readPendingForm(visit)
      const isConfirmed = isFresh(visit.viewer.session, visit.now)
      const cookies = isConfirmed ? [noPendingForm(visit)] : []
      if (form === undefined) return redirect('/', { cookies })
      const { action, fields, confirms = 'Continue', back } = form
      const [field] = fields
      // If there is no form to continue, this field has the path of the page that asked.
      if (action === CONFIRM_PATH && field?.[0] === 'next') return redirect(field[1], { cookies })
      return view({
        title: isConfirmed ? 'Confirmed' : 'Not confirmed',
        cookies,
        body: html`
          <form class="card narrow stack" method="post" action="${action}">
            <p>${isConfirmed ? 'You confirmed that it is you' : 'You have not confirmed yet that it is you'}. Continue with: <strong>${confirms}</strong>.${fields.length === 0 ? nothing : ' What you entered was kept.'}</p>
            ${hiddenFields(form)}
            <div class="buttons"><button class="primary" autofocus>${confirms}</button><a class="button" href="${back}">Cancel</a></div>
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
      ? html`${message}<p>Signs you in here with your account there. Only your id there is used.</p>
          <p><a class="button" href="/settings/oidc">Link</a></p>`
      : html`${message}
          ${facts([
            ['Linked', dateText(viewer, link.linked_at)],
            ['Last used', lastUsed(viewer, link.last_used_at, now)],
          ])}
          <p><a class="button" href="/settings/oidc/remove">Remove link</a></p>`,
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
    title: `Link with ${name}`,
    back: visit.sectionStart,
    body: html`
      <div class="card narrow stack">
        <p>You sign in there next. From then on, whoever can sign in there as you can also sign in to this account.</p>
        <div class="buttons"><a class="button primary" href="/settings/oidc/start?mark=${mark}">Continue with ${name}</a><a class="button" href="/settings">Cancel</a></div>
      </div>
    `,
  })
}

function showRemoving(visit: Visit, { name }: Oidc, problem?: string) {
  return formPage(visit, {
    title: 'Remove link',
    problem,
    isDangerous: true,
    body: html`<p>Remove the link with ${name}? You can no longer sign in with it, and every other browser is signed out.</p>`,
  })
}
