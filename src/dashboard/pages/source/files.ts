import { type ImportedFile, listFiles, undoFile } from '../../../accounts/imported-files.ts'
import { notFound } from '../../../contract/errors.ts'
import { ownCommand } from '../../../version.ts'
import { html, type Html, nothing } from '../../html.ts'
import { card, table } from '../../layout/components.ts'
import { formPage } from '../../layout/form-page.ts'
import { commandInstead, mayChangeRecords, submitRecordAct } from '../../layout/record-acts.ts'
import type { DashboardPage, Visit } from '../../page.ts'
import { freeText } from '../../text/names.ts'
import { countText, dateTime, NONE, numberText } from '../../text/text.ts'

/** What files brought in, and how it is taken out again. */

const UNDO = { section: 'source', reads: null, path: '/source/files/:id/undo', act: undoFile } as const

export const filePages: readonly DashboardPage[] = [
  { ...UNDO, handler: visit => showUndo(visit) },
  {
    ...UNDO,
    method: 'POST',
    takesLong: true,
    handler: visit =>
      submitRecordAct(visit, undoFile, { file: visit.id }, '/source', problem => showUndo(visit, problem)),
  },
]

/** Nothing if no file has brought anything. */
export async function filesCard({ store, viewer }: Visit): Promise<Html> {
  const files = await listFiles(store, viewer.session.accountId)
  if (files.length === 0) return nothing
  return card(
    'Brought in from files',
    table<ImportedFile>(
      'Brought in from files',
      [
        { title: 'When', line: 'first', cell: ({ at }) => dateTime(viewer, at) },
        { title: 'File', line: 'second', cell: ({ name }) => freeText(viewer, name) || NONE },
        { title: 'New', numeric: true, line: 'second', unit: ' new', cell: ({ added }) => numberText(added) },
        {
          title: 'Changed',
          numeric: true,
          line: 'second',
          unit: ' changed',
          cell: ({ replaced }) => numberText(replaced),
        },
        {
          title: 'Undo',
          line: 'first',
          cell: ({ id, removable }) =>
            removable === 0 ? NONE : html`<a class="button small" href="/source/files/${id}/undo">Undo</a>`,
        },
      ],
      files,
    ),
    { id: 'files' },
  )
}

async function showUndo(visit: Visit, problem?: string) {
  const { store, viewer, id } = visit
  const [file] = await listFiles(store, viewer.session.accountId, id)
  if (file === undefined && problem === undefined) throw notFound('File')
  const title = 'Undo this file'
  const what = file === undefined ? nothing : whatOf(visit, file)
  if (!(await mayChangeRecords(visit))) {
    const command = `${ownCommand} imports undo ${id} --account ${viewer.session.accountId}`
    return commandInstead(visit, title, what, command)
  }
  return formPage(visit, { title, problem, isDangerous: true, button: 'Undo', body: what })
}

function whatOf({ viewer }: Visit, { name, at, removable, kept, replaced }: ImportedFile): Html {
  const shown = freeText(viewer, name)
  return html`
    <p>${shown === '' ? 'The file' : html`<strong>${shown}</strong>`} of ${dateTime(viewer, at)}: ${countText(removable, 'record')} that only this file brought ${removable === 1 ? 'is' : 'are'} removed.</p>
    ${kept === 0 ? nothing : html`<p>${numberText(kept)} that it brought ${kept === 1 ? 'stays' : 'stay'}: something else has brought or changed ${kept === 1 ? 'it' : 'them'} since.</p>`}
    ${replaced === 0 ? nothing : html`<p>${numberText(replaced)} that it changed ${replaced === 1 ? 'stays' : 'stay'} as ${replaced === 1 ? 'it is' : 'they are'}: what they were before is not kept.</p>`}
    <p>The file can be brought in again.</p>
  `
}
