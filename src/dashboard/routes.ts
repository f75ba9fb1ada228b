/**
 * The dashboard: pages for people, rendered by the server, which work without scripts.
 *
 * To add a page: write `pages/<noun>.ts` that exports a list of `Page` (page.ts), and name the list in `pages` below.
 * A page is a path and a function from a `Visit` (the viewer, whose records they see, the query, the clock) to a `PageResult`:
 * `view({ section, title, body })`, `redirect(to)` after a form, or `download(…)`. pages/settings.ts is the model.
 *
 *  - Markup comes from `html` (html.ts), which escapes; styles from classes in assets/*.css, never from `style="…"`,
 *    which the policy forbids. A view that names its `charts` loads assets/charts.js and allows the styles that Plot sets.
 *  - Records shown are those of `visit.viewer.subject`; a record by its identifier may belong to any of `viewer.readable`.
 *    Queries take their access from `visit.pageAccess`, which notes whose records are read.
 *  - Names, kinds and texts come from names.ts, which implements discreet mode; fields are named by labels.ts.
 *  - Instants, lengths and distances are written by text.ts, in the zone and units of the account; cards, tables, tabs
 *    and empty states are in components.ts.
 *  - A record that is not found is `throw notFound('Lock session')`.
 *  - A form posts to a path of its own with `method: 'POST'`; its origin is checked before the handler runs, and that the
 *    primary database is up, unless the page `changesCookiesOnly`. All other pages may be read from a replica, and write nothing.
 *    A page that gives access or creates keys also sets `confirms`: the viewer proves again who they are (confirmation.ts).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Readable } from 'node:stream'
import type { ReadLog } from '../accounts/read-log.ts'
import { ApiError } from '../contract/errors.ts'
import type { ReadKind } from '../contract/reads.ts'
import { READ_METHODS } from '../contract/responses.ts'
import { asset, isAsset, sendAsset } from './assets.ts'
import { chartTableView } from './chart-table.ts'
import { askAgain, confirmationPages } from './confirmation.ts'
import { parseCookies } from './cookies.ts'
import { sendPage } from './encoding.ts'
import { sendErrorPage, toShownError, wantsPage } from './error-page.ts'
import { formOf } from './form.ts'
import { page as renderPage } from './layout.ts'
import type { DashboardOptions } from './options.ts'
import { checkSameOrigin, siteOriginOf } from './origin.ts'
import { type Page, type PageResult, type Section, sections, type View, type Viewer, type Visit } from './page.ts'
import { accessEnded, isOwnSection, notShared } from './subject-notes.ts'
import { deleteAccountPages } from './pages/delete-account.ts'
import { bestPages } from './pages/bests.ts'
import { displayPages } from './pages/display.ts'
import { livePages } from './pages/live.ts'
import { keyRecipePages } from './pages/key-recipes.ts'
import { keyPages } from './pages/keys.ts'
import { overviewPages } from './pages/overview.ts'
import { peoplePages } from './pages/people.ts'
import { programPages } from './pages/programs.ts'
import { lockPages } from './pages/locks.ts'
import { lockSessionPages } from './pages/lock-session.ts'
import { lockTemplatePages } from './pages/lock-templates.ts'
import { settingsPages } from './pages/settings.ts'
import { trainingPages } from './pages/training.ts'
import { trainingSessionPages } from './pages/training-session.ts'
import { registerInvitations } from './pages/invitation.ts'
import { registerOidc } from './pages/oidc.ts'
import { oidcPages } from './pages/settings-oidc.ts'
import { passkeyPages } from './pages/settings-passkeys.ts'
import { passwordPages } from './pages/settings-password.ts'
import { askToSignIn, makeSignIn } from './pages/signin.ts'
import { PageAccess } from './page-access.ts'
import { type PageSource, readPage, requirePrimary } from './primary-down.ts'
import { registerPasskeyOptions } from './passkey-options.ts'
import { sessionOf } from './session-cookie.ts'
import { makeSignInSteps } from './sign-in-steps.ts'
import { viewerOf } from './viewer.ts'

const pages: readonly Page[] = [
  ...overviewPages,
  ...trainingPages,
  ...bestPages,
  ...trainingSessionPages,
  ...programPages,
  ...lockPages,
  ...lockSessionPages,
  ...lockTemplatePages,
  ...keyPages,
  ...peoplePages,
  ...keyRecipePages,
  ...settingsPages,
  ...passwordPages,
  ...passkeyPages,
  ...oidcPages,
  ...deleteAccountPages,
  ...displayPages,
  ...livePages,
  ...confirmationPages,
]

export interface Dashboard {
  /** Sends an error page for an unknown path; false if the client does not want a page. */
  readonly sendUnknown: (request: FastifyRequest, reply: FastifyReply) => boolean
}

export function registerDashboard(app: FastifyInstance, options: DashboardOptions): Dashboard {
  const { config, sendAsJson, log } = options
  // One for all ways to sign in, because they share their limits.
  const signInSteps = makeSignInSteps(options)
  const signIn = makeSignIn(options, signInSteps)

  void app.register((scope, _options, done) => {
    acceptForms(scope)
    scope.addHook('onRequest', async (request, reply) => {
      const site = siteOriginOf(request.context, config)
      // Without a referrer browsers do not send the origin of forms either, and over plain HTTP no Sec-Fetch-Site.
      if (!site.trustworthy) reply.header('Referrer-Policy', 'same-origin')
      reply.headers(PAGE_HEADERS)
      if (request.method === 'POST') {
        checkSameOrigin(request.raw, site)
        if (request.headers.expect !== undefined) reply.raw.writeContinue()
      }
    })
    scope.setErrorHandler(async (error, request, reply) => {
      const { context } = request
      const shown = toShownError(error)
      if (shown.status >= 500 && shown !== error) log.failure(error, context.requestId)
      if (!wantsPage(request)) return sendAsJson(request, reply, shown)
      return sendErrorPage(request, reply, shown, await viewerOrNone(options, request))
    })
    scope.get('/assets/:name', (request, reply) => {
      const { name } = request.params as { name: string }
      if (!isAsset(name)) throw new ApiError('no_route')
      return sendAsset(reply, asset(name), new URLSearchParams(request.context.target.query).get('v'))
    })
    void scope.register((ways, _options, registered) => {
      ways.addHook('preHandler', () => requirePrimary(options))
      signIn.register(ways)
      registerInvitations(ways, options)
      registerPasskeyOptions(ways, options)
      registerOidc(ways, options, signInSteps)
      registered()
    })
    for (const page of pages) registerPage(scope, options, page)
    done()
  })

  return {
    sendUnknown(request, reply) {
      if (!READ_METHODS.includes(request.method) || !wantsPage(request)) return false
      void viewerOrNone(options, request).then(viewer =>
        sendErrorPage(request, reply.headers(PAGE_HEADERS), new ApiError('no_route'), viewer),
      )
      return true
    },
  }
}

function registerPage(scope: FastifyInstance, options: DashboardOptions, page: Page) {
  const { store, reads } = options
  const { path, method = 'GET', isDownload = false, changesCookiesOnly = false } = page
  const isRead = method === 'GET' || changesCookiesOnly
  scope.route({
    method,
    url: path,
    // Statements have a time limit of their own.
    ...(isDownload ? { handlerTimeout: NO_TIMEOUT_MS } : {}),
    handler: async (request, reply) => {
      if (!isRead) await requirePrimary(options)
      const run = (source: PageSource) => runPage(options, request, page, source)
      const outcome = await (isRead ? readPage(options, run) : run({ store }))
      if (outcome === undefined) return askToSignIn(request, reply)
      const { visit, result } = outcome
      recordReads(reads, visit, kindOfRead(path, result))
      return send(reply, visit, result)
    },
  })
}

/** Who is signed in, for the header of an error; undefined where that cannot be read either. */
async function viewerOrNone(options: DashboardOptions, request: FastifyRequest): Promise<Viewer | undefined> {
  const visit = await readPage(options, source => visitOf(options, request, source)).catch(() => undefined)
  return visit?.viewer
}

/** The visit of a request, and the result of its page; undefined if nobody is signed in. */
async function runPage(options: DashboardOptions, request: FastifyRequest, page: Page, source: PageSource) {
  const visit = await visitOf(options, request, source)
  if (visit === undefined) return undefined
  const instead = endedView(visit, page) ?? notSharedView(visit, page) ?? (await askAgain(visit, page))
  return { visit, result: instead ?? (await page.handler(visit)) }
}

/** The page in place of the records of an account whose access has ended. */
function endedView({ viewer, path }: Visit, { method, isDownload = false }: Page): View | undefined {
  if (!viewer.accessEnded || method === 'POST') return undefined
  const section = sectionOf(path)
  if (section === undefined || isOwnSection(section)) return undefined
  const ended = accessEnded(viewer, section, sections[section].title)
  // With this status, browsers do not save the page under the name of the file.
  return isDownload ? { ...ended, status: 403 } : ended
}

/** The page in place of a list of records that somebody else does not share. */
function notSharedView({ viewer }: Visit, { method, path }: Page): View | undefined {
  const section = sectionOf(path)
  if (method === 'POST' || section === undefined || path !== sections[section].path) return undefined
  return notShared(viewer, section)
}

/** The section of a page, and of a file that it offers. */
function sectionOf(path: string): Section | undefined {
  const [start = ''] = /^\/[a-z-]*/.exec(path) ?? []
  if (start === '/bests') return 'training'
  const found = Object.entries(sections).find(([, one]) => one.path === start)
  // The key is one of the sections.
  return found?.[0] as Section | undefined
}

/** Accepts forms as the only bodies. */
function acceptForms(scope: FastifyInstance) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string', bodyLimit: MAX_FORM_BYTES },
    (_request, body, parsed) => parsed(null, new URLSearchParams(String(body))),
  )
}

const MAX_FORM_BYTES = 64 * 1024

/** The longest that a timer can wait: a route cannot switch off the timeout of all routes. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** The visit of a request; undefined if nobody is signed in. */
async function visitOf(
  { config, log, oidc, inBackground }: DashboardOptions,
  request: FastifyRequest,
  source: PageSource,
): Promise<Visit | undefined> {
  const { target, now } = request.context
  const { store } = source
  const site = siteOriginOf(request.context, config)
  const cookies = parseCookies(request.headers.cookie)
  const session = await sessionOf(store, request, site)
  if (session === undefined) return undefined
  const { id = '' } = request.params as { id?: string }
  const viewer = await viewerOf(source, session, cookies, now)
  const grant = { accountId: session.accountId, shared: viewer.shared }
  return {
    store,
    viewer,
    pageAccess: new PageAccess({ grant, now }, viewer.subject.id),
    now,
    path: target.path,
    id: /^[1-9][0-9]{0,15}$/.test(id) ? Number(id) : 0,
    query: new URLSearchParams(target.query),
    form: formOf(request),
    baseUrl: site.baseUrl,
    site,
    oidc,
    cookies,
    userAgent: request.headers['user-agent'] ?? '',
    inBackground: work => inBackground(work.catch((error: unknown) => log.failure(error, request.context.requestId))),
  }
}

/** Counts what a page reads of others. A viewer's own records are not counted. */
function recordReads(reads: ReadLog, { viewer, pageAccess, now }: Visit, kind: ReadKind) {
  const { accountId } = viewer.session
  for (const [area, owner] of pageAccess.noted()) {
    if (owner !== accountId)
      reads.record({ accountId, via: 'dashboard', tokenId: 0, tokenName: '' }, owner, area, kind, now)
  }
}

function kindOfRead(path: string, { kind }: PageResult): ReadKind {
  if (kind === 'download') return 'export'
  if (path.endsWith('/:id')) return 'record'
  return path === '/' ? 'statistics' : 'list'
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

const PAGE_HEADERS = {
  'Cross-Origin-Opener-Policy': 'same-origin',
  'X-Robots-Tag': 'noindex',
  'Content-Security-Policy': policy(false),
}

function send(reply: FastifyReply, visit: Visit, result: PageResult) {
  switch (result.kind) {
    case 'view': {
      const { viewer, path, query } = visit
      const shown = chartTableView(visit, result) ?? result
      if (shown.charts !== undefined && shown.charts.length > 0) {
        reply.header('Content-Security-Policy', policy(true))
      }
      if (shown.status !== undefined) reply.code(shown.status)
      for (const cookie of shown.cookies ?? []) reply.header('Set-Cookie', cookie)
      const back = query.size === 0 ? path : `${path}?${query}`
      return sendPage(reply, renderPage(viewer, shown, back).toString())
    }
    case 'live': {
      reply.header('ETag', result.etag).header('Cache-Control', 'no-store')
      return reply.code(reply.request.headers['if-none-match'] === result.etag ? 304 : 204).send()
    }
    case 'redirect': {
      for (const cookie of result.cookies ?? []) reply.header('Set-Cookie', cookie)
      return reply.headers(result.headers ?? {}).redirect(result.to, 303)
    }
    case 'download': {
      const { file, type, body } = result
      return reply
        .type(type)
        .header('Content-Disposition', `attachment; filename="${file.replaceAll(/[^A-Za-z0-9._-]/g, '-')}"`)
        .send(typeof body === 'string' ? body : Readable.from(body, { highWaterMark: 1 }))
    }
    default:
      return result satisfies never
  }
}
