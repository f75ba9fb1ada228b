import type { Act, ActFacts } from '../../accounts/act.ts'
import { html, type Html, nothing } from '../html.ts'
import { type DashboardPage, type PageResult, type Section, type View, view, type Visit } from '../page.ts'
import { Refusal } from '../../contract/refusal.ts'
import { mayWriteRecords } from '../../pull/connections.ts'
import { ownCommand } from '../../version.ts'
import { code } from './components.ts'

interface FormPage {
  readonly title: string
  /** The path that it is sent to, if that is not the path of this page. */
  readonly action?: string
  readonly problem?: string | undefined
  readonly status?: number | undefined
  readonly body: Html
  /** A card beside it. */
  readonly beside?: Html
  /** The text of its button, if that is not the title. */
  readonly button?: string
  /** Its text while the server works, if that may take a while. */
  readonly waiting?: string
  readonly sendsFiles?: boolean
  /** In a dangerous form the way back has the focus. */
  readonly isDangerous?: boolean
}

/** A page that consists of one form. Canceling leads to the first page of the section. */
export function formPage({ sectionStart, path }: Visit, { title, problem, body, ...more }: FormPage): View {
  const {
    action = path,
    button = title,
    waiting,
    status = problem === undefined ? 200 : 422,
    sendsFiles = false,
    isDangerous = false,
    beside,
  } = more
  // Where there is nothing to fill in.
  const hasFocus = !isDangerous && !/<(?:input|select|textarea)/.test(body.toString())
  return view({
    title,
    back: sectionStart,
    status,
    body: html`
      <div${beside && html` class="tiles"`}>
      <div class="card narrow${isDangerous ? ' danger' : ''}">
        <form class="stack" method="post" action="${action}"${sendsFiles ? html` enctype="multipart/form-data"` : nothing}>
          ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
          ${body}
          <div class="buttons">
            <button class="${isDangerous ? 'danger' : 'primary'}"${hasFocus && html` autofocus`}${waiting === undefined ? nothing : html` data-waiting="${waiting}"`}>${button}</button>
            <a class="button" href="${sectionStart.path}"${isDangerous ? html` autofocus` : nothing}>${isDangerous ? 'Keep' : 'Cancel'}</a>
          </div>
        </form>
      </div>
      ${beside}
      </div>
    `,
  })
}

/** Does the work of a form. If it is refused, the form is shown again with the reason. */
export async function submit(
  work: () => Promise<PageResult>,
  showAgain: (problem: string) => PageResult | Promise<PageResult>,
): Promise<PageResult> {
  try {
    return await work()
  } catch (error) {
    return showAgain(problemOf(error))
  }
}

/** Does an act with what its form holds, which the act checks, for the account that signed in. Throws Refusal. */
export function doAct<Input, Result>(
  { store, viewer, now, actor }: Visit,
  act: Act<Input, Result>,
  entered: { readonly [Field in keyof Input]?: unknown },
): Promise<Result> {
  return act(store, { ...entered, accountId: viewer.session.accountId } as Input, now, actor)
}

interface ActForm<Input, Result, Found> extends Pick<FormPage, 'isDangerous'> {
  readonly section: Section
  /** Of the page with the form. */
  readonly path: string
  /** The path that it is sent to, if it is another one. */
  readonly sentTo?: string
  readonly act: Act<Input, NoInfer<Result>>
  readonly takesLong?: boolean
  /** What the path names. Throws ApiError unless it is of the account that signed in. */
  readonly find: (visit: Visit) => Found | Promise<Found>
  /** What the form says and has. Its title and its button are those of the act. */
  readonly body?: (visit: Visit, found: Found, problem?: string) => Html
  /** The page, if it is more than such a form. */
  readonly show?: (visit: Visit, found: Found, problem?: string) => PageResult | Promise<PageResult>
  /** What the act is done with, or what is wrong with what was entered. */
  readonly enter: (
    visit: Visit,
    found: Found,
  ) => { readonly [Field in keyof Input]?: unknown } | Promise<{ readonly [Field in keyof Input]?: unknown } | string>
  /** What does the act, if this process may not. */
  readonly perform?: typeof doAct<Input, Result>
  readonly done: (visit: Visit, result: Result) => PageResult | Promise<PageResult>
}

/** The page of a form that does an act, and what the form does. */
export function actPages<Input, Result, Found>(form: ActForm<Input, Result, Found>): readonly DashboardPage[] {
  const { section, path, act, takesLong = false, find, enter, perform = doAct, done } = form
  const { body = () => nothing, isDangerous = false, sentTo = path } = form
  const ask = (visit: Visit, found: Found, problem?: string) =>
    formPage(visit, { title: act.title, problem, isDangerous, body: body(visit, found, problem) })
  const { show = ask } = form
  const page = { section, path, reads: null } as const
  const submitFound = async (visit: Visit) => {
    const found = await find(visit)
    const again = (problem: string) => show(visit, found, problem)
    return submit(async () => {
      const entered = await enter(visit, found)
      return typeof entered === 'string' ? again(entered) : done(visit, await perform(visit, act, entered))
    }, again)
  }
  return [
    { ...page, act, handler: async visit => show(visit, await find(visit)) },
    { ...page, path: sentTo, method: 'POST', act, takesLong, handler: submitFound },
  ]
}

/** Why a form was refused, for its page. Throws what is no refusal. */
export function problemOf(error: unknown): string {
  if (error instanceof Refusal) return `That did not work: ${error.message}.`
  throw error
}

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
