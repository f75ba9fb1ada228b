import { listSessions, signOutOthers, type SessionFacts } from '../../../accounts/browser-sessions.ts'
import { setPreferences } from '../../../accounts/preferences.ts'
import { archiveParts } from '../../../archive/export.ts'
import { actionColumn, AS_STORED, logPage, section, setting, table } from '../../layout/components.ts'
import { datedFile } from '../../files.ts'
import { keptPage } from '../../keep/kept-page.ts'
import { html, nothing, type Html } from '../../html.ts'
import { othersSignedOut, signInAddress } from '../../sign-in/reauthentication.ts'
import { type DashboardPage, redirect, view, type Visit } from '../../page.ts'
import { parseId } from '../../../contract/parameters.ts'
import { freeText, recordName } from '../../text/names.ts'
import { BLANK, countText, languages, dateTime, timeAgo } from '../../text/text.ts'
import { knownTimeZone } from '../../../contract/time.ts'
import { isUnits } from '../../visit.ts'
import { readSignInMethods } from '../../../accounts/sign-in-methods.ts'
import { accountSettings, privacySettings } from './forms.ts'
import { deleteAccountPages, deletedPages } from './deleted.ts'
import { oidcPages, oidcSetting, passkeyPages, passkeysSetting, passwordPages, passwordSetting } from './methods.ts'
import { browserName, eventText, listEvents } from '../../../accounts/events.ts'

const OF_SETTINGS = { section: 'settings', reads: null } as const

const EXPORT = { ...OF_SETTINGS, confirms: true, isDownload: true, isExport: true } as const

export const settingsPages: readonly DashboardPage[] = [
  { ...OF_SETTINGS, path: '/settings', handler: visit => showSettings(visit) },
  {
    ...OF_SETTINGS,
    method: 'POST',
    path: '/settings',
    async handler(visit) {
      const { form, store, viewer } = visit
      const [timeZone, language, units, goal] = accountFields.map(name => form.get(name) ?? undefined)
      const weeklyGoal = goal === undefined ? undefined : readGoal(goal)
      if (Number.isNaN(weeklyGoal)) {
        return showSettings(visit, 'Enter the weekly goal as a whole number of repetitions, or leave it empty.')
      }
      const isKnown = [
        timeZone === undefined || knownTimeZone(timeZone) !== undefined,
        units === undefined || isUnits(units),
        language === undefined || language === '' || languages.includes(language),
      ]
      if (isKnown.includes(false)) return showSettings(visit, 'That cannot be saved: choose one of the values.')
      await setPreferences(store, viewer.session.accountId, { timeZone, units, language, weeklyGoal })
      return redirect(`/settings?saved=${accountFields.findLast(name => form.has(name)) ?? 'account'}`)
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
    ...EXPORT,
    path: '/settings/export',
    handler: visit => datedFile(visit, 'lockstep', 'ndjson', archiveParts(visit.store, visit.viewer.session.accountId)),
  },
  {
    ...EXPORT,
    path: '/settings/page',
    handler: visit => datedFile(visit, 'lockstep', 'html', keptPage(visit.store, visit.viewer, visit.now)),
  },
  ...passwordPages,
  ...passkeyPages,
  ...oidcPages,
  { ...OF_SETTINGS, path: '/settings/events', handler: showEvents },
  ...deletedPages,
  ...deleteAccountPages,
]

const accountFields = ['timeZone', 'language', 'units', 'weeklyGoal'] as const

/** Null for no goal; NaN if the text is not a valid one. */
function readGoal(text: string): number | null {
  if (text.trim() === '') return null
  return /^[1-9]\d{0,5}$/.test(text.trim()) ? Number(text) : Number.NaN
}

async function showSettings(visit: Visit, problem?: string) {
  const { store, viewer, now, oidc } = visit
  const { accountId } = viewer.session
  const sessions = await listSessions(store, accountId, now)
  const methods = await readSignInMethods(store.reads, accountId, signInAddress(visit))
  return view({
    title: 'Settings',
    lead: html`<span class="needs-script">Changes are saved at once.</span>`,
    status: problem === undefined ? 200 : 422,
    body: html`
      ${section(
        'Display',
        html`
          ${problem === undefined ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
          ${accountSettings(visit)}
        `,
      )}
      ${section('Privacy', privacySettings(visit))}
      ${section(
        'Sign-in',
        html`
          ${passwordSetting(methods)}
          ${await passkeysSetting(visit)}
          ${oidc === undefined ? nothing : await oidcSetting(visit, oidc)}
          ${sessionsSetting(visit, sessions)}
          ${setting('Account events', 'Sign-ins, and changes of keys, access and sign-in methods.', html`<a class="button" href="/settings/events">See events</a>`)}
        `,
      )}
      ${section(
        'Data',
        html`
          ${setting('Export', html`All records in one file (NDJSON), for another Lockstep.${viewer.discreet ? html` ${AS_STORED}` : nothing}`, html`<a class="button" href="/settings/export">Download records</a>`)}
          ${setting('One page to keep', 'Every year and all tables as one HTML file, which needs no network.', html`<a class="button" href="/settings/page">Download page</a>`)}
          ${setting('Deleted records', 'Kept out of every page until restored.', html`<a class="button" href="/settings/deleted">See records</a>`)}
        `,
      )}
      ${section(
        'Danger',
        setting(
          'Delete account',
          'Deletes this account and everything that belongs to it. This cannot be undone.',
          html`<a class="button danger" href="/settings/delete">Delete account…</a>`,
        ),
        { look: ' danger' },
      )}
    `,
  })
}

function sessionsSetting({ viewer, now }: Visit, sessions: readonly SessionFacts[]): Html {
  const own = viewer.session.id
  const isAlone = sessions.length < 2
  return setting(
    'Browsers',
    isAlone ? 'No other browser is signed in.' : 'Where this account is signed in.',
    isAlone ? nothing : html`<form method="post" action="/settings/sessions"><button>Sign out others</button></form>`,
    table(
      'Open browser sessions',
      [
        {
          title: 'Browser',
          line: 'first',
          cell: ({ id, browser }) =>
            html`${browserName(browser)}${id === own ? html` <span class="state">This one</span>` : nothing}`,
        },
        { title: 'Signed in', line: 'second', before: 'signed in ', cell: one => dateTime(viewer, one.created_at) },
        { title: 'Last used', line: 'second', before: 'used ', cell: ({ seen_at }) => timeAgo(viewer, seen_at, now) },
        actionColumn<SessionFacts>(({ id, browser }) =>
          id === own
            ? nothing
            : html`<form method="post" action="/settings/sessions">
                <button class="small" name="session" value="${id}" aria-label="Sign out ${browserName(browser)}">Sign out</button>
              </form>`,
        ),
      ],
      sessions,
    ),
  )
}

const EVENT_ROWS = 25

/** The log of what concerns the safety of the account that signed in. */
async function showEvents({ store, viewer, query, path }: Visit) {
  const { rows: events, links } = await logPage({ path, query, anchor: undefined }, EVENT_ROWS, range =>
    listEvents(store, viewer.session.accountId, range),
  )
  const eventTable = table(
    'Account events',
    [
      {
        title: 'What',
        line: 'first',
        cell: event => {
          const { subject: name, subject_id: id } = event
          const subject = id === 0 ? freeText(viewer, name) : recordName(viewer, 'key', { id, name })
          return html`${eventText(event)}${subject === '' ? nothing : html`: <strong>${subject}</strong>`}${event.times === 1 ? nothing : html` <span class="muted">${countText(event.times, 'time')}</span>`}`
        },
      },
      { title: 'When', line: 'second', cell: ({ at }) => dateTime(viewer, at) },
      {
        title: 'By',
        line: 'second',
        cell: ({ actor }) => ({ self: 'You', operator: 'Operator', service: 'Lockstep', '': '' })[actor],
      },
      {
        title: 'Network',
        line: 'second',
        // Of events that are counted, those beyond the rows of an hour have none.
        cell: ({ actor, network }) => (actor === '' && network === '' ? 'Other networks' : network || BLANK),
      },
      { title: 'Browser', line: 'second', cell: ({ browser }) => browser || BLANK },
    ],
    events,
    { id: 'event-table' },
  )
  return view({
    title: 'Account events',
    back: { path: '/settings', title: 'Settings' },
    lead: 'Events of the last year. An operator is whoever runs this service.',
    body: html`
      ${
        events.length === 0
          ? html`<p class="card muted">No events in the last year.</p>`
          : html`<div class="card">${eventTable}${links}</div>`
      }
      <p class="muted">A network is the first part of an address, which many people share. Wrong passwords within an hour are one row. If you do not recognise an event, change your password, sign out the other browsers, and revoke API keys.</p>
    `,
  })
}
