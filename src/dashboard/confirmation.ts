import { confirmSession } from '../accounts/browser-sessions.ts'
import { MAX_PASSWORD_LENGTH } from '../accounts/passwords.ts'
import { formPage } from './form-page.ts'
import { html, type Html, nothing } from './html.ts'
import { type Page, type PageResult, redirect, type Section, sections, type Visit } from './page.ts'
import { checkPassword } from './password-check.ts'
import { safePath } from './paths.ts'

const CONFIRM_PATH = '/confirm'
/** No other form has a field of this name. */
const FIELD = 'confirm'
const FRESH_MS = 10 * 60_000

/**
 * Asks for the password again where it was last entered more than ten minutes ago. What a form contained is kept and
 * submitted once the password is right. Undefined if the handler may run.
 */
export async function askAgain(visit: Visit, { method, path, confirms }: Page): Promise<PageResult | undefined> {
  if (confirms === undefined || isFresh(visit)) return undefined
  if (method !== 'POST') {
    // A download does not replace the page with the form, so the form leads back to the button of the download.
    return ask(visit, confirms, {
      action: CONFIRM_PATH,
      fields: [['next', `${sections[confirms].path}?confirmed=${path}`]],
    })
  }
  const fields = [...visit.form].filter(([name]) => name !== FIELD)
  const problem = visit.form.has(FIELD) ? await confirm(visit) : undefined
  if (visit.form.has(FIELD) && problem === undefined) return undefined
  return ask(visit, confirms, { action: visit.path, fields, problem })
}

/** The path that the password is sent to where no form is continued. */
export const confirmationPages: readonly Page[] = [
  {
    method: 'POST',
    path: CONFIRM_PATH,
    async handler(visit) {
      const next = safePath(visit.form.get('next'))
      const problem = await confirm(visit)
      return problem === undefined
        ? redirect(next)
        : ask(visit, 'settings', { action: CONFIRM_PATH, fields: [['next', next]], problem })
    },
  },
]

function isFresh({ viewer, now }: Visit): boolean {
  // A clock that is set back does not make it last longer.
  return Math.abs(now - viewer.session.confirmedAt) < FRESH_MS
}

/** Undefined if the password is right, else what to say. */
async function confirm(visit: Visit): Promise<string | undefined> {
  const { form, store, viewer, now } = visit
  const proof = await checkPassword(visit, form.get(FIELD) ?? '')
  if (typeof proof === 'string') return proof
  const isConfirmed = await confirmSession(store, { ...proof, id: viewer.session.id, now })
  return isConfirmed ? undefined : 'The password has changed meanwhile.'
}

interface PasswordForm {
  readonly action: string
  /** The fields that are sent with the password. */
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly problem?: string | undefined
}

function ask({ viewer }: Visit, section: Section, { action, fields, problem }: PasswordForm): PageResult {
  const { discreet, session } = viewer
  const kept: readonly Html[] = fields.map(
    ([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`,
  )
  return formPage({
    section,
    title: 'Confirm',
    action,
    problem,
    status: 403,
    button: 'Go on',
    body: html`
      <p>You signed in more than ten minutes ago. Enter your password to go on.</p>
      ${kept}
      ${discreet ? nothing : html`<input type="hidden" autocomplete="username" value="${session.username}">`}
      <label>Password
        <input type="password" name="${FIELD}" autocomplete="current-password" required maxlength="${MAX_PASSWORD_LENGTH}" autofocus${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }>
      </label>
    `,
  })
}
