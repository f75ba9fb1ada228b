import { allowRecords, deleteRecords, listDeleted } from '../../../accounts/deleted-records.ts'
import { eraseDeleted, removeAccount } from '../../../accounts/removal.ts'
import { MAX_NAME_LENGTH } from '../../../contract/names.ts'
import { html, nothing } from '../../html.ts'
import { logPage, table } from '../../layout/components.ts'
import { actPages, doRecordAct, formPage, mayChangeRecords, recordForm } from '../../layout/form-page.ts'
import { type DashboardPage, redirect, type Section, view, type Visit } from '../../page.ts'
import { clearSiteData } from '../../site.ts'
import { noCookie } from '../../sign-in/sealed-cookie.ts'
import { kindName } from '../../text/labels.ts'
import { dateTime, NONE } from '../../text/text.ts'
import { SESSION } from '../../visit.ts'

/** Deleting single records, and allowing them again; deleting the account. */

/** The sections with pages of records, and the kinds of these. */
const recordPages = [
  ['training', '/training', 'training-session'],
  ['programs', '/programs', 'training-template'],
  ['locks', '/locks', 'lock-session'],
  ['lockTemplates', '/lock-templates', 'lock-template'],
] as const satisfies readonly (readonly [Section, string, string])[]

export const deletedPages: readonly DashboardPage[] = [
  ...recordPages.flatMap(([section, base, kind]) =>
    actPages({
      section,
      path: `${base}/:id/delete`,
      act: deleteRecords,
      takesLong: true,
      find: () => kind,
      show: showForm,
      enter: ({ id }) => ({ records: [{ kind, id }] }),
      perform: doRecordAct,
      done: () => redirect(base),
    }),
  ),
  ...actPages({
    section: 'settings',
    path: '/settings/deleted',
    act: allowRecords,
    takesLong: true,
    find: () => undefined,
    show: (visit, _, problem) => showDeleted(visit, problem),
    enter: ({ form }) => ({ records: [{ kind: form.get('kind') ?? '', id: Number(form.get('id')) }] }),
    perform: doRecordAct,
    done: () => redirect('/settings/deleted'),
  }),
]

function showForm(visit: Visit, kind: string, problem?: string) {
  const { id } = visit
  return recordForm(visit, deleteRecords, {
    title: 'Delete this record',
    problem,
    what: html`<p>${kindName(kind)}: number ${id}. It goes from all lists and figures, and stays away from later copies and files. Settings can restore it.</p>`,
    command: `record remove ${kind} ${id}`,
  })
}

async function showDeleted(visit: Visit, problem?: string) {
  const { store, viewer, query, path } = visit
  const { rows, links } = await logPage({ path, query, anchor: 'deleted' }, ROWS, range =>
    listDeleted(store, viewer.session.accountId, range),
  )
  const mayWrite = await mayChangeRecords(visit)
  return view({
    title: 'Deleted records',
    status: problem === undefined ? 200 : 422,
    body: html`
      <section class="card" id="deleted">
        ${problem === undefined ? nothing : html`<p class="problem" role="alert">${problem}</p>`}
        <p class="muted">A record that you restore comes back with the next copy or file that has it.${mayWrite ? nothing : html` Whoever runs this service restores one with <code>lockstep record allow</code>.`}</p>
        ${
          rows.length === 0
            ? html`<p class="muted">None.</p>`
            : html`${table(
                'Deleted records',
                [
                  { title: 'Record', line: 'first', cell: ({ kind }) => kindName(kind) },
                  { title: 'Number', line: 'first', numeric: true, cell: ({ id }) => String(id) },
                  { title: 'Of', line: 'second', cell: ({ at }) => (at === null ? NONE : dateTime(viewer, at)) },
                  { title: 'Deleted', line: 'second', cell: ({ deletedAt }) => dateTime(viewer, deletedAt) },
                  {
                    title: '',
                    cell: ({ kind, id }) =>
                      mayWrite &&
                      html`<form method="post" action="/settings/deleted">
                        <input type="hidden" name="kind" value="${kind}"><input type="hidden" name="id" value="${id}">
                        <button class="small">Restore</button>
                      </form>`,
                  },
                ],
                rows,
              )}${links}`
        }
      </section>
    `,
  })
}

const ROWS = 50

const DELETE = { section: 'settings', reads: null, path: '/settings/delete', confirms: true } as const

export const deleteAccountPages: readonly DashboardPage[] = [
  { ...DELETE, handler: visit => showAccountForm(visit) },
  {
    ...DELETE,
    method: 'POST',
    async handler(visit) {
      const { form, store, viewer, now, inBackground } = visit
      const { accountId, username } = viewer.session
      if (form.get('username') !== username) return showAccountForm(visit, 'That is not the username of this account.')
      await removeAccount(store, accountId, now)
      // Takes seconds for a large file. If it fails, the next start of the service tries again.
      inBackground(eraseDeleted(store))
      return redirect('/signin?done=deleted', {
        cookies: [noCookie({ site: visit.site, name: SESSION })],
        headers: clearSiteData(),
      })
    },
  },
]

function showAccountForm(visit: Visit, problem?: string) {
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
