import { listSessions, signOutOthers } from '../../../accounts/browser-sessions.ts'
import { setPreferences } from '../../../accounts/preferences.ts'
import { archiveParts } from '../../../archive/export.ts'
import { AS_STORED, section, setting } from '../../layout/components.ts'
import { htmlFile, ndjsonFile } from '../../files.ts'
import { keptPage } from '../../keep/kept-page.ts'
import { html, type Html, nothing } from '../../html.ts'
import { othersSignedOut, signInAddress } from '../../sign-in/reauthentication.ts'
import { type DashboardPage, redirect, view, type Visit } from '../../page.ts'
import { parseId } from '../../../contract/parameters.ts'
import { ownName } from '../../text/names.ts'
import { knownTimeZone } from '../../../contract/time.ts'
import { isUnits } from '../../visit.ts'
import { readSignInMethods } from '../../../accounts/sign-in-methods.ts'
import { browserSettings, recordsForm } from './forms.ts'
import { deleteAccountPages } from './delete-account.ts'
import { deletedPages } from './deleted.ts'
import { eventPages } from './events.ts'
import { oidcPages, oidcSetting } from './oidc.ts'
import { passkeyPages, passkeysSetting } from './passkeys.ts'
import { passwordPages, passwordSetting } from './password.ts'
import { sessionsSetting } from './sessions.ts'

const OF_SETTINGS = { section: 'settings', reads: null } as const

export const settingsPages: readonly DashboardPage[] = [
  { ...OF_SETTINGS, path: '/settings', handler: visit => showSettings(visit) },
  {
    ...OF_SETTINGS,
    method: 'POST',
    path: '/settings',
    async handler(visit) {
      const { form, store, viewer } = visit
      const timeZone = form.get('timeZone') ?? ''
      const units = form.get('units') ?? ''
      const weeklyGoal = readGoal(form.get('weeklyGoal'))
      if (weeklyGoal === undefined) {
        return showSettings(visit, 'Enter the weekly goal as a whole number of repetitions, or leave it empty.')
      }
      if (knownTimeZone(timeZone) === undefined || !isUnits(units)) {
        return showSettings(visit, 'That cannot be saved: choose a time zone and units.')
      }
      await setPreferences(store, viewer.session.accountId, { timeZone, units, weeklyGoal })
      return redirect('/settings?saved=account')
    },
  },
  {
    ...OF_SETTINGS,
    method: 'POST',
    path: '/settings/sessions',
    act: signOutOthers,
    async handler(visit) {
      const { form, store, viewer, now, actor } = visit
      const { accountId, id: keepSession } = viewer.session
      const session = form.get('session')
      const chosen = session === null ? {} : { chosen: parseId(session) ?? 0 }
      await signOutOthers(store, { accountId, keepSession, ...chosen }, now, actor)
      return session === null ? othersSignedOut(visit, 'sessions') : redirect('/settings?saved=sessions')
    },
  },
  {
    ...OF_SETTINGS,
    path: '/settings/export',
    confirms: 'Export everything',
    isDownload: true,
    isExport: true,
    handler: visit => ndjsonFile(visit, 'lockstep', archiveParts(visit.store, visit.viewer.session.accountId)),
  },
  {
    ...OF_SETTINGS,
    path: '/settings/page',
    confirms: 'Export everything',
    isDownload: true,
    isExport: true,
    handler: visit => htmlFile(visit, 'lockstep', keptPage(visit.store, visit.viewer, visit.now)),
  },
  ...passwordPages,
  ...passkeyPages,
  ...oidcPages,
  ...eventPages,
  ...deletedPages,
  ...deleteAccountPages,
]

/** Null for no goal; undefined if the text is not a valid one. */
function readGoal(text: string | null): number | null | undefined {
  if (text === null || text.trim() === '') return null
  return /^[1-9]\d{0,5}$/.test(text.trim()) ? Number(text) : undefined
}

/** What the forms on other pages come back with. */
const SAVED = {
  password: 'The password is saved. Other browsers were signed out.',
  passkeys: 'The passkeys are saved.',
  oidc: 'The link is saved.',
  sessions: 'The browser was signed out.',
} as const

async function showSettings(visit: Visit, problem?: string) {
  const { store, viewer, now, query, oidc } = visit
  const { accountId } = viewer.session
  const sessions = await listSessions(store, accountId, now)
  const methods = await readSignInMethods(store.reads, accountId, signInAddress(visit))
  const saved = query.get('saved')
  const signIn = Object.entries(SAVED).find(([name]) => name === saved)?.[1]
  return view({
    title: 'Settings',
    lead: html`Signed in as ${ownName(viewer)}.`,
    status: problem === undefined ? 200 : 422,
    body: html`
      ${section(
        'Display',
        'Times, units and what this browser shows.',
        html`
          ${problem === undefined ? note(saved === 'account' ? 'Saved.' : undefined) : html`<p class="problem" role="alert">${problem}</p>`}
          ${recordsForm(visit)}
          ${browserSettings(visit)}
        `,
      )}
      ${section(
        'Sign-in',
        'Ways in, and where they are used.',
        html`
          ${note(signIn)}
          ${passwordSetting(methods)}
          ${await passkeysSetting(visit)}
          ${oidc === undefined ? nothing : await oidcSetting(visit, oidc)}
          ${sessionsSetting(visit, sessions)}
          ${setting('Account events', 'Sign-ins, and changes of keys, access and sign-in methods.', html`<a class="button" href="/settings/events">Show</a>`)}
        `,
      )}
      ${section(
        'Data',
        'Your records, to keep or to bring back.',
        html`
          ${note(query.has('confirmed') ? 'Confirmed for ten minutes.' : undefined)}
          ${setting('Export', html`All records as NDJSON, which <code>lockstep import</code> reads.${viewer.discreet ? html` ${AS_STORED}` : nothing}`, html`<a class="button" href="/settings/export">Download</a>`)}
          ${setting('One page to keep', 'Every year and all tables as one HTML file, which needs no network.', html`<a class="button" href="/settings/page">Download the page</a>`)}
          ${setting('Deleted records', 'What you deleted stays away until you restore it.', html`<a class="button" href="/settings/deleted">Show</a>`)}
        `,
      )}
      ${section(
        'Danger',
        'This cannot be undone.',
        setting(
          'Delete account',
          'Deletes this account and everything that belongs to it. Export it first if you want to keep anything.',
          html`<a class="button danger" href="/settings/delete">Delete account…</a>`,
        ),
        ' danger',
      )}
    `,
  })
}

function note(text: string | undefined): Html {
  return text === undefined ? nothing : html`<p class="note" role="status">${text}</p>`
}
