import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MAX_NAME_LENGTH } from '../../contract/names.ts'
import { clientAddress, networkOf } from '../../accounts/addresses.ts'
import { beginSession, endSession } from '../../accounts/browser-sessions.ts'
import { hasAccounts } from '../../accounts/accounts.ts'
import { knownBrowser, markBrowser } from '../../accounts/known-browsers.ts'
import { MAX_PASSWORD_LENGTH, verifyPassword } from '../../accounts/passwords.ts'
import { DAY_MS } from '../../contract/time.ts'
import type { Config } from '../../config.ts'
import type { Store } from '../../store/index.ts'
import { Attempts, tooManyAttempts } from '../attempts.ts'
import { cookie, parseCookies } from '../cookies.ts'
import { readDisplay } from '../display.ts'
import { html, type Html, nothing } from '../html.ts'
import type { DashboardOptions } from '../options.ts'
import { plainPage } from '../layout.ts'
import { type SiteOrigin, siteOriginOf } from '../origin.ts'
import { safePath } from '../paths.ts'
import { noSessionCookie, sessionCookie, sessionOf } from '../session-cookie.ts'
import { knownTimeZone } from '../../contract/time-zones.ts'
import { firstSteps } from './first-steps.ts'

/** Signing in and out. */
export function makeSignIn({ store, config, sample }: DashboardOptions) {
  const attempts = new Attempts()

  const isEmpty = makeEmptyCheck(store)
  const show = async (request: FastifyRequest, reply: FastifyReply, shown: Shown, status = 200) =>
    sendPlain(request, reply.code(status), (await isEmpty()) ? firstSteps : signInForm(shown, sample))
  const explain = (request: FastifyRequest, reply: FastifyReply) => sendPlain(request, reply.code(403), explanation)

  const signIn = async (request: FastifyRequest, reply: FastifyReply) => {
    const site = siteOriginOf(request.context, config)
    if (!site.maySignIn) return explain(request, reply)
    const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
    const next = safePath(form.get('next'))
    const username = form.get('username') ?? ''

    const attempt = attempts.begin(...(await attemptKeys(store, config, request, username)))
    if (attempt.waitMs > 0) {
      reply.header('Retry-After', String(Math.ceil(attempt.waitMs / 1000)))
      return show(request, reply, { next, username, problem: tooManyAttempts(attempt) }, 429)
    }
    const refuse = () => show(request, reply, { next, username, problem: 'Username or password is not right.' }, 403)
    const proof = await verifyPassword(store, username, form.get('password') ?? '')
    if (proof === undefined) return refuse()
    attempt.refund()

    const secret = await beginSession(store, {
      ...proof,
      browser: request.headers['user-agent'] ?? '',
      now: request.context.now,
      replaces: (await sessionOf(store, request, site))?.id,
      timeZone: knownTimeZone(form.get('timeZone') ?? ''),
    })
    if (secret === undefined) return refuse()
    const mark = await markBrowser(store, proof.accountId)
    return sendSignedIn(reply, site, { secret, mark, next })
  }

  const signOut = async (request: FastifyRequest, reply: FastifyReply) => {
    const site = siteOriginOf(request.context, config)
    const session = await sessionOf(store, request, site)
    if (session !== undefined) await endSession(store, session.id)
    return (
      reply
        .header('Set-Cookie', noSessionCookie(site))
        // Not "cookies": theme and discreet mode belong to this browser, whoever uses it next.
        .header('Clear-Site-Data', '"cache", "storage"')
        .redirect('/signin', 303)
    )
  }

  return {
    register(scope: FastifyInstance) {
      scope.get('/signin', async (request, reply) => {
        const site = siteOriginOf(request.context, config)
        if (!site.maySignIn) return explain(request, reply)
        const query = new URLSearchParams(request.context.target.query)
        const next = safePath(query.get('next'))
        if ((await sessionOf(store, request, site)) !== undefined) return reply.redirect(next, 303)
        return show(request, reply, { next, isDeleted: query.get('done') === 'deleted' })
      })
      scope.post('/signin', signIn)
      scope.post('/signout', signOut)
    },
  }
}

function sendSignedIn(
  reply: FastifyReply,
  site: SiteOrigin,
  { secret, mark, next }: { readonly secret: string; readonly mark: string; readonly next: string },
) {
  const { secure } = site
  return reply
    .header('Set-Cookie', sessionCookie(site, secret))
    .header('Set-Cookie', cookie(KNOWN_BROWSER, mark, { maxAge: KNOWN_BROWSER_MS / 1000, secure }))
    .redirect(next, 303)
}

/** What an attempt counts for: a browser known to the account has a limit of its own, which nobody else can use up. */
async function attemptKeys(store: Store, { trustedProxies }: Config, request: FastifyRequest, username: string) {
  const mark = parseCookies(request.headers.cookie).get(KNOWN_BROWSER) ?? ''
  const browser = await knownBrowser(store, username, mark)
  if (browser !== undefined) return [`browser ${browser}`]
  const network = networkOf(clientAddress(request.raw, trustedProxies))
  return [`account ${username.slice(0, MAX_ATTEMPT_NAME_LENGTH)}`, `network ${network}`]
}

/** Redirects somebody who is not signed in to the form, which leads back afterwards. */
export function askToSignIn({ method, body, context: { target } }: FastifyRequest, reply: FastifyReply) {
  // A form that was sent after its session ended cannot be sent again from here: its page is opened instead.
  const next =
    method === 'POST' ? pageOfForm(body, target.path) : `${target.path}${target.query === '' ? '' : `?${target.query}`}`
  if (next === '/') return reply.redirect('/signin', 303)
  return reply.redirect(`/signin?${new URLSearchParams({ next })}`, 303)
}

/** The page that a form was on. */
function pageOfForm(body: unknown, path: string): string {
  if (body instanceof URLSearchParams && body.has('back')) return safePath(body.get('back'))
  return /^\/keys\/\d+\/[a-z]+$/.test(path) ? path : (/^\/[a-z]+(-[a-z]+)*/.exec(path)?.[0] ?? '/')
}

/** A page for somebody who is not signed in. */
export function sendPlain({ headers }: FastifyRequest, reply: FastifyReply, body: Html, title = 'Sign in') {
  const display = readDisplay(parseCookies(headers.cookie))
  return reply.type('text/html; charset=utf-8').send(plainPage(display, title, body).toString())
}

const MAX_ATTEMPT_NAME_LENGTH = 100
const KNOWN_BROWSER = 'known-browser'
const KNOWN_BROWSER_MS = 365 * DAY_MS

interface Shown {
  readonly next: string
  readonly username?: string
  readonly problem?: string
  /** Whether the account was just deleted. */
  readonly isDeleted?: boolean
}

function signInForm({ next, username, problem, isDeleted = false }: Shown, sample: DashboardOptions['sample']): Html {
  return html`
    <form class="card stack" method="post" action="/signin">
      <h1>Sign in</h1>
      ${isDeleted ? html`<p class="note" role="status">The account is deleted, with everything of it.</p>` : nothing}
      ${sample === undefined ? nothing : html`<p class="note">This is sample data. The form is filled in: just sign in.</p>`}
      ${problem === undefined ? nothing : html`<p class="problem" role="alert" id="problem">${problem}</p>`}
      <input type="hidden" name="next" value="${next}">
      <input type="hidden" name="timeZone" data-time-zone>
      <label>Username
        <input name="username" autocomplete="username" autocapitalize="none" spellcheck="false" required maxlength="${MAX_NAME_LENGTH}" value="${username ?? sample?.username ?? ''}"${
          problem === undefined ? nothing : html` aria-describedby="problem"`
        }${username === undefined && sample === undefined ? html` autofocus` : nothing}>
      </label>
      <label>Password
        <input name="password" type="password" autocomplete="current-password" required maxlength="${MAX_PASSWORD_LENGTH}" value="${sample?.password ?? ''}"${
          username !== undefined && sample === undefined ? html` autofocus` : nothing
        }>
      </label>
      <button class="primary"${sample === undefined ? nothing : html` autofocus`}>Sign in</button>
      ${sample === undefined ? html`<p class="muted small">No password yet, or a forgotten one? Whoever runs this service makes a link to choose one, with <code>./lockstep account invite</code>.</p>` : nothing}
    </form>
  `
}

/** Whether there is no account yet. The store is not queried again once there is one. */
function makeEmptyCheck(store: DashboardOptions['store']): () => Promise<boolean> {
  let isEmpty = true
  return async () => {
    // If that cannot be read, the form is shown.
    if (isEmpty) isEmpty = !(await hasAccounts(store).catch(() => true))
    return isEmpty
  }
}

/** Explains why signing in is off over this connection. */
export const explanation = html`
  <div class="card stack">
    <h1>Sign in</h1>
    <p>This connection is not encrypted, and a password sent over it could be read on the way. Signing in is therefore off here.</p>
    <p>Use one of these instead:</p>
    <ul>
      <li>put a proxy with TLS in front of the service and set <code>LOCKSTEP_PUBLIC_URL</code> to its <code>https://</code> address;</li>
      <li>open the dashboard on the machine itself, or through an SSH tunnel, as <code>http://localhost</code>;</li>
      <li>on a network you trust, set <code>LOCKSTEP_INSECURE_HTTP=1</code>.</li>
    </ul>
  </div>
`
