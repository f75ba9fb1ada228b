import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { MAX_NAME_LENGTH } from '../../contract/names.ts'
import { clientAddress, networkOf } from '../../http/addresses.ts'
import { beginSession, endSession, findSession, MAX_SESSION_MS } from '../../accounts/browser-sessions.ts'
import { suggestTimeZone } from '../../accounts/preferences.ts'
import { MAX_PASSWORD_LENGTH, verifyPassword } from '../../accounts/passwords.ts'
import { Attempts } from '../attempts.ts'
import { cookie, parseCookies } from '../cookies.ts'
import { readDisplay } from '../display.ts'
import { html, type Html, nothing } from '../html.ts'
import type { DashboardOptions } from '../routes.ts'
import { plainPage } from '../layout.ts'
import { type Reached, reachedAt } from '../origin.ts'
import { safePath } from '../paths.ts'
import { countText } from '../text.ts'
import { isTimeZone } from '../viewer.ts'

/** The cookie of a session. Browsers hold the prefix to TLS, this host and every path, which plain HTTP cannot have. */
export function sessionCookieName({ secure }: Pick<Reached, 'secure'>): string {
  return secure ? '__Host-session' : 'session'
}

/** Signing in and out. */
export function makeSignIn({ store, config, callOf, sample }: DashboardOptions) {
  const ofAccounts = new Attempts(MAX_ATTEMPTS, TRIES_MS)
  const ofAddresses = new Attempts(MAX_ATTEMPTS, TRIES_MS)

  const reached = (request: FastifyRequest, reply: FastifyReply) =>
    reachedAt(request.raw, callOf(reply)?.target.host ?? 'localhost', config)

  const show = (request: FastifyRequest, reply: FastifyReply, shown: Shown, status = 200) =>
    reply
      .code(status)
      .type('text/html; charset=utf-8')
      .send(
        plainPage(readDisplay(parseCookies(request.headers.cookie)), 'Sign in', signInForm(shown, sample)).toString(),
      )

  const explain = (request: FastifyRequest, reply: FastifyReply) =>
    reply
      .code(403)
      .type('text/html; charset=utf-8')
      .send(plainPage(readDisplay(parseCookies(request.headers.cookie)), 'Sign in', explanation).toString())

  const findOwn = async (request: FastifyRequest, how: Reached, now: number) => {
    const secret = parseCookies(request.headers.cookie).get(sessionCookieName(how))
    return secret === undefined ? undefined : findSession(store, secret, now)
  }

  return {
    /** Sends somebody who is not signed in to the form, and back afterwards. */
    ask(request: FastifyRequest, reply: FastifyReply) {
      const target = callOf(reply)?.target
      // A form that comes too late cannot be sent again from here.
      const next = request.method === 'POST' || target === undefined || target.path === '/' ? undefined : target
      const query = next === undefined || next.query === '' ? '' : `?${next.query}`
      const to = next === undefined ? '/signin' : `/signin?${new URLSearchParams({ next: next.path + query })}`
      return reply.redirect(to, 303)
    },

    register(scope: FastifyInstance) {
      scope.get('/signin', async (request, reply) => {
        const how = reached(request, reply)
        if (!how.maySignIn) return explain(request, reply)
        const call = callOf(reply)
        const next = safePath(new URLSearchParams(call?.target.query).get('next'))
        if ((await findOwn(request, how, call?.exchange.now ?? 0)) !== undefined) return reply.redirect(next, 303)
        return show(request, reply, { next })
      })

      scope.post('/signin', async (request, reply) => {
        const how = reached(request, reply)
        if (!how.maySignIn) return explain(request, reply)
        const form = request.body instanceof URLSearchParams ? request.body : new URLSearchParams()
        const now = callOf(reply)?.exchange.now ?? Date.now()
        const next = safePath(form.get('next'))
        const username = form.get('username') ?? ''
        const password = form.get('password') ?? ''

        const account = username.slice(0, MAX_ATTEMPT_NAME_LENGTH)
        const address = networkOf(clientAddress(request.raw, config.trustedProxies))
        const wait = Math.max(ofAccounts.wait(account, now), ofAddresses.wait(address, now))
        if (wait > 0) {
          reply.header('Retry-After', String(Math.ceil(wait / 1000)))
          const problem = `Too many tries. Try again in ${countText(Math.ceil(wait / 60_000), 'minute')}.`
          return show(request, reply, { next, username, problem }, 429)
        }
        // Counted before it is judged, or many at once would all pass.
        ofAccounts.count(account, now)
        ofAddresses.count(address, now)
        const accountId = await verifyPassword(store, username, password)
        if (accountId === undefined) {
          return show(request, reply, { next, username, problem: 'Username or password is not right.' }, 403)
        }
        ofAccounts.forgive(account)
        ofAddresses.forgive(address)

        const before = await findOwn(request, how, now)
        if (before !== undefined) await endSession(store, before.id)
        const timeZone = form.get('timeZone') ?? ''
        if (isTimeZone(timeZone)) await suggestTimeZone(store, accountId, timeZone)
        const secret = await beginSession(store, accountId, request.headers['user-agent'] ?? '', now)
        const { secure } = how
        return reply
          .header('Set-Cookie', cookie(sessionCookieName(how), secret, { maxAge: MAX_SESSION_MS / 1000, secure }))
          .redirect(next, 303)
      })

      scope.post('/signout', async (request, reply) => {
        const how = reached(request, reply)
        const session = await findOwn(request, how, callOf(reply)?.exchange.now ?? 0)
        if (session !== undefined) await endSession(store, session.id)
        const { secure } = how
        return (
          reply
            .header('Set-Cookie', cookie(sessionCookieName(how), '', { maxAge: 0, secure }))
            // Not "cookies": theme and discreet mode belong to this browser, whoever uses it next.
            .header('Clear-Site-Data', '"cache", "storage"')
            .redirect('/signin', 303)
        )
      })
    },
  }
}

const MAX_ATTEMPTS = 10
const TRIES_MS = 15 * 60_000
const MAX_ATTEMPT_NAME_LENGTH = 100

interface Shown {
  readonly next: string
  readonly username?: string
  readonly problem?: string
}

function signInForm({ next, username, problem }: Shown, sample: DashboardOptions['sample']): Html {
  return html`
    <form class="card stack" method="post" action="/signin">
      <h1>Sign in</h1>
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
      ${sample === undefined ? html`<p class="muted small">Whoever runs this service sets passwords, with <code>lockstep account set-password</code>.</p>` : nothing}
    </form>
  `
}

const explanation = html`
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
