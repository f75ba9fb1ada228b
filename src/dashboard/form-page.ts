import { RefusedError } from '../accounts/errors.ts'
import { html, type Html, nothing } from './html.ts'
import { type PageResult, type Section, sections, type View, view } from './page.ts'

interface FormPage {
  /** The section in which the form is; canceling leads to its page. */
  readonly section: Section
  readonly title: string
  readonly action: string
  /** What was wrong with the form that was sent. */
  readonly problem?: string | undefined
  readonly status?: number
  readonly body: Html
  readonly button: string
  /** Whether the form deletes or ends something. */
  readonly isDangerous?: boolean
  /** Whether the button has the focus, because there is nothing to fill in. */
  readonly focusesButton?: boolean
}

/** A page that consists of one form. It opens as a dialog over the page that links to it. */
export function formPage({ section, title, action, problem, body, button, ...more }: FormPage): View {
  const { status = problem === undefined ? 200 : 422, isDangerous = false, focusesButton = false } = more
  const { path, title: sectionTitle } = sections[section]
  return view({
    section,
    title,
    back: { path, title: sectionTitle },
    status,
    body: html`
      <div class="card narrow" data-dialog-body>
        <h2 class="dialog-title" id="dialog-title">${title}</h2>
        <form class="stack" method="post" action="${action}">
          ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
          ${body}
          <div class="buttons">
            <button class="${isDangerous ? 'danger' : 'primary'}"${focusesButton ? html` autofocus` : nothing}>${button}</button>
            <a class="button" href="${path}" data-close>${isDangerous ? 'Keep it' : 'Cancel'}</a>
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
    if (error instanceof RefusedError) return showAgain(`That did not work: ${error.message}.`)
    throw error
  }
}
