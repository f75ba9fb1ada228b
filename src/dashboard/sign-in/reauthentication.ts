import { type BrowserSession, confirmSession } from '../../accounts/browser-sessions.ts'
import { verifyPasskey } from '../../accounts/passkeys.ts'
import { MAX_PASSWORD_LENGTH, verifyPassword } from '../../accounts/passwords.ts'
import type { PasskeyProof, PasswordProof } from '../../accounts/proofs.ts'
import { readSignInMethods, type SignInAddress, type SignInMethods } from '../../accounts/sign-in-methods.ts'
import type { Store } from '../../store/index.ts'
import type { SignInMethod } from '../../store/tables.ts'
import { html, type Html, nothing } from '../html.ts'
import { type DashboardPage, type PageResult, type Redirect, redirect, view, type Visit } from '../page.ts'
import { safePath } from '../site.ts'
import { Attempts, tooManyAttempts } from './attempts.ts'
import { passkeyField, whyNoPasskeys } from './passkey-fields.ts'
import { challengeOf } from './sealed-cookie.ts'
import { sessionCookie } from './session-cookie.ts'
import { knownBrowserCookie } from './sign-in-limits.ts'

/** Asking people who are signed in to prove again who they are, before they change who can sign in or read. */

/** Whether the person behind a session proved who they are in the last ten minutes. */
export function isFresh({ confirmedAt }: Pick<BrowserSession, 'confirmedAt'>, now: number): boolean {
  // Setting the clock back does not extend it.
  return Math.abs(now - confirmedAt) < FRESH_MS
}

const FRESH_MS = 10 * 60_000

/** The path that the proof is sent to. */
export const CONFIRM_PATH = '/confirm'
const PASSWORD_FIELD = 'confirm'
const PASSKEY_FIELD = 'confirm-passkey'

/**
 * Asks the viewer to prove who they are, with any sign-in method of the account, if the last proof is more than ten minutes old. It
 * leads to the page of the form, which is asked for before it is filled in. Undefined if the handler may run.
 */
export async function askAgain(
  visit: Visit,
  { path, isDownload = false }: Pick<DashboardPage, 'path' | 'isDownload'>,
  confirms: string,
): Promise<PageResult | undefined> {
  if (isFresh(visit.viewer.session, visit.now)) return undefined
  // A download does not replace the page with the form, so the form leads back to the button of the download.
  const next = isDownload ? `${visit.sectionStart.path}?confirmed=${path}` : visit.path
  return ask(visit, { next, confirms })
}

export const confirmationPages: readonly DashboardPage[] = [
  {
    section: 'settings',
    reads: null,
    method: 'POST',
    path: CONFIRM_PATH,
    async handler(visit) {
      const next = safePath(visit.form.get('next'))
      const problem = await confirm(visit)
      return problem === undefined ? redirect(next) : ask(visit, { next, problem })
    },
  },
]

/** The message to show; undefined if the proof was accepted. */
async function confirm(visit: Visit): Promise<string | undefined> {
  const { form, store, viewer, now } = visit
  const answer = form.get(PASSKEY_FIELD)
  const proof =
    answer === null ? await checkPassword(visit, form.get(PASSWORD_FIELD) ?? '') : await checkPasskey(visit, answer)
  if (typeof proof === 'string') return proof
  const secret = await confirmSession(store, { proof, id: viewer.session.id, now })
  if (secret === undefined) return 'This sign-in method was changed in the meantime.'
  visit.setCookie(sessionCookie(visit.site, secret))
  return undefined
}

interface Asked {
  /** The path that follows. */
  readonly next: string
  /** What is to be done, in the words of its button. */
  readonly confirms?: string
  readonly problem?: string
}

async function ask(visit: Visit, asked: Asked): Promise<PageResult> {
  const { store, viewer, site, oidc, sectionStart } = visit
  const { next, confirms, problem } = asked
  const methods = await readSignInMethods(store.reads, viewer.session.accountId, signInAddress(visit))
  const issuer = `/confirm/oidc?${new URLSearchParams({ next })}`
  return view({
    title: 'Confirm',
    back: sectionStart,
    status: 403,
    body: html`
      <div class="card narrow stack">
        <p>You signed in more than ten minutes ago. ${methods.hasPassword ? 'Enter your password to continue' : 'Confirm that it is you to continue'}${confirms === undefined ? nothing : html` with: ${confirms}`}.</p>
        ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
        ${methods.hasPassword ? passwordForm(visit, asked) : nothing}
        ${methods.passkeys > 0 ? passkeyForm(methods, next) : nothing}
        ${methods.isLinked ? html`<p><a class="button" href="${issuer}"${methods.hasPassword || methods.passkeys > 0 ? nothing : html` autofocus`}>Continue with ${oidc?.name}</a></p>` : nothing}
        ${isStuck(methods) ? html`<p>No sign-in method of this account works at this address. ${whyNoPasskeys(site) ?? html`Ask whoever runs this service for an invitation to choose one: <code>lockstep account invite</code>.`}</p>` : nothing}
        ${methods.hasPassword ? nothing : html`<p><a class="button" href="${sectionStart.path}">Cancel</a></p>`}
      </div>
    `,
  })
}

function isStuck({ hasPassword, passkeys, isLinked }: SignInMethods): boolean {
  return !hasPassword && passkeys === 0 && !isLinked
}

function passwordForm({ viewer, sectionStart }: Visit, { next, problem }: Asked): Html {
  const { discreet, session } = viewer
  return html`
    <form class="stack" method="post" action="${CONFIRM_PATH}">
      <input type="hidden" name="next" value="${next}">
      ${discreet ? nothing : html`<input type="hidden" autocomplete="username" value="${session.username}">`}
      <label>Password
        <input type="password" name="${PASSWORD_FIELD}" autocomplete="current-password" required maxlength="${MAX_PASSWORD_LENGTH}" autofocus${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }>
      </label>
      <div class="buttons"><button class="primary">Continue</button><a class="button" href="${sectionStart.path}">Cancel</a></div>
    </form>
  `
}

function passkeyForm({ hasPassword }: SignInMethods, next: string): Html {
  return html`
    <form class="stack needs-script" method="post" action="${CONFIRM_PATH}">
      <input type="hidden" name="next" value="${next}">
      ${passkeyField('confirm', PASSKEY_FIELD)}
      <div class="buttons"><button${hasPassword ? nothing : html` class="primary" autofocus`}>Use a passkey</button></div>
    </form>
    ${hasPassword ? nothing : html`<p class="no-script">Passkeys need JavaScript, which is off in this browser.</p>`}
  `
}

/** The proof, or what is wrong with the password. */
export async function checkPassword(visit: Visit, password: string): Promise<PasswordProof | string> {
  const { store, viewer } = visit
  return limited(visit, 'password', 'The password is wrong.', async () => {
    const proof = await verifyPassword(store, viewer.session.username, password)
    return proof?.accountId === viewer.session.accountId ? proof : undefined
  })
}

/** The proof, or what is wrong with the answer of the browser. */
async function checkPasskey(visit: Visit, answer: string): Promise<PasskeyProof | string> {
  const { store, viewer, site, cookies, now } = visit
  const { rpId, origin } = site
  const { id, accountId } = viewer.session
  return limited(visit, 'passkey', NOT_ACCEPTED, async () => {
    const challenge = await challengeOf(store, cookies, { site, purpose: 'confirm', subject: String(id), now })
    if (challenge === undefined || rpId === undefined) return undefined
    return verifyPasskey(store, answer, challenge, { rpId, origin }, { now, accountId })
  })
}

/** The message for a passkey that proves nothing. It does not reveal whether such a passkey exists. */
export const NOT_ACCEPTED = 'The passkey was not accepted. Try again, or use another sign-in method.'

async function limited<Proof>(
  { store, viewer, events, actor, now, limitReached }: Visit,
  method: SignInMethod,
  problem: string,
  check: () => Promise<Proof | undefined>,
): Promise<Proof | string> {
  const attempt = guessesAt(store).begin(`${method} ${viewer.session.id}`)
  if (attempt.waitMs > 0) {
    limitReached('attempts')
    return tooManyAttempts(attempt)
  }
  const proof = await check().catch((error: unknown) => {
    attempt.refund()
    throw error
  })
  if (proof === undefined) {
    const { network, browser } = actor
    events.count({ type: 'confirmation-failed', account: { id: viewer.session.accountId }, now, network, browser })
    return problem
  }
  attempt.refund()
  return proof
}

/** Sessions of two stores may have the same identifier. */
const guesses = new WeakMap<Store, Attempts>()

function guessesAt(store: Store): Attempts {
  const known = guesses.get(store) ?? new Attempts()
  guesses.set(store, known)
  return known
}

/** Where sign-in methods have to work to count. */
export function signInAddress({ site, oidc }: Pick<Visit, 'site' | 'oidc'>): SignInAddress {
  return { rpId: site.rpId, issuer: oidc?.issuer }
}

/** Redirects to Settings after all other browsers of the account were signed out; this one stays known to the account. */
export async function othersSignedOut({ store, site, viewer }: Visit, saved: string): Promise<Redirect> {
  const cookies = [await knownBrowserCookie(store, site, viewer.session.accountId)]
  return redirect(`/settings?saved=${saved}`, { cookies })
}
