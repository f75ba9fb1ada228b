import { endSession, endSessions, listSessions } from '../../accounts/browser-sessions.ts'
import { setPassword } from '../../accounts/passwords.ts'
import { listSignIns } from '../../accounts/sign-ins.ts'
import { setPreferences } from '../../accounts/preferences.ts'
import { archiveParts } from '../../archive/export.ts'
import { isName, MAX_NAME_LENGTH } from '../../contract/names.ts'
import { card } from '../components.ts'
import { submit } from '../form-page.ts'
import { html, type Html, nothing } from '../html.ts'
import { PASSWORDS_DIFFER, readNewPassword } from '../new-password.ts'
import { checkPassword } from '../proof-check.ts'
import { download, type Page, redirect, view, type Visit } from '../page.ts'
import { knownTimeZone } from '../../contract/time-zones.ts'
import { isUnits } from '../viewer.ts'
import { readWays } from '../../accounts/ways.ts'
import { othersSignedOut } from '../others-signed-out.ts'
import { waysHere } from '../ways-here.ts'
import { deleteAccountCard } from './delete-account.ts'
import { accountForm, lookForms } from './settings-forms.ts'
import { oidcCard } from './settings-oidc.ts'
import { passkeyCard } from './settings-passkeys.ts'
import { passwordCard } from './settings-password.ts'
import { sessionTable } from './settings-sessions.ts'
import { signInTable } from './settings-sign-ins.ts'

export const settingsPages: readonly Page[] = [
  { path: '/settings', handler: visit => showSettings(visit) },
  {
    method: 'POST',
    path: '/settings',
    async handler(visit) {
      const { form, store, viewer } = visit
      const timeZone = form.get('timeZone') ?? ''
      const units = form.get('units') ?? ''
      // In discreet mode the form has no field for the name, which stays as it is.
      const displayName = (form.get('displayName') ?? viewer.session.displayName).trim()
      const weeklyGoal = readGoal(form.get('weeklyGoal'))
      if (weeklyGoal === undefined) {
        return showSettings(visit, {
          account: 'Enter the weekly goal as a whole number of repetitions, or leave it empty.',
        })
      }
      if (knownTimeZone(timeZone) === undefined || !isUnits(units) || !(displayName === '' || isName(displayName))) {
        return showSettings(visit, {
          account: `That cannot be saved: choose a time zone and units, and a name of at most ${MAX_NAME_LENGTH} characters.`,
        })
      }
      await setPreferences(store, viewer.session.accountId, { displayName, timeZone, units, weeklyGoal })
      return redirect('/settings?saved=account')
    },
  },
  {
    method: 'POST',
    path: '/settings/password',
    async handler(visit) {
      const { form, store, viewer } = visit
      const { accountId, id } = viewer.session
      const next = readNewPassword(form)
      if (next === undefined) return showSettings(visit, { password: PASSWORDS_DIFFER })
      const proof = await checkPassword(visit, form.get('current') ?? '')
      if (typeof proof === 'string') return showSettings(visit, { password: proof })
      return submit(
        async () => {
          await setPassword(store, accountId, next, id)
          return othersSignedOut(visit, 'password')
        },
        problem => showSettings(visit, { password: problem }),
      )
    },
  },
  {
    method: 'POST',
    path: '/settings/sessions',
    async handler(visit) {
      const { form, store, viewer, now } = visit
      const { accountId, id } = viewer.session
      const chosen = form.get('session')
      if (chosen === null) {
        await store.db.transaction().execute(db => endSessions(db, accountId, id))
        return othersSignedOut(visit, 'sessions')
      }
      const own = (await listSessions(store, accountId, now)).find(session => String(session.id) === chosen)
      if (own !== undefined && own.id !== id) await endSession(store, own.id)
      return redirect('/settings?saved=sessions')
    },
  },
  {
    path: '/settings/export',
    confirms: { section: 'settings', action: 'Export everything' },
    isDownload: true,
    handler: ({ store, viewer, now }) =>
      download({
        file: `lockstep-${new Date(now).toISOString().slice(0, 10)}.ndjson`,
        type: 'application/x-ndjson',
        body: archiveParts(store, viewer.session.accountId),
      }),
  },
]

/** Null for no goal; undefined if the text is not a valid one. */
function readGoal(text: string | null): number | null | undefined {
  if (text === null || text.trim() === '') return null
  return /^[1-9]\d{0,5}$/.test(text.trim()) ? Number(text) : undefined
}

type Forms = 'account' | 'password' | 'passkeys' | 'sessions'

const CONFIRMED = html`<p class="note" role="status">Confirmed for ten minutes.</p>`

async function showSettings(visit: Visit, problems: Partial<Record<Forms, string>> = {}) {
  const { store, viewer, now, query } = visit
  const { accountId } = viewer.session
  const sessions = await listSessions(store, accountId, now)
  const ways = await readWays(store, accountId, waysHere(visit))
  const passkeys = await passkeyCard(visit)
  const linked =
    visit.oidc === undefined
      ? nothing
      : await oidcCard(visit, visit.oidc, messageOf(undefined, query.get('saved') === 'oidc'))
  const signIns = await listSignIns(store, accountId)
  const message = (form: Forms) => messageOf(problems[form], query.get('saved') === form)
  return view({
    section: 'settings',
    title: 'Settings',
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: html`
      <div class="columns">
        <div>
          ${card('Account', html`${message('account')}${accountForm(visit)}`)}
          ${card('Appearance', lookForms(visit))}
        </div>
        <div>
          ${card('Password', html`${message('password')}${passwordCard(visit, ways)}`)}
          ${card('Passkeys', html`${message('passkeys')}${passkeys}`)}
          ${linked}
          ${card(
            'Export',
            html`
              ${query.has('confirmed') ? CONFIRMED : nothing}
              <p>All records of this account as NDJSON, one on each line, in the format that <code>./lockstep import</code> reads. Passwords and API keys are not included.</p>
              <p><a class="button" href="/settings/export">Download</a></p>
            `,
          )}
        </div>
      </div>
      ${card('Open browser sessions', html`${message('sessions')}${sessionTable(visit, sessions)}`)}
      ${card('Sign-ins', signInTable(visit, signIns))}
      ${card('Delete account', deleteAccountCard)}
    `,
  })
}

function messageOf(problem: string | undefined, saved: boolean): Html {
  if (problem !== undefined) return html`<p class="problem" role="alert">${problem}</p>`
  return saved ? html`<p class="note" role="status">Saved.</p>` : nothing
}
