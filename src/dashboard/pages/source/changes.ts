import { sum } from '../../../contract/numbers.ts'
import { eraseDeleted } from '../../../accounts/removal.ts'
import {
  mayWriteRecords,
  pullNow,
  readConnection,
  retryRejectedOf,
  setKnownLocks,
  setMine,
} from '../../../pull/connections.ts'
import { findGone, type GoneRecords, removeGone } from '../../../pull/gone.ts'
import { fieldText, html, type Html, nothing } from '../../html.ts'
import { table, card } from '../../layout/components.ts'
import { actPages, commandInstead, doRecordAct, formPage, recordForm, submit } from '../../layout/form-page.ts'
import { type DashboardPage, type PageResult, redirect, type Visit } from '../../page.ts'
import { kindName } from '../../text/labels.ts'
import { countText, numberText, dateTime } from '../../text/text.ts'
import { deleteRecords } from '../../../accounts/deleted-records.ts'
import { listTyped, type TypedSession } from '../../../archive/made-here.ts'
import { MAX_DELETED } from '../../../archive/preview.ts'
import { type ImportedFile, listFiles, undoFile } from '../../../accounts/imported-files.ts'
import { notFound } from '../../../contract/errors.ts'
import { freeText } from '../../text/names.ts'

const OF_SOURCE = { section: 'source', reads: null } as const

/** What only the person can say of the records of a connected source, and what they can remove. */
export const changePages: readonly DashboardPage[] = [
  { ...OF_SOURCE, path: '/source/gone', confirms: true, handler: visit => showGone(visit) },
  { ...OF_SOURCE, method: 'POST', path: '/source/gone', confirms: true, takesLong: true, handler: remove },
  { ...OF_SOURCE, path: '/source/locks', handler: visit => showLocks(visit) },
  { ...OF_SOURCE, method: 'POST', path: '/source/locks', handler: saveLocks },
  { ...OF_SOURCE, method: 'POST', path: '/source/mine', takesLong: true, handler: claim },
  { ...OF_SOURCE, method: 'POST', path: '/source/retry', takesLong: true, handler: retry },
]

/** Says that records without an owner belong to the account, now and later. */
async function claim(visit: Visit): Promise<PageResult> {
  const { store, viewer } = visit
  await setMine(store, viewer.session.accountId, true)
  if (await mayWriteRecords(store)) return retry(visit)
  await pullNow(store, viewer.session.accountId)
  return redirect('/source')
}

async function retry({ store, viewer }: Visit): Promise<PageResult> {
  if (await mayWriteRecords(store)) await retryRejectedOf(store, viewer.session.accountId)
  return redirect('/source?done=tried')
}

async function showGone(visit: Visit, problem?: string): Promise<PageResult> {
  const { store, viewer } = visit
  const found = await findGone(store, viewer.session.accountId)
  if (found.length === 0) return redirect('/source')
  const numbers = table<GoneRecords>(
    'What is no longer there',
    [
      { title: 'Kind', cell: ({ kind }) => kindName(kind) },
      { title: 'No longer there', numeric: true, cell: ({ count }) => numberText(count) },
      { title: 'You have', numeric: true, cell: ({ total }) => numberText(total) },
    ],
    found,
  )
  const title = 'Remove what is no longer there'
  const text = html`<p>That server does not have these records any more. They were missing twice, a day apart, and it does not know their numbers.</p>`
  if (!(await mayWriteRecords(store))) {
    return commandInstead(visit, title, html`${text}${numbers}`, 'pull prune')
  }
  return formPage(visit, {
    title,
    problem,
    isDangerous: true,
    button: `Remove ${countText(totalOf(found), 'record')}`,
    body: html`
      ${text}
      ${numbers}
      <p>Also remove them here? This cannot be undone.</p>
      <input type="hidden" name="count" value="${totalOf(found)}">
    `,
  })
}

const totalOf = (found: readonly GoneRecords[]) => sum(found.map(({ count }) => count))

async function remove(visit: Visit): Promise<PageResult> {
  const { store, viewer, form, actor, now, inBackground } = visit
  const { accountId } = viewer.session
  const found = await findGone(store, accountId)
  // Others than those that were shown are shown first.
  if (String(totalOf(found)) !== form.get('count')) return showGone(visit, 'That has changed meanwhile.')
  return submit(
    async () => {
      await removeGone(store, found, { actor, now }, accountId)
      inBackground(eraseDeleted(store))
      return redirect('/source')
    },
    problem => showGone(visit, problem),
  )
}

async function showLocks(visit: Visit, problem?: string): Promise<PageResult> {
  const { store, viewer, form } = visit
  const connection = await readConnection(store, viewer.session.accountId)
  if (connection === undefined) return redirect('/source')
  return formPage(visit, {
    title: 'Lock sessions by number',
    button: 'Save and copy',
    problem,
    body: html`
      <p>Some servers have no list of past lock sessions, but send one whose number you know. The next round asks for these.</p>
      <label>Numbers of lock sessions you know
        <input name="numbers" maxlength="2000" autocomplete="off" inputmode="text" placeholder="12,15-40" value="${fieldText(form.get('numbers') ?? connection.known_locks)}"${problem === undefined ? nothing : html` aria-describedby="problem"`}>
      </label>
    `,
  })
}

async function saveLocks(visit: Visit): Promise<PageResult> {
  const { store, viewer, form } = visit
  const { accountId } = viewer.session
  return submit(
    async () => {
      await setKnownLocks(store, accountId, form.get('numbers') ?? '')
      await pullNow(store, accountId)
      return redirect('/source')
    },
    problem => showLocks(visit, problem),
  )
}

const DELETE_TYPED = 'Delete the typed ones'

/** Of sessions that were typed before the server that has them was connected. */
export const typedPages = actPages({
  section: 'source',
  path: '/source/typed',
  act: deleteRecords,
  takesLong: true,
  find: findTyped,
  show: (visit, typed, problem) => {
    if (typed.length === 0) return redirect('/source')
    return recordForm(visit, deleteRecords, {
      title: DELETE_TYPED,
      problem,
      what: html`<p>${countText(typed.length, 'typed session')} ${typed.length === 1 ? 'goes' : 'go'} from all lists and figures. Those from the server stay.</p>${typedTable(visit, typed)}`,
      command: 'record remove KIND NUMBER',
    })
  },
  enter: (_, typed) => ({ records: typed.map(({ kind, id }) => ({ kind, id })) }),
  perform: doRecordAct,
  done: () => redirect('/source'),
})

/** Nothing unless the account has such sessions. */
export async function typedCard(visit: Visit): Promise<Html> {
  const typed = await findTyped(visit)
  if (typed.length === 0) return nothing
  return card(
    'Typed and copied',
    html`
      <p>${countText(typed.length, 'session')} that you typed ${typed.length === 1 ? 'begins' : 'begin'} within 15 minutes of one from the server. If they are the same, they count twice.</p>
      <p><a class="button" href="/source/typed">${DELETE_TYPED}</a></p>
    `,
    { id: 'typed' },
  )
}

function findTyped({ store, viewer }: Visit): Promise<TypedSession[]> {
  return listTyped(store.db, viewer.session.accountId, MAX_DELETED)
}

function typedTable({ viewer }: Visit, typed: readonly TypedSession[]): Html {
  const link = (kind: TypedSession['kind'], id: number) =>
    html`<a href="${kind === 'lock-session' ? '/locks' : '/training'}/${id}">${id}</a>`
  return table<TypedSession>(
    'Typed and copied',
    [
      { title: 'Kind', cell: ({ kind }) => kindName(kind) },
      { title: 'Began', cell: ({ at }) => dateTime(viewer, at) },
      { title: 'Typed', cell: ({ kind, id }) => link(kind, id) },
      { title: 'From the server', cell: ({ kind, copied }) => link(kind, copied) },
    ],
    typed,
  )
}

/** Taking out again what a file brought in. */
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
