import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, HttpError } from '../../contract/errors.ts'
import { refusalOf } from '../../http/app.ts'
import { LimitError } from '../../http/limits.ts'
import { toHttpError } from '../../resources/handler.ts'
import { StoreBusyError, StoreFullError } from '../../store/index.ts'
import { readDisplay } from '../visit.ts'
import { html, type Html, nothing } from '../html.ts'
import { renderLayout, signedOutPage } from './layout.ts'
import { view, type Viewer } from '../page.ts'
import { safePath, parseCookies } from '../site.ts'
import { countText } from '../text/text.ts'

/** The error that a person sees for a failure. */
export function toShownError(error: unknown): HttpError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new HttpError('unsupported_media_type', 415, NO_FORM)
  if (error instanceof StoreBusyError) return new ApiError('unavailable', BUSY)
  if (error instanceof StoreFullError) return new ApiError('unavailable', FULL)
  return error instanceof Error ? refusalOf(error) : toHttpError(error)
}

const NO_FORM = 'A form must be sent as application/x-www-form-urlencoded'
const BUSY = 'An import or another long change is being stored, so nothing was changed here. Try again in a moment'
const FULL = 'The disk of this service is full, so nothing can be stored. Tell whoever runs it'

export function wantsPage({ headers }: Pick<FastifyRequest, 'headers'>): boolean {
  return headers.accept?.includes('text/html') ?? false
}

/** Sends an error as a page, with the header of the dashboard for somebody who is signed in. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: HttpError, viewer?: Viewer) {
  const { context, method } = request
  const { code, status, message } = error
  if (status === 503 || status === 429) reply.header('Retry-After', String(error.retryAfter ?? 1))
  if (status === 408) reply.header('Connection', 'close')
  context.code = code
  const isLimit = error instanceof LimitError
  const mayHelp = (status >= 500 || isLimit) && method === 'GET'
  const title = status === 404 ? 'There is nothing here' : 'That did not work'
  const { path, query } = context.target
  const address = query === '' ? path : `${path}?${query}`
  const body = html`
      <div class="card"><div class="stack">
        ${viewer === undefined ? html`<h1>${title}</h1>` : nothing}
        <p>${code === 'no_route' ? 'The address may be mistyped, or old' : code === 'internal_error' ? 'Something broke on the server' : message}.${isLimit ? html` Try again in ${countText(error.retryAfter ?? 1, 'second')}.` : nothing}</p>
        <p class="buttons">${mayHelp && html`<a class="button primary" href="${safePath(address)}">Try again</a>`}<a class="button" href="/">Back to the overview</a></p>
        ${status >= 500 && !isLimit ? html`<p class="muted">Reference: <code>${context.requestId}</code></p>` : nothing}
      </div></div>
    `
  reply.code(status)
  if (viewer === undefined) return sendSignedOutPage(request, reply, body, 'Not shown')
  const page = renderLayout(viewer, view({ title, body }), null, '/')
  return reply.type('text/html; charset=utf-8').send(page.toString())
}

/** Sends a page for somebody who is not signed in. */
export function sendSignedOutPage({ headers }: FastifyRequest, reply: FastifyReply, body: Html, title = 'Sign in') {
  const display = readDisplay(parseCookies(headers.cookie))
  return reply.type('text/html; charset=utf-8').send(signedOutPage(display, title, body).toString())
}

/** Explains why signing in is off over this connection. */
export const insecureExplanation = html`
  <div class="card stack">
    <h1>Sign in</h1>
    <p>This connection is not encrypted, and a password sent over it could be read on the way. Signing in is therefore off here.</p>
    <p>Use one of these instead:</p>
    <ul>
      <li>put a proxy with TLS in front of the service and set <code>LOCKSTEP_PUBLIC_URL</code> to its <code>https://</code> address;</li>
      <li>open the dashboard on the machine itself, or through an SSH tunnel, as <code>http://localhost</code>;</li>
      <li>on a network you trust, set <code>LOCKSTEP_INSECURE_HTTP=on</code>.</li>
    </ul>
  </div>
`
