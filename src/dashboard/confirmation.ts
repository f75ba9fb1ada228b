import { confirmSession } from '../accounts/browser-sessions.ts'
import { MAX_PASSWORD_LENGTH } from '../accounts/passwords.ts'
import { readWays, type Ways } from '../accounts/ways.ts'
import { isFreshSession } from './fresh.ts'
import { html, type Html, nothing } from './html.ts'
import { keepForm, type KeptForm, keptFields, noKeptForm } from './kept-form.ts'
import { type Page, type PageResult, redirect, sections, view, type Visit } from './page.ts'
import { passkeyField, whyNoPasskeys } from './passkey-fields.ts'
import { checkPasskey, checkPassword } from './proof-check.ts'
import { safePath } from './paths.ts'
import { PrimaryDownError } from './primary-down.ts'
import { waysHere } from './ways-here.ts'

/** The path that the proof is sent to, unless it is sent together with the fields of a form. */
export const CONFIRM_PATH = '/confirm'
/** No other form has fields of these names. */
const PASSWORD_FIELD = 'confirm'
const PASSKEY_FIELD = 'confirm-passkey'

/**
 * Asks the viewer to prove who they are, in any way that the account has, if the last proof is more than ten minutes old. The
 * fields of a form are kept and submitted with the proof. Undefined if the handler may run.
 */
export async function askAgain(
  visit: Visit,
  { method, path, confirms, isDownload = false }: Page,
): Promise<PageResult | undefined> {
  if (confirms === undefined || isFresh(visit)) return undefined
  if (visit.store.isReplica === true) throw new PrimaryDownError(true)
  if (method !== 'POST') {
    // A download does not replace the page with the form, so the form leads back to the button of the download.
    const next = isDownload ? `${sections[confirms.section].path}?confirmed=${path}` : visit.path
    return ask(visit, { action: CONFIRM_PATH, fields: [['next', next]], confirms })
  }
  const isAnswered = visit.form.has(PASSWORD_FIELD) || visit.form.has(PASSKEY_FIELD)
  const fields = [...visit.form].filter(([name]) => name !== PASSWORD_FIELD && name !== PASSKEY_FIELD)
  const problem = isAnswered ? await confirm(visit) : undefined
  if (isAnswered && problem === undefined) return undefined
  return ask(visit, { action: visit.path, fields, confirms, problem })
}

export const confirmationPages: readonly Page[] = [
  {
    method: 'POST',
    path: CONFIRM_PATH,
    async handler(visit) {
      const next = safePath(visit.form.get('next'))
      const problem = await confirm(visit)
      return problem === undefined
        ? redirect(next)
        : ask(visit, { action: CONFIRM_PATH, fields: [['next', next]], problem })
    },
  },
]

export function isFresh({ viewer, now }: Pick<Visit, 'viewer' | 'now'>): boolean {
  return isFreshSession(viewer.session, now)
}

/** The message to show; undefined if the proof was accepted. */
async function confirm(visit: Visit): Promise<string | undefined> {
  const { form, store, viewer, now } = visit
  const answer = form.get(PASSKEY_FIELD)
  const proof =
    answer === null ? await checkPassword(visit, form.get(PASSWORD_FIELD) ?? '') : await checkPasskey(visit, answer)
  if (typeof proof === 'string') return proof
  const isConfirmed = await confirmSession(store, { proof, id: viewer.session.id, now })
  return isConfirmed ? undefined : 'This way to sign in was changed in the meantime.'
}

interface AskedForm extends KeptForm {
  readonly problem?: string | undefined
}

async function ask(visit: Visit, kept: AskedForm): Promise<PageResult> {
  const { store, viewer, site, oidc } = visit
  const { section = 'settings', action } = kept.confirms ?? {}
  const { path, title } = sections[section]
  const ways = await readWays(store, viewer.session.accountId, waysHere(visit))
  // On the way to the issuer and back, the form is kept in a cookie.
  const cookie = ways.isLinked ? ((await keepForm(visit, kept)) ?? noKeptForm(visit)) : undefined
  return view({
    section,
    title: 'Confirm',
    back: { path, title },
    status: 403,
    cookies: cookie === undefined ? [] : [cookie],
    body: html`
      <div class="card narrow stack" data-dialog-body>
        <h2 class="dialog-title" id="dialog-title">Confirm</h2>
        <p>You signed in more than ten minutes ago. ${ways.hasPassword ? 'Enter your password to continue' : 'Confirm that it is you to continue'}${action === undefined ? nothing : html` with: ${action}`}.</p>
        ${kept.problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${kept.problem}</p>`}
        ${ways.hasPassword ? passwordForm(visit, kept, path) : nothing}
        ${ways.passkeys > 0 ? passkeyForm(ways, kept) : nothing}
        ${ways.isLinked ? html`<p><a class="button" href="/confirm/oidc"${ways.hasPassword || ways.passkeys > 0 ? nothing : html` autofocus`}>Continue with ${oidc?.name}</a></p>` : nothing}
        ${isStuck(ways) ? html`<p>No way to sign in to this account works at this address. ${whyNoPasskeys(site) ?? html`Ask whoever runs this service for an invitation to choose one: <code>./lockstep account invite</code>.`}</p>` : nothing}
        ${ways.hasPassword ? nothing : html`<p><a class="button" href="${path}" data-close>Cancel</a></p>`}
      </div>
    `,
  })
}

function isStuck({ hasPassword, passkeys, isLinked }: Ways): boolean {
  return !hasPassword && passkeys === 0 && !isLinked
}

function passwordForm({ viewer }: Visit, kept: AskedForm, path: string): Html {
  const { discreet, session } = viewer
  const { action, problem } = kept
  return html`
    <form class="stack" method="post" action="${action}">
      ${keptFields(kept)}
      ${discreet ? nothing : html`<input type="hidden" autocomplete="username" value="${session.username}">`}
      <label>Password
        <input type="password" name="${PASSWORD_FIELD}" autocomplete="current-password" required maxlength="${MAX_PASSWORD_LENGTH}" autofocus${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }>
      </label>
      <div class="buttons"><button class="primary">Continue</button><a class="button" href="${path}" data-close>Cancel</a></div>
    </form>
  `
}

function passkeyForm({ hasPassword }: Ways, kept: AskedForm): Html {
  return html`
    <form class="stack needs-script" method="post" action="${kept.action}">
      ${keptFields(kept)}
      ${passkeyField('confirm', PASSKEY_FIELD)}
      <div class="buttons"><button${hasPassword ? nothing : html` class="primary" autofocus`}>Use a passkey</button></div>
    </form>
    ${hasPassword ? nothing : html`<p class="no-script">Passkeys need JavaScript, which is off in this browser.</p>`}
  `
}
