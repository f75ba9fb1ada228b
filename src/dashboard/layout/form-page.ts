import type { Act } from '../../accounts/act.ts'
import { html, type Html, nothing } from '../html.ts'
import { type DashboardPage, type PageResult, type Section, type View, view, type Visit } from '../page.ts'
import { Refusal } from '../../contract/refusal.ts'

interface FormPage {
  readonly title: string
  /** The path that it is sent to, if that is not the path of this page. */
  readonly action?: string
  readonly problem?: string | undefined
  readonly status?: number | undefined
  readonly body: Html
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
  } = more
  return view({
    title,
    back: sectionStart,
    status,
    body: html`
      <div class="card narrow${isDangerous ? ' danger' : ''}">
        <form class="stack" method="post" action="${action}"${sendsFiles ? html` enctype="multipart/form-data"` : nothing}>
          ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
          ${body}
          <div class="buttons">
            <button class="${isDangerous ? 'danger' : 'primary'}"${waiting === undefined ? nothing : html` data-waiting="${waiting}"`}>${button}</button>
            <a class="button" href="${sectionStart.path}"${isDangerous ? html` autofocus` : nothing}>${isDangerous ? 'Keep' : 'Cancel'}</a>
          </div>
        </form>
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

/** Does an act with what its form holds, which the act checks, for the account that signed in. */
export function submitAct<Input, Result>(
  visit: Visit,
  act: Act<Input, Result>,
  entered: { readonly [Field in keyof Input]?: unknown },
  done: (result: Result) => PageResult | Promise<PageResult>,
  showAgain: (problem: string) => PageResult | Promise<PageResult>,
): Promise<PageResult> {
  return submit(async () => done(await doAct(visit, act, entered)), showAgain)
}

/** The same without a form. Throws Refusal. */
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
  readonly enter: (visit: Visit, found: Found) => { readonly [Field in keyof Input]?: unknown }
  /** What does the act, if this process may not. */
  readonly perform?: (
    visit: Visit,
    act: Act<Input, Result>,
    entered: { readonly [Field in keyof Input]?: unknown },
  ) => Promise<Result>
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
    return submit(
      async () => done(visit, await perform(visit, act, enter(visit, found))),
      problem => show(visit, found, problem),
    )
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
