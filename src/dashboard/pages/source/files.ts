import { type ImportedFile, listFiles, undoFile } from '../../../accounts/imported-files.ts'
import { notFound } from '../../../contract/errors.ts'
import { html, type Html, nothing } from '../../html.ts'
import { card, countColumn, table } from '../../layout/components.ts'
import { actPages } from '../../layout/form-page.ts'
import { doRecordAct, recordForm } from '../../layout/record-acts.ts'
import { redirect, type Visit } from '../../page.ts'
import { freeText } from '../../text/names.ts'
import { countText, dateTime, NONE, numberText } from '../../text/text.ts'

/** What files brought in, and how it is taken out again. */

export const filePages = actPages({
  section: 'source',
  path: '/source/files/:id/undo',
  act: undoFile,
  takesLong: true,
  find: () => undefined,
  show: (visit, _, problem) => showUndo(visit, problem),
  enter: ({ id }) => ({ file: id }),
  perform: doRecordAct,
  done: () => redirect('/source'),
})

/** Nothing if no file has brought anything. */
export async function filesCard({ store, viewer }: Visit): Promise<Html> {
  const files = await listFiles(store, viewer.session.accountId)
  if (files.length === 0) return nothing
  return card(
    'Brought in from files',
    table<ImportedFile>(
      'Brought in from files',
      [
        { title: 'File', line: 'first', cell: ({ name }) => freeText(viewer, name) || NONE },
        { title: 'When', line: 'second', cell: ({ at }) => dateTime(viewer, at) },
        countColumn('New', ({ added }) => added),
        countColumn('Changed', ({ replaced }) => replaced),
        {
          title: 'Undo',
          numeric: true,
          cell: ({ id, removable }) =>
            removable === 0 ? nothing : html`<a class="button small" href="/source/files/${id}/undo">Undo</a>`,
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
  return recordForm(visit, undoFile, {
    title: 'Undo this file',
    problem,
    what: file === undefined ? nothing : whatOf(visit, file),
    command: `imports undo ${id}`,
  })
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
