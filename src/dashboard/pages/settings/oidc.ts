import { findLink, linkOwnIdentity } from '../../../accounts/identities.ts'
import type { Oidc } from '../../../accounts/oidc.ts'
import { removeIdentity } from '../../../accounts/sign-in-methods.ts'
import { notFound } from '../../../contract/errors.ts'
import { card, facts } from '../../layout/components.ts'
import { othersSignedOut, signInAddress } from '../../sign-in/reauthentication.ts'
import { actPages, formPage } from '../../layout/form-page.ts'
import { html, type Html } from '../../html.ts'
import type { DashboardPage, Visit } from '../../page.ts'
import { dateText, lastUsed } from '../../text/text.ts'

/** Linking the account with an identity at the issuer, and removing the link. */
export const oidcPages: readonly DashboardPage[] = [
  { section: 'settings', reads: null, path: '/settings/oidc', act: linkOwnIdentity, handler: showLinking },
  ...actPages({
    section: 'settings',
    path: '/settings/oidc/remove',
    act: removeIdentity,
    find: issuerOf,
    show: showRemoving,
    enter: visit => ({ address: signInAddress(visit), keepSession: visit.viewer.session.id }),
    done: visit => othersSignedOut(visit, 'oidc'),
  }),
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

function showLinking(visit: Visit) {
  const { name } = issuerOf(visit)
  return formPage(visit, {
    title: `Link with ${name}`,
    button: `Continue with ${name}`,
    body: html`<p>You sign in there next. From then on, whoever can sign in there as you can also sign in to this account.</p>`,
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
