import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import multipart from '@fastify/multipart'
import { Readable } from 'node:stream'
import type { ReadLog } from '../accounts/read-log.ts'
import type { Log } from '../http/log.ts'
import { ApiError } from '../contract/errors.ts'
import { LimitError, type LimitName, limitOf } from '../http/limits.ts'
import { asset, sendAsset, sendPage } from './sending.ts'
import { askAgain } from './sign-in/reauthentication.ts'
import { insecureExplanation, sendErrorPage, sendSignedOutPage, toShownError, wantsPage } from './layout/error-page.ts'
import { beginExport } from './files.ts'
import { renderLayout } from './layout/layout.ts'
import type { DashboardOptions } from './options.ts'
import { checkDownloadOrigin, PAGE_HEADERS, siteOriginOf } from './site.ts'
import { type DashboardPage, type PageResult, sharedAreas, type View, type Viewer, type Visit } from './page.ts'
import { accessEndedView, notShared } from './layout/subject-notes.ts'
import { yearPages } from './pages/year/year.ts'
import { displayPages } from './pages/settings/display.ts'
import { keyPages } from './pages/keys/keys.ts'
import { overviewPages } from './pages/overview/overview.ts'
import { peoplePages } from './pages/people/people.ts'
import { programPages } from './pages/training/programs.ts'
import { lockPages } from './pages/locks/locks.ts'
import { lockSessionPages } from './pages/locks/session.ts'
import { lockTemplatePages } from './pages/locks/templates.ts'
import { sourcePages } from './pages/source/source.ts'
import { settingsPages } from './pages/settings/settings.ts'
import { trainingPages } from './pages/training/training.ts'
import { trainingSessionPages } from './pages/training/session.ts'
import { uploadPages } from './pages/source/upload.ts'
import { registerInvitations } from './sign-in/invitation.ts'
import { registerOidc } from './sign-in/oidc.ts'
import { askToSignIn, registerSignIn } from './sign-in/signin.ts'
import { registerPasskeyOptions } from './sign-in/passkey-options.ts'
import { makeSignInSteps } from './sign-in/sign-in-steps.ts'
import { inWords, languageOf, yearOf } from './text/text.ts'
import { visitOf } from './visit.ts'

/**
 * The dashboard: pages for people, rendered by the server, which work without scripts. CONTRIBUTING.md says how to add one.
 *
 *  - Markup comes from `html` (html.ts), which escapes; styles from classes in assets/*.css, never from `style="…"`,
 *    which the policy forbids. Charts are drawn with charts/plane.ts.
 *  - Records shown are those of `visit.viewer.subject`; a record by its identifier may belong to any of `viewer.readable`.
 *    Queries take their access from `visit.pageAccess`, which notes whose records are read.
 *  - Names, types and texts come from text/names.ts, which implements discreet mode; fields are named by text/labels.ts.
 *  - Instants, lengths and distances are written by text/text.ts, in the zone, the units and the language of the account; cards, tables, tabs and empty states are in layout/components.ts.
 *  - A form posts to a path of its own with `method: 'POST'`; its origin is checked before the handler runs.
 */

export const pages: readonly DashboardPage[] = [
  ...overviewPages,
  ...trainingPages,
  ...yearPages,
  ...trainingSessionPages,
  ...programPages,
  ...lockPages,
  ...lockSessionPages,
  ...lockTemplatePages,
  ...keyPages,
  ...peoplePages,
  ...sourcePages,
  ...uploadPages,
  ...settingsPages,
  ...displayPages,
]

export function registerDashboard(scope: FastifyInstance, options: DashboardOptions) {
  // One for all sign-in methods, because they share their limits.
  const signInSteps = makeSignInSteps(options)

  // Its addresses are relative to its own, which is therefore not below /assets/.
  scope.get('/app.webmanifest', (_, reply) => sendAsset(reply, asset('app.webmanifest')))
  void scope.register(async signingIn => {
    signingIn.addHook('onRequest', async (request, reply) => {
      if (siteOriginOf(request.context, options.config).maySignIn) return undefined
      return sendSignedOutPage(request, reply.code(403), insecureExplanation)
    })
    registerSignIn(signingIn, options, signInSteps)
    registerInvitations(signingIn, options)
    registerPasskeyOptions(signingIn, options)
    registerOidc(signingIn, options, signInSteps)
  })
  const exports = new Set<number>()
  for (const page of pages) if (page.receivesFiles !== true) registerPage(scope, options, exports, page)
  // The plugin has hooks of its own, which the other pages do not need.
  void scope.register(async receiving => {
    await receiving.register(multipart)
    for (const page of pages) if (page.receivesFiles === true) registerPage(receiving, options, exports, page)
  })
}

/** Shows errors as pages, in the whole scope. Programs get them as JSON from the application. */
export function showErrors(scope: FastifyInstance, options: DashboardOptions) {
  scope.setErrorHandler(async (error, request, reply) => {
    const { context } = request
    const shown = toShownError(error)
    context.limit = limitOf(shown) ?? limitOf(error) ?? context.limit
    if (!wantsPage(request)) throw shown.code === 'internal_error' ? error : shown
    if (shown.status >= 500 && shown !== error) options.log.failure(error, context.requestId)
    reply.headers(PAGE_HEADERS)
    // A limit of whoever asks must cost as little as possible.
    const isCheap = shown instanceof LimitError && BEFORE_WORK.has(shown.limit)
    return sendErrorPage(request, reply, shown, isCheap ? undefined : await viewerOrNone(options, reply))
  })
}

const BEFORE_WORK: ReadonlySet<string> = new Set<LimitName>(['lag', 'sessionPages', 'addressPages'])

/** Shows a page for an unknown path; false if the client wants none. */
export function sendUnknown(
  options: DashboardOptions,
  request: FastifyRequest,
  reply: FastifyReply,
  admit: (request: FastifyRequest, reply: FastifyReply) => void,
): boolean {
  if (!wantsPage(request) || `${request.context.target.path}/`.startsWith('/api/')) return false
  const show = async () => {
    try {
      admit(request, reply)
    } catch (error) {
      return sendErrorPage(request, reply.headers(PAGE_HEADERS), toShownError(error))
    }
    const viewer = await viewerOrNone(options, reply)
    // Only now: the headers of all responses are set meanwhile.
    return sendErrorPage(request, reply.headers(PAGE_HEADERS), new ApiError('no_route'), viewer)
  }
  show().catch((error: unknown) => reply.send(error))
  return true
}

function registerPage(scope: FastifyInstance, options: DashboardOptions, exports: Set<number>, page: DashboardPage) {
  const { readLog } = options
  const { path, method = 'GET', isDownload = false, isExport = false } = page
  const { receivesFiles = false, takesLong = receivesFiles } = page
  scope.route({
    method,
    url: path,
    // Statements have a time limit of their own.
    ...(isDownload || takesLong ? { handlerTimeout: NO_TIMEOUT_MS } : {}),
    config: { receivesFiles, takesLong },
    async handler(request, reply) {
      const visit = await visitOf(options, reply, page.section)
      if (visit === undefined) return askToSignIn(request, reply)
      const year = isDownload ? undefined : yearOf(visit.viewer, visit.now)
      const language = languageOf(visit.viewer.session.language, request.headers['accept-language'])
      return inWords({ language, year }, async () => {
        const result = await resultOf(visit, page)
        // The body of a file is not read yet.
        if (result.shape === 'download') checkDownloadOrigin(request.raw)
        if (result.shape === 'download' && isExport) await beginExport(exports, visit, reply.raw)
        recordReads(readLog, visit, page, result)
        return send(reply, visit, page, result, options.log)
      })
    },
  })
}

/** Who is signed in, for the header of an error; undefined where that cannot be read either. */
async function viewerOrNone(options: DashboardOptions, reply: FastifyReply): Promise<Viewer | undefined> {
  const visit = await visitOf(options, reply, null).catch(() => undefined)
  return visit?.viewer
}

/** What a visit of a page results in. */
async function resultOf(visit: Visit, page: DashboardPage): Promise<PageResult> {
  const { act, confirms = act?.confirms ?? false } = page
  const asked = confirms ? askAgain(visit, page) : undefined
  return deniedView(visit, page) ?? asked ?? page.handler(visit)
}

/**
 * The page in place of the records of an account whose access has ended, or of a list of records that somebody else does not share.
 * A record may belong to another owner.
 */
function deniedView(
  { viewer, sectionStart }: Visit,
  { section, reads, area, method, isDownload = false }: DashboardPage,
): View | undefined {
  if (viewer.chosenIsGone && method !== 'POST' && section !== null && area !== undefined) {
    const ended = accessEndedView(viewer, sectionStart.title)
    // With this status, browsers do not save the page under the name of the file.
    return isDownload ? { ...ended, status: 403 } : ended
  }
  if (reads !== 'list' || area === 'both' || sharedAreas(viewer).includes(area)) return undefined
  return notShared(viewer, sectionStart.title)
}

/** The longest that a timer can wait: a route cannot switch off the timeout of all routes. */
const NO_TIMEOUT_MS = 2 ** 31 - 1

/** Counts what a page reads of others. A viewer's own records are not counted. */
function recordReads(readLog: ReadLog, visit: Visit, page: DashboardPage, { shape }: PageResult) {
  const { viewer, pageAccess, now } = visit
  const { accountId } = viewer.session
  for (const [area, owner] of pageAccess.noted()) {
    if (page.reads === null || (page.area !== 'both' && page.area !== area)) {
      throw new Error(`the page ${page.path} reads more than it declares`)
    }
    if (owner === accountId) continue
    const read = shape === 'download' ? 'export' : page.reads
    readLog.record({ accountId, via: 'dashboard', keyName: '' }, owner, area, read, now)
  }
}

function send(reply: FastifyReply, visit: Visit, { section }: DashboardPage, result: PageResult, log: Log) {
  switch (result.shape) {
    case 'view': {
      const { viewer, path, query } = visit
      if (result.status !== undefined) reply.code(result.status)
      for (const cookie of result.cookies ?? []) reply.header('Set-Cookie', cookie)
      const returnTo = query.size === 0 ? path : `${path}?${query}`
      return sendPage(reply, renderLayout(viewer, result, section, returnTo).toString())
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
      reply
        .type(type)
        .header('Content-Disposition', `attachment; filename="${file.replaceAll(/[^A-Za-z0-9._-]/g, '-')}"`)
      if (typeof body === 'string') return reply.send(body)
      const parts = Readable.from(body, { highWaterMark: 1 })
      // Too late for an error page: the file ends early.
      parts.once('error', error => log.failure(error, reply.request.context.requestId))
      return reply.send(parts)
    }
    default:
      return result satisfies never
  }
}
