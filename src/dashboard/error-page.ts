import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, type HttpError } from '../contract/errors.ts'
import { toHttpError } from '../resources/failures.ts'
import { parseCookies } from './cookies.ts'
import { readDisplay } from './display.ts'
import { FormError } from './form-errors.ts'
import { html, type Html, nothing } from './html.ts'
import { page, plainPage } from './layout.ts'
import { PrimaryDownError } from './primary-down.ts'
import { view, type Viewer } from './page.ts'
import { safePath } from './paths.ts'

/** The error that a person sees for a failure. */
export function toShownError(error: unknown): HttpError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new FormError('body_too_large')
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return new FormError('unsupported_media_type')
  if (code === 'FST_ERR_HANDLER_TIMEOUT') return new ApiError('unavailable')
  return toHttpError(error)
}

export function wantsPage({ headers }: FastifyRequest): boolean {
  return headers.accept?.includes('text/html') ?? false
}

/** Sends an error as a page, with the header of the dashboard for somebody who is signed in. */
export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: HttpError, viewer?: Viewer) {
  request.context.code = error.code
  if (error.status === 503) reply.header('Retry-After', '1')
  return reply
    .code(error.status)
    .type('text/html; charset=utf-8')
    .send(errorPage(request, error, viewer).toString())
}

function errorPage({ headers, context, method }: FastifyRequest, error: HttpError, viewer?: Viewer): Html {
  const { code, status, message } = error
  const isPrimaryDown = error instanceof PrimaryDownError
  const title = isPrimaryDown ? 'Not possible now' : status === 404 ? 'There is nothing here' : 'That did not work'
  const { path, query } = context.target
  const address = query === '' ? path : `${path}?${query}`
  const body = html`
      <div class="card"${isPrimaryDown ? html` data-dialog-body` : nothing}><div class="stack">
        ${viewer === undefined ? html`<h1>${title}</h1>` : nothing}
        ${isPrimaryDown && viewer !== undefined ? html`<h2 class="dialog-title" id="dialog-title">${title}</h2>` : nothing}
        <p>${code === 'no_route' ? 'The address may be mistyped, or old' : message}.</p>
        <p class="buttons">${
          status >= 500 && method === 'GET'
            ? html`<a class="button primary" href="${safePath(address)}">Try again</a>`
            : nothing
        }<a class="button" href="/">Back to the overview</a></p>
        ${status >= 500 && !isPrimaryDown ? html`<p class="muted">The log has the cause under <code>${context.requestId}</code>.</p>` : nothing}
      </div></div>
    `
  return viewer === undefined
    ? plainPage(readDisplay(parseCookies(headers.cookie)), 'Not shown', body)
    : // The error says what a notice would.
      page(isPrimaryDown ? { ...viewer, replicaAsOf: undefined } : viewer, view({ title, body }), '/')
}
