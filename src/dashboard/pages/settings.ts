import { isName, MAX_NAME_LENGTH } from '../../contract/names.ts'
import { exportArchive } from '../../archive/export.ts'
import { endSession, endSessions, listSessions, type SessionFacts } from '../../accounts/browser-sessions.ts'
import type { Store } from '../../store/index.ts'
import { setPreferences } from '../../accounts/preferences.ts'
import { MAX_PASSWORD_LENGTH, MIN_PASSWORD_LENGTH, setPassword, verifyPassword } from '../../accounts/passwords.ts'
import { RefusedError } from '../../accounts/errors.ts'
import { Attempts } from '../attempts.ts'
import { themes } from '../display.ts'
import { html, type Html, nothing } from '../html.ts'
import { download, type Page, redirect, view, type Visit } from '../page.ts'
import { card, table } from '../components.ts'
import { ownName } from '../names.ts'
import { countText, dateTime, timeAgo } from '../text.ts'
import { isTimeZone, isUnits, unitNames } from '../viewer.ts'

export const settingsPages: readonly Page[] = [
  { path: '/settings', answer: visit => showSettings(visit) },
  {
    method: 'POST',
    path: '/settings',
    async answer(visit) {
      const { form, store, viewer } = visit
      const timeZone = form.get('timeZone') ?? ''
      const units = form.get('units') ?? ''
      // In discreet mode the field is not there, and what it held stays.
      const displayName = (form.get('displayName') ?? viewer.session.displayName).trim()
      if (!isTimeZone(timeZone) || !isUnits(units) || !(displayName === '' || isName(displayName))) {
        return showSettings(visit, {
          account: `That cannot be saved: choose a time zone and units, and a name of at most ${MAX_NAME_LENGTH} characters.`,
        })
      }
      await setPreferences(store, viewer.session.accountId, { displayName, timeZone, units })
      return redirect('/settings?saved=account')
    },
  },
  {
    method: 'POST',
    path: '/settings/password',
    async answer(visit) {
      const { form, store, viewer } = visit
      const { accountId, username, id } = viewer.session
      const next = form.get('next') ?? ''
      if (next !== form.get('again')) {
        return showSettings(visit, { password: 'The new password and its repetition are not the same.' })
      }
      const attempt = guesses.begin(String(accountId))
      if (attempt.waitMs > 0) {
        return showSettings(visit, {
          password: `Too many tries. Try again in ${countText(Math.ceil(attempt.waitMs / 60_000), 'minute')}.`,
        })
      }
      if ((await verifyPassword(store, username, form.get('current') ?? '')) !== accountId) {
        return showSettings(visit, { password: 'The current password is not right.' })
      }
      attempt.refund()
      try {
        await setPassword(store, accountId, next, id)
      } catch (error) {
        if (error instanceof RefusedError)
          return showSettings(visit, {
            password: `A password has ${MIN_PASSWORD_LENGTH} to ${MAX_PASSWORD_LENGTH} characters.`,
          })
        throw error
      }
      return redirect('/settings?saved=password')
    },
  },
  {
    method: 'POST',
    path: '/settings/sessions',
    async answer({ form, store, viewer, now }) {
      const { accountId, id } = viewer.session
      const named = form.get('session')
      if (named === null) {
        await endSessions(store, accountId, id)
      } else {
        const own = (await listSessions(store, accountId, now)).find(session => String(session.id) === named)
        if (own !== undefined && own.id !== id) await endSession(store, own.id)
      }
      return redirect('/settings?saved=sessions')
    },
  },
  {
    path: '/settings/export',
    answer: ({ store, viewer, now }) =>
      download({
        file: `lockstep-${new Date(now).toISOString().slice(0, 10)}.ndjson`,
        type: 'application/x-ndjson',
        body: archiveOf(store, viewer.session.accountId),
      }),
  },
]

/** An open browser must not be a place to guess the password without end. */
const guesses = new Attempts()

type Forms = 'account' | 'password' | 'sessions'

async function showSettings(visit: Visit, problems: Partial<Record<Forms, string>> = {}) {
  const { store, viewer, now, query } = visit
  const sessions = await listSessions(store, viewer.session.accountId, now)
  const message = (form: Forms) => messageOf(problems[form], query.get('saved') === form)
  return view({
    section: 'settings',
    title: 'Settings',
    status: Object.keys(problems).length === 0 ? 200 : 422,
    body: html`
      <div class="columns">
        <div>
          ${card('Account', html`${message('account')}${accountForm(visit)}`)}
          ${card('Look', lookForms(visit))}
        </div>
        <div>
          ${card('Password', html`${message('password')}${passwordForm(viewer.session.username, viewer.discreet)}`)}
          ${card(
            'Export',
            html`
              <p>Everything this account has: its records as NDJSON, one record a line, in the form that <code>lockstep import</code> reads. Passwords and keys are not in it.</p>
              <p><a class="button" href="/settings/export" download>Download</a></p>
            `,
          )}
        </div>
      </div>
      ${card('Open browser sessions', html`${message('sessions')}${sessionTable(visit, sessions)}`)}
    `,
  })
}

function messageOf(problem: string | undefined, saved: boolean): Html {
  if (problem !== undefined) return html`<p class="problem" role="alert">${problem}</p>`
  return saved ? html`<p class="note" role="status">Saved.</p>` : nothing
}

function accountForm({ viewer }: Visit): Html {
  const { session, timeZone, units, discreet } = viewer
  return html`
    <form class="stack" method="post" action="/settings">
      ${
        discreet
          ? html`<p class="muted">Signed in as ${ownName(viewer)}. The name can be changed when discreet mode is off.</p>`
          : html`<label>Name <span class="muted">shown instead of ${session.username}</span>
              <input name="displayName" maxlength="${MAX_NAME_LENGTH}" autocomplete="nickname" value="${session.displayName}" placeholder="${session.username}">
            </label>`
      }
      <label>Time zone
        <select name="timeZone">${zones(timeZone).map(
          zone =>
            html`<option value="${zone}"${zone === timeZone ? html` selected` : nothing}>${zone.replaceAll('_', ' ')}</option>`,
        )}</select>
      </label>
      <label>Distances in
        <select name="units">${Object.entries(unitNames).map(
          ([name, title]) =>
            html`<option value="${name}"${name === units ? html` selected` : nothing}>${title}</option>`,
        )}</select>
      </label>
      <div><button class="primary">Save</button></div>
    </form>
  `
}

function lookForms({ viewer }: Visit): Html {
  const titles = { auto: 'Auto', light: 'Light', dark: 'Dark' } as const
  return html`
    <div class="stack">
      <form class="row" method="post" action="/display" data-display>
        <input type="hidden" name="back" value="/settings">
        <span class="name" id="theme">Theme</span>
        <span class="choice" role="group" aria-labelledby="theme">${themes.map(
          theme =>
            html`<button name="theme" value="${theme}" aria-pressed="${String(theme === viewer.theme)}">${titles[theme]}</button>`,
        )}</span>
      </form>
      <form class="row" method="post" action="/display" data-display>
        <input type="hidden" name="back" value="/settings">
        <span class="name" id="discreet">Discreet mode</span>
        <span class="choice" role="group" aria-labelledby="discreet">
          <button name="discreet" value="0" aria-pressed="${String(!viewer.discreet)}">Off</button>
          <button name="discreet" value="1" aria-pressed="${String(viewer.discreet)}">On</button>
        </span>
      </form>
      <p class="muted">Both are kept in this browser. Discreet mode hides names, kinds and texts on every page; the key <kbd>D</kbd> turns it on and off.</p>
    </div>
  `
}

function passwordForm(username: string, discreet: boolean): Html {
  return html`
    <form class="stack" method="post" action="/settings/password">
      ${discreet ? nothing : html`<input type="hidden" name="username" autocomplete="username" value="${username}">`}
      <label>Current password<input type="password" name="current" autocomplete="current-password" required></label>
      <label>New password <span class="muted">${MIN_PASSWORD_LENGTH} characters or more</span><input type="password" name="next" autocomplete="new-password" minlength="${MIN_PASSWORD_LENGTH}" maxlength="${MAX_PASSWORD_LENGTH}" required></label>
      <label>New password again<input type="password" name="again" autocomplete="new-password" minlength="${MIN_PASSWORD_LENGTH}" maxlength="${MAX_PASSWORD_LENGTH}" required></label>
      <div><button>Change password</button></div>
      <p class="muted">Ends every other browser session. API keys stay as they are.</p>
    </form>
  `
}

function sessionTable({ viewer, now }: Visit, sessions: readonly SessionFacts[]): Html {
  const own = viewer.session.id
  return html`
    ${table(
      'Open browser sessions',
      [
        { title: 'Browser', cell: ({ browser }) => browserName(browser) },
        { title: 'Signed in', cell: ({ created_at }) => dateTime(viewer, created_at) },
        { title: 'Last used', cell: ({ seen_at }) => timeAgo(viewer, seen_at, now) },
        {
          title: html`<span class="hidden">Action</span>`,
          cell: ({ id, browser }) =>
            id === own
              ? html`<span class="muted">This one</span>`
              : html`<form method="post" action="/settings/sessions">
                  <button class="small" name="session" value="${id}" aria-label="Sign out ${browserName(browser)}">Sign out</button>
                </form>`,
        },
      ],
      sessions,
      undefined,
      { stacks: true },
    )}
    ${
      sessions.length > 1
        ? html`<form method="post" action="/settings/sessions"><button>Sign out others</button></form>`
        : html`<p class="muted">No other browser is signed in.</p>`
    }
  `
}

/** What people call the browser; it says little that can be trusted, so no more is made of it. */
function browserName(agent: string): string {
  const [, name] = BROWSERS.find(([mark]) => agent.includes(mark)) ?? []
  const [, system] = SYSTEMS.find(([mark]) => agent.includes(mark)) ?? []
  return `${name ?? 'Unknown browser'}${system === undefined ? '' : ` on ${system}`}`
}

const BROWSERS = [
  ['Firefox/', 'Firefox'],
  ['Edg/', 'Edge'],
  ['Chrome/', 'Chrome'],
  ['Safari/', 'Safari'],
  ['curl/', 'curl'],
] as const

const SYSTEMS = [
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS', 'macOS'],
  ['Linux', 'Linux'],
] as const

let allZones: readonly string[] | undefined

/** Every zone there is, and the one that is chosen. */
function zones(chosen: string): readonly string[] {
  allZones ??= ['UTC', ...Intl.supportedValuesOf('timeZone').filter(zone => zone !== 'UTC')]
  return allZones.includes(chosen) ? allZones : [chosen, ...allZones]
}

/** The archive of one account, as it is written. */
async function* archiveOf(store: Store, accountId: number): AsyncGenerator<string> {
  const parts: string[] = []
  await exportArchive(
    store,
    async text => {
      parts.push(text)
    },
    accountId,
  )
  yield* parts
}
