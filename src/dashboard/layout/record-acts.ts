import type { Act, ActFacts } from '../../accounts/act.ts'
import { mayWriteRecords } from '../../pull/connections.ts'
import { ownCommand } from '../../version.ts'
import { html, type Html } from '../html.ts'
import { view, type View, type Visit } from '../page.ts'
import { code } from './components.ts'
import { doAct, formPage } from './form-page.ts'

/** Acts that remove records, which the role of the service may not do itself on PostgreSQL. */

/** Whether pages may change records: this process, or a child with another role. */
export async function mayChangeRecords({ store, config }: Visit): Promise<boolean> {
  return config.pullDatabaseUrl !== '' || (await mayWriteRecords(store))
}

/** Does such an act for the account that signed in. Throws Refusal. */
export async function doRecordAct<Input>(
  visit: Visit,
  act: Act<Input>,
  entered: { readonly [Field in keyof Input]?: unknown },
): Promise<unknown> {
  const { store, viewer, uploads, actor, now } = visit
  if (await mayWriteRecords(store)) return doAct(visit, act, entered)
  const input = { ...entered, accountId: viewer.session.accountId }
  return uploads.change({ event: act.event, input, actor, now })
}

interface RecordForm {
  readonly title: string
  readonly problem: string | undefined
  readonly what: Html
  /** The command that does the same, without its account. */
  readonly command: string
}

/** The form that asks before such an act, or the command. */
export async function recordForm(visit: Visit, act: ActFacts, { title, problem, what, command }: RecordForm) {
  if (await mayChangeRecords(visit)) {
    return formPage(visit, { title, problem, isDangerous: true, button: act.title, body: what })
  }
  return commandInstead(visit, title, what, `${command} --account ${visit.viewer.session.accountId}`)
}

/** In place of a form for what the service may not do. */
export function commandInstead({ sectionStart }: Visit, title: string, what: Html, command: string): View {
  return view({
    title,
    back: sectionStart,
    body: html`<div class="card narrow stack">${what}<p>The service may not remove records from its database. Whoever runs it does so with this command:</p>${code(`${ownCommand} ${command}`, 'command')}</div>`,
  })
}
