import { eraseDeleted, removeAccount } from '../../../accounts/removal.ts'
import { MAX_NAME_LENGTH } from '../../../contract/names.ts'
import { html, nothing } from '../../html.ts'
import { formPage } from '../../layout/form-page.ts'
import { type DashboardPage, redirect, type Visit } from '../../page.ts'
import { clearSiteData } from '../../site.ts'
import { noSessionCookie } from '../../sign-in/session-cookie.ts'

const DELETE = { section: 'settings', reads: null, path: '/settings/delete', confirms: true } as const

/** Deleting one's own account. */
export const deleteAccountPages: readonly DashboardPage[] = [
  { ...DELETE, handler: visit => showForm(visit) },
  {
    ...DELETE,
    method: 'POST',
    async handler(visit) {
      const { form, store, viewer, now, inBackground } = visit
      const { accountId, username } = viewer.session
      if (form.get('username') !== username) return showForm(visit, 'That is not the username of this account.')
      await removeAccount(store, accountId, now)
      // Takes seconds for a large file. If it fails, the next start of the service tries again.
      inBackground(eraseDeleted(store))
      return redirect('/signin?done=deleted', {
        cookies: [noSessionCookie(visit.site)],
        headers: clearSiteData(),
      })
    },
  },
]

function showForm(visit: Visit, problem?: string) {
  const { viewer } = visit
  return formPage(visit, {
    title: 'Delete account',
    problem,
    isDangerous: true,
    body: html`
      <p>This permanently deletes:</p>
      <ul>
        <li>your records, all data that came with them from other servers, and what could not be stored and was rejected;</li>
        <li>your password, passkeys and linked sign-in, API keys, settings, browser sessions and the log of events;</li>
        <li>all access that you gave or received.</li>
      </ul>
      <p>Only the number of this account is kept, so that no import or pull brings your records back. What you read of others stays in their lists, under that number. Existing backups are not changed.</p>
      <p>To keep a copy, <a href="/settings">export everything</a> first.</p>
      <label>To confirm, enter your username${viewer.discreet ? nothing : html`: <strong>${viewer.session.username}</strong>`}
        <input name="username" required maxlength="${MAX_NAME_LENGTH}" autocomplete="off" autocapitalize="none" spellcheck="false"${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }>
      </label>
    `,
  })
}
