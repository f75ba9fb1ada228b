import type { Act } from '../../accounts/act.ts'
import { mayWriteRecords } from '../../pull/connections.ts'
import { html, type Html } from '../html.ts'
import { type PageResult, redirect, view, type View, type Visit } from '../page.ts'
import { code } from './components.ts'
import { submit } from './form-page.ts'

/** Acts that remove records, which the role of the service may not do itself on PostgreSQL. */

/** Whether pages may change records: this process, or a child with another role. */
export async function mayChangeRecords({ store, config }: Visit): Promise<boolean> {
  return config.pullDatabaseUrl !== '' || (await mayWriteRecords(store))
}

/** Does such an act for the account that signed in. Throws Refusal. */
export async function doRecordAct<Input>(
  { store, viewer, uploads, actor, now }: Visit,
  act: Act<Input>,
  /** The act checks it. */
  entered: { readonly [Field in keyof Input]?: unknown },
): Promise<void> {
  const input = { ...entered, accountId: viewer.session.accountId }
  if (await mayWriteRecords(store)) await act(store, input as Input, now, actor)
  else await uploads.change({ event: act.event, input, actor, now })
}

/** The same with what a form holds. If it is refused, the form is shown again. */
export function submitRecordAct<Input>(
  visit: Visit,
  act: Act<Input>,
  entered: Parameters<typeof doRecordAct<Input>>[2],
  to: string,
  showAgain: (problem: string) => PageResult | Promise<PageResult>,
): Promise<PageResult> {
  return submit(async () => {
    await doRecordAct(visit, act, entered)
    return redirect(to)
  }, showAgain)
}

/** In place of a form where neither may. */
export function commandInstead({ sectionStart }: Visit, title: string, what: Html, command: string): View {
  return view({
    title,
    back: sectionStart,
    body: html`<div class="card narrow stack">${what}<p>The service may not remove records from its database. Whoever runs it does so with this command:</p>${code(command, 'command')}</div>`,
  })
}
