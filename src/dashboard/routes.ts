/**
 * The dashboard: pages for people, drawn by the server, complete without script.
 *
 * To add a page: write `pages/<noun>.ts` that exports a list of `Page` (page.ts), and name the list in `pages` below.
 * A page is a path and a function from a `Visit` (who looks, at whose records, the query, the clock) to an `Answer`:
 * `view({ section, title, body })`, `redirect(to)` after a form, or `download(…)`. pages/settings.ts is the model.
 *
 *  - Markup comes from `html` (html.ts), which escapes; styles from classes in assets/style.css, never from `style="…"`,
 *    which the policy forbids. `charts: true` loads assets/charts.js and allows the styles that Plot sets.
 *  - Records shown are those of `visit.viewer.subject`; a record by its identifier may belong to any of `viewer.readable`.
 *  - Names, kinds and texts pass through names.ts, which knows discreet mode; fields are named by labels.ts.
 *  - Instants, lengths and distances are written by text.ts, in the zone and units of the account; cards, tables, tabs
 *    and empty states are in parts.ts.
 *  - What is not there is `throw notFound('Lock session')`.
 *  - A form posts to a path of its own with `method: 'POST'`; that it came from here is checked before it gets there.
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import type { Config } from '../config.ts'
import { ApiError } from '../contract/errors.ts'
import type { Call } from '../http/request-context.ts'
import type { Log } from '../http/log.ts'
import { matchesEtag } from '../http/negotiation.ts'
import { findSession } from '../accounts/browser-sessions.ts'
import { type Store, StoreUnavailableError } from '../store/index.ts'
import { asset, isAsset } from './assets.ts'
import { parseCookies } from './cookies.ts'
import { readDisplay } from './display.ts'
import { FormError } from './form-errors.ts'
import { html, type Html, nothing } from './html.ts'
import { page as drawPage, plainPage } from './layout.ts'
import { checkSameOrigin, reachedAt } from './origin.ts'
import type { Answer, Page, Visit } from './page.ts'
import { displayPages } from './pages/display.ts'
import { keyPages } from './pages/keys.ts'
import { overviewPages } from './pages/overview.ts'
import { programPages } from './pages/programs.ts'
import { lockPages } from './pages/locks.ts'
import { lockSessionPages } from './pages/lock-session.ts'
import { lockTemplatePages } from './pages/lock-templates.ts'
import { settingsPages } from './pages/settings.ts'
import { trainingPages } from './pages/training.ts'
import { trainingSessionPages } from './pages/training-session.ts'
import { makeSignIn, sessionCookieName } from './pages/signin.ts'
import { viewerOf } from './viewer.ts'

const pages: readonly Page[] = [
  ...overviewPages,
  ...trainingPages,
  ...trainingSessionPages,
  ...programPages,
  ...lockPages,
  ...lockSessionPages,
  ...lockTemplatePages,
  ...keyPages,
  ...settingsPages,
  ...displayPages,
]

/** Whom the sign-in page fills in, where all data is a sample. */
export interface SampleAccount {
  readonly username: string
  readonly password: string
}

export interface Dashboard {
  /** Answers somebody who looks for a page where there is none; false where no page is asked for. */
  readonly answerUnknown: (request: FastifyRequest, reply: FastifyReply) => boolean
}

export interface DashboardOptions {
  readonly store: Store
  readonly config: Config
  readonly callOf: (reply: FastifyReply) => Call | undefined
  /** Answers a failure as the API would, and logs what is ours. */
  readonly refuse: (reply: FastifyReply, error: unknown) => void
  readonly log: Log
  readonly sample?: SampleAccount | undefined
}

export function registerDashboard(app: FastifyInstance, options: DashboardOptions): Dashboard {
  const { store, config, callOf, refuse, log } = options
  const signIn = makeSignIn(options)

  void app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
      (_request, body, parsed) => parsed(null, new URLSearchParams(String(body))),
    )

    scope.addHook('onRequest', async (request, reply) => {
      const reached = reachedAt(request.raw, hostOf(reply), config)
      // Without a referrer, browsers hide the origin of forms as well, and over plain HTTP they tell nothing else.
      if (!reached.trustworthy) reply.header('Referrer-Policy', 'same-origin')
      reply.headers({ ...HEADERS, 'Content-Security-Policy': policy(false) })
      if (request.method === 'POST') {
        checkSameOrigin(request.raw, reached)
        if (request.headers.expect !== undefined) reply.raw.writeContinue()
      }
    })

    scope.setErrorHandler((error, request, reply) => {
      const seen = seenAs(error)
      const call = callOf(reply)
      if (seen.status >= 500 && seen !== error && call !== undefined) log.failure(error, call.exchange.requestId)
      if (seen instanceof ApiError && call !== undefined) call.exchange.code = seen.code
      if (!wantsPage(request)) return seen instanceof ApiError ? refuse(reply, seen) : sendFault(reply, seen)
      return sendFaultPage(request, reply, seen, call?.exchange.requestId)
    })

    scope.get('/assets/:name', (request, reply) => {
      const { name } = request.params as { name: string }
      if (!isAsset(name)) throw new ApiError('no_route')
      const { type, body, version } = asset(name)
      const asked = new URLSearchParams(callOf(reply)?.target.query).get('v')
      const etag = `"${version}"`
      reply.headers({
        ETag: etag,
        'Cache-Control': asked === version ? 'public, max-age=31536000, immutable' : 'no-cache',
      })
      const kept = request.headers['if-none-match']
      return kept !== undefined && matchesEtag(kept, etag) ? reply.code(304).send() : reply.type(type).send(body)
    })

    signIn.register(scope)

    for (const { path, method = 'GET', answer } of pages) {
      scope.route({
        method,
        url: path,
        handler: async (request, reply) => {
          const visit = await visitOf(request, reply)
          if (visit === undefined) return signIn.ask(request, reply)
          return send(reply, visit, await answer(visit))
        },
      })
    }
    done()
  })

  return {
    answerUnknown(request: FastifyRequest, reply: FastifyReply): boolean {
      if (!['GET', 'HEAD'].includes(request.method) || !wantsPage(request)) return false
      const error = new ApiError('no_route')
      const call = callOf(reply)
      if (call !== undefined) call.exchange.code = error.code
      reply.headers({ ...HEADERS, 'Content-Security-Policy': policy(false) })
      void sendFaultPage(request, reply, error)
      return true
    },
  }

  /** Undefined when nobody is signed in. */
  async function visitOf(request: FastifyRequest, reply: FastifyReply): Promise<Visit | undefined> {
    const call = callOf(reply)
    if (call === undefined) throw new Error('a page was asked for past the server')
    const { target, exchange } = call
    const reached = reachedAt(request.raw, hostOf(reply), config)
    const cookies = parseCookies(request.headers.cookie)
    const secret = cookies.get(sessionCookieName(reached))
    const session =
      secret === undefined || !reached.maySignIn ? undefined : await findSession(store, secret, exchange.now)
    if (session === undefined) return undefined
    const { id = '' } = request.params as { id?: string }
    return {
      store,
      viewer: await viewerOf(store, session, cookies),
      now: exchange.now,
      path: target.path,
      id: /^[1-9][0-9]{0,15}$/.test(id) ? Number(id) : 0,
      query: new URLSearchParams(target.query),
      form: request.body instanceof URLSearchParams ? request.body : new URLSearchParams(),
      baseUrl: reached.baseUrl,
      secure: reached.secure,
    }
  }

  function hostOf(reply: FastifyReply): string {
    return callOf(reply)?.target.host ?? 'localhost'
  }
}

const MAX_FORM_BYTES = 64 * 1024

const HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
}

function policy(charts: boolean): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    // Plot sets styles as attributes, which no hash can allow.
    `style-src 'self'${charts ? " 'unsafe-inline'" : ''}`,
    "img-src 'self'",
    "connect-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function send(reply: FastifyReply, { viewer, path, query }: Visit, answer: Answer) {
  switch (answer.kind) {
    case 'view': {
      if (answer.charts === true) reply.header('Content-Security-Policy', policy(true))
      if (answer.status !== undefined) reply.code(answer.status)
      const back = query.size === 0 ? path : `${path}?${query}`
      return sendPage(reply, drawPage(viewer, answer, back))
    }
    case 'redirect': {
      for (const cookie of answer.cookies ?? []) reply.header('Set-Cookie', cookie)
      return reply.headers(answer.headers ?? {}).redirect(answer.to, 303)
    }
    case 'download': {
      const { file, type, body } = answer
      return reply
        .type(type)
        .header('Content-Disposition', `attachment; filename="${file.replaceAll(/[^A-Za-z0-9._-]/g, '-')}"`)
        .send(typeof body === 'string' ? body : Readable.from(body))
    }
    default:
      return answer satisfies never
  }
}

function sendPage(reply: FastifyReply, page: Html) {
  return reply.type('text/html; charset=utf-8').send(page.toString())
}

type Seen = ApiError | FormError

function seenAs(error: unknown): Seen {
  if (error instanceof ApiError || error instanceof FormError) return error
  if (error instanceof StoreUnavailableError) return new ApiError('unavailable')
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new FormError('body_too_large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new FormError('unsupported_media_type')
  return new ApiError('internal_error')
}

function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') ?? false
}

function sendFaultPage(request: FastifyRequest, reply: FastifyReply, seen: Seen, requestId = '') {
  if (seen.status === 503) reply.header('Retry-After', '1')
  return sendPage(reply.code(seen.status), faultPage(request, seen, requestId))
}

function faultPage(request: FastifyRequest, { code, status, message }: Seen, requestId: string): Html {
  return plainPage(
    readDisplay(parseCookies(request.headers.cookie)),
    'Not shown',
    html`
      <div class="card stack">
        <h1>${status === 404 ? 'There is nothing here' : 'That did not work'}</h1>
        <p>${code === 'no_route' ? 'The address may be mistyped, or old' : message}.</p>
        <p><a class="button" href="/">Back to the overview</a></p>
        ${status >= 500 ? html`<p class="muted">The log has the cause under <code>${requestId}</code>.</p>` : nothing}
      </div>
    `,
  )
}

/** A fault of a form in the shape that refusals of the API have. */
function sendFault(reply: FastifyReply, { code, status, message }: FormError) {
  const requestId = reply.getHeader('X-Request-Id')
  return reply.code(status).send({ ok: false, error: message, code, status, requestId })
}
