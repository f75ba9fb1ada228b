import { listPasskeys, type PasskeyFacts, registerPasskey, verifyNewPasskey } from '../../../accounts/passkeys.ts'
import {
  removePasskey,
  readSignInMethods,
  removePassword,
  type SignInMethods,
  removeIdentity,
} from '../../../accounts/sign-in-methods.ts'
import { notFound } from '../../../contract/errors.ts'
import { action, actionColumn, setting, table, usageColumns } from '../../layout/components.ts'
import { actPages, doAct, formPage, submit } from '../../layout/form-page.ts'
import { html, type Html, nothing } from '../../html.ts'
import { recordName } from '../../text/names.ts'
import { type DashboardPage, redirect, view, type Visit, type PageResult } from '../../page.ts'
import {
  NOT_ACCEPTED,
  passkeyField,
  passkeyName,
  whyNoPasskeys,
  newPasswordFields,
  PASSWORDS_DIFFER,
  readNewPassword,
} from '../../sign-in/fields.ts'
import { othersSignedOut, signInAddress, askAgain, passwordProblem } from '../../sign-in/reauthentication.ts'
import { challengeOf } from '../../sign-in/sealed-cookie.ts'
import { dateText, lastUsed } from '../../text/text.ts'
import { setPassword } from '../../../accounts/passwords.ts'
import { findLink, linkOwnIdentity } from '../../../accounts/identities.ts'
import type { Oidc } from '../../../accounts/oidc.ts'

/** The passkeys of the account that signed in. */
export const passkeyPages: readonly DashboardPage[] = [
  ...actPages({
    section: 'settings',
    path: '/settings/passkeys/new',
    act: registerPasskey,
    find: () => undefined,
    show: (visit, _, problem) => showAdding(visit, problem),
    async enter({ store, viewer, site, cookies, form, now }) {
      const subject = String(viewer.session.id)
      const challenge = await challengeOf(store, cookies, 'register', { site, subject, now })
      const passkey = await verifyNewPasskey(store, form.get('answer'), challenge, now)
      return passkey === undefined ? NOT_ACCEPTED : { passkey }
    },
    done: () => redirect('/settings?saved=passkeys'),
  }),
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
      ...usageColumns<PasskeyFacts>(viewer, now),
      actionColumn<PasskeyFacts>(passkey =>
        action(`/settings/passkeys/${passkey.id}/remove`, 'Remove', recordName(viewer, 'passkey', passkey)),
      ),
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
  const { site, form, actor } = visit
  const why = whyNoPasskeys(site)
  if (why !== undefined) return view({ title: 'Add a passkey', body: html`<p class="card">${why}</p>` })
  return formPage(visit, {
    title: 'Add a passkey',
    problem,
    button: 'Add passkey',
    body: html`
      <p>Your browser asks you where to keep it and how to unlock it.</p>
      ${passkeyName(form.get('name') ?? actor.browser)}
      ${passkeyField('register')}
    `,
  })
}

const PASSWORD = { section: 'settings', reads: null, path: '/settings/password' } as const

/** Setting, changing and removing the password of the account that signed in. */
export const passwordPages: readonly DashboardPage[] = [
  { ...PASSWORD, handler: visit => showPasswordForm(visit) },
  {
    ...PASSWORD,
    method: 'POST',
    async handler(visit) {
      const { form, viewer } = visit
      const { hasPassword } = await methodsOf(visit)
      const asked = hasPassword ? undefined : askAgain(visit, PASSWORD)
      if (asked !== undefined) return asked
      const password = readNewPassword(form)
      if (password === undefined) return showPasswordForm(visit, PASSWORDS_DIFFER)
      const problem = hasPassword ? await passwordProblem(visit, form.get('current') ?? '') : undefined
      if (problem !== undefined) return showPasswordForm(visit, problem)
      return submit(
        async () => {
          await doAct(visit, setPassword, { password, keepSession: viewer.session.id })
          return othersSignedOut(visit, 'password')
        },
        problem => showPasswordForm(visit, problem),
      )
    },
  },
  ...actPages({
    section: 'settings',
    path: '/settings/password/remove',
    act: removePassword,
    find: () => undefined,
    isDangerous: true,
    body: () =>
      html`<p>Remove the password of this account? Every other browser is signed out. You then sign in with the other methods that Settings lists. You can set a password again at any time.</p>`,
    enter: visit => ({ address: signInAddress(visit), keepSession: visit.viewer.session.id }),
    done: visit => othersSignedOut(visit, 'password'),
  }),
]

function methodsOf(visit: Visit): Promise<SignInMethods> {
  return readSignInMethods(visit.store.reads, visit.viewer.session.accountId, signInAddress(visit))
}

export function passwordSetting({ hasPassword, passkeys, isLinked }: SignInMethods): Html {
  const isOnly = passkeys + Number(isLinked) === 1
  if (!hasPassword) {
    return setting(
      'Password',
      html`This account has no password.${isOnly ? ' It has only one sign-in method. Set a password or add a passkey, in case you lose that one.' : ''}`,
      html`<a class="button" href="/settings/password">Set a password</a>`,
    )
  }
  return setting(
    'Password',
    'A change signs out every other browser.',
    html`
      <a class="button" href="/settings/password">Change password</a>
      ${passkeys >= 2 || isLinked ? html`<a class="button" href="/settings/password/remove">Remove password</a>` : nothing}
    `,
  )
}

async function showPasswordForm(visit: Visit, problem?: string): Promise<PageResult> {
  const { discreet, session } = visit.viewer
  const { hasPassword } = await methodsOf(visit)
  // Whoever has a password enters it into the form.
  const asked = hasPassword ? undefined : askAgain(visit, PASSWORD)
  if (asked !== undefined) return asked
  return formPage(visit, {
    title: hasPassword ? 'Change password' : 'Set a password',
    problem,
    body: html`
      ${discreet ? nothing : html`<input type="hidden" name="username" autocomplete="username" value="${session.username}">`}
      ${hasPassword ? html`<label>Current password<input type="password" name="current" autocomplete="current-password" required></label>` : nothing}
      ${newPasswordFields('New password', { problem })}
      <p class="muted">Every other browser is signed out. API keys keep working.</p>
    `,
  })
}

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
        html`Linked on ${dateText(viewer, link.linked_at)}. Last used: ${lastUsed(viewer, link.last_used_at, now)}.`,
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
