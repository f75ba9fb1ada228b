import { deleteRecords } from '../../../accounts/deleted-records.ts'
import { listTyped, type TypedSession } from '../../../archive/made-here.ts'
import { MAX_DELETED } from '../../../archive/preview.ts'
import { html, type Html, nothing } from '../../html.ts'
import { card, table } from '../../layout/components.ts'
import { actPages } from '../../layout/form-page.ts'
import { doRecordAct, recordForm } from '../../layout/record-acts.ts'
import { redirect, type Visit } from '../../page.ts'
import { kindName } from '../../text/labels.ts'
import { countText, dateTime } from '../../text/text.ts'

/** Sessions that were typed before the server that has them was connected. */

const DELETE_TYPED = 'Delete the typed ones'

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
    { look: 'compact' },
  )
}
