import { findLink, linkOwnIdentity } from '../../../accounts/identities.ts'
import type { Oidc } from '../../../accounts/oidc.ts'
import { removeIdentity } from '../../../accounts/sign-in-methods.ts'
import { notFound } from '../../../contract/errors.ts'
import { othersSignedOut, signInAddress } from '../../sign-in/reauthentication.ts'
import { actPages, formPage } from '../../layout/form-page.ts'
import { setting } from '../../layout/components.ts'
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
    isDangerous: true,
    body: (_, { name }) =>
      html`<p>Remove the link with ${name}? You can no longer sign in with it, and every other browser is signed out.</p>`,
    enter: visit => ({ address: signInAddress(visit), keepSession: visit.viewer.session.id }),
    done: visit => othersSignedOut(visit, 'oidc'),
  }),
]

export async function oidcSetting({ store, viewer, now }: Visit, oidc: Oidc): Promise<Html> {
  const link = await findLink(store, viewer.session.accountId, oidc.issuer)
  const title = `Sign-in with ${oidc.name}`
  return link === undefined
    ? setting(
        title,
        'Signs you in here with your account there. Only your id there is used.',
        html`<a class="button" href="/settings/oidc">Link</a>`,
      )
    : setting(
        title,
        html`Linked on ${dateText(viewer, link.linked_at)}. ${lastUsed(viewer, link.last_used_at, now)}`,
        html`<a class="button" href="/settings/oidc/remove">Remove link</a>`,
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
