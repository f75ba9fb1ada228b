import { allowRecords, deleteRecords, listDeleted } from '../../../accounts/deleted-records.ts'
import { html, nothing } from '../../html.ts'
import { logPage, table } from '../../layout/components.ts'
import { actPages } from '../../layout/form-page.ts'
import { doRecordAct, mayChangeRecords, recordForm } from '../../layout/record-acts.ts'
import { type DashboardPage, redirect, type Section, view, type Visit } from '../../page.ts'
import { kindName } from '../../text/labels.ts'
import { dateTime, NONE } from '../../text/text.ts'

/** Deleting single records, and allowing them again. */

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
    back: visit.sectionStart,
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
