import { listSessions, signOutOthers } from '../../../accounts/browser-sessions.ts'
import { setPassword } from '../../../accounts/passwords.ts'
import { setPreferences } from '../../../accounts/preferences.ts'
import { archiveParts } from '../../../archive/export.ts'
import { AS_STORED, card } from '../../layout/components.ts'
import { htmlFile, ndjsonFile } from '../../files.ts'
import { keptPage } from '../../keep/kept-page.ts'
import { submitAct } from '../../layout/form-page.ts'
import { html, type Html, nothing } from '../../html.ts'
import { PASSWORDS_DIFFER, readNewPassword } from '../../sign-in/new-password.ts'
import { checkPassword, othersSignedOut, signInAddress } from '../../sign-in/reauthentication.ts'
import { type DashboardPage, redirect, view, type Visit } from '../../page.ts'
import { parseId } from '../../../contract/parameters.ts'
import { knownTimeZone } from '../../../contract/time.ts'
import { isUnits } from '../../visit.ts'
import { readSignInMethods } from '../../../accounts/sign-in-methods.ts'
import { deleteAccountCard } from './delete-account.ts'
import { deletedCard } from './deleted.ts'
import { accountForm, lookForms } from './forms.ts'
import { eventPages } from './events.ts'
import { oidcCard } from './oidc.ts'
import { passkeyCard } from './passkeys.ts'
import { passwordCard } from './password.ts'
import { sessionTable } from './sessions.ts'

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
        return showSettings(visit, {
          account: 'Enter the weekly goal as a whole number of repetitions, or leave it empty.',
        })
      }
      if (knownTimeZone(timeZone) === undefined || !isUnits(units)) {
        return showSettings(visit, {
          account: 'That cannot be saved: choose a time zone and units.',
        })
      }
      await setPreferences(store, viewer.session.accountId, { timeZone, units, weeklyGoal })
      return redirect('/settings?saved=account')
    },
  },
  {
    ...OF_SETTINGS,
    method: 'POST',
    path: '/settings/password',
    async handler(visit) {
      const { form, viewer } = visit
      const password = readNewPassword(form)
      if (password === undefined) return showSettings(visit, { password: PASSWORDS_DIFFER })
      const proof = await checkPassword(visit, form.get('current') ?? '')
      if (typeof proof === 'string') return showSettings(visit, { password: proof })
      return submitAct(
        visit,
        setPassword,
        { password, keepSession: viewer.session.id },
        () => othersSignedOut(visit, 'password'),
        problem => showSettings(visit, { password: problem }),
      )
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
  ...eventPages,
]

/** Null for no goal; undefined if the text is not a valid one. */
function readGoal(text: string | null): number | null | undefined {
  if (text === null || text.trim() === '') return null
  return /^[1-9]\d{0,5}$/.test(text.trim()) ? Number(text) : undefined
}

type Forms = 'account' | 'password' | 'passkeys' | 'oidc' | 'sessions'

const CONFIRMED = html`<p class="note" role="status">Confirmed for ten minutes.</p>`

async function showSettings(visit: Visit, problems: Partial<Record<Forms, string>> = {}) {
  const { store, viewer, now, query } = visit
  const { accountId } = viewer.session
  const sessions = await listSessions(store, accountId, now)
  const saved = query.get('saved')
  const message = (form: Forms) => messageOf(problems[form], saved === form)
  const methods = await readSignInMethods(store.reads, accountId, signInAddress(visit))
  const passkeys = await passkeyCard(visit)
  const linked = visit.oidc === undefined ? nothing : await oidcCard(visit, visit.oidc, message('oidc'))
  return view({
    title: 'Settings',
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: html`
      <div class="columns">
        <div>
          ${card('Account', html`${message('account')}${accountForm(visit)}`)}
          ${card('Appearance', lookForms(visit))}
        </div>
        <div>
          ${card('Password', html`${message('password')}${passwordCard(visit, methods)}`)}
          ${card('Passkeys', html`${message('passkeys')}${passkeys}`)}
          ${linked}
          ${card(
            'Export',
            html`
              ${query.has('confirmed') ? CONFIRMED : nothing}
              <p>All records of this account as NDJSON, one on each line, in the format that <code>lockstep import</code> reads. Passwords and API keys are not included.${viewer.discreet ? html` ${AS_STORED}` : nothing}</p>
              <p><a class="button" href="/settings/export">Download</a></p>
              <p>Or all of it as one page to keep: every year, and all tables. It needs no network, and is not for <code>import</code>.</p>
              <p><a class="button" href="/settings/page">Download the page</a></p>
            `,
          )}
        </div>
      </div>
      ${card('Open browser sessions', html`${message('sessions')}${sessionTable(visit, sessions)}<p><a href="/settings/events">Account events</a>: sign-ins, also failed ones, and changes of keys, access and sign-in methods.</p>`)}
      ${card('Deleted records', deletedCard)}
      ${deleteAccountCard}
    `,
  })
}

function messageOf(problem: string | undefined, saved: boolean): Html {
  if (problem !== undefined) return html`<p class="problem" role="alert">${problem}</p>`
  return saved ? html`<p class="note" role="status">Saved.</p>` : nothing
}
