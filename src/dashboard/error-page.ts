import type { FastifyReply, FastifyRequest } from 'fastify'
import { ApiError, type HttpError } from '../contract/errors.ts'
import { toHttpError } from '../resources/failures.ts'
import { parseCookies } from './cookies.ts'
import { readDisplay } from './display.ts'
import { FormError } from './form-errors.ts'
import { html, type Html, nothing } from './html.ts'
import { plainPage } from './layout.ts'

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

export function sendErrorPage(request: FastifyRequest, reply: FastifyReply, error: HttpError) {
  request.context.code = error.code
  if (error.status === 503) reply.header('Retry-After', '1')
  return reply.code(error.status).type('text/html; charset=utf-8').send(errorPage(request, error).toString())
}

function errorPage({ headers, context }: FastifyRequest, { code, status, message }: HttpError): Html {
  return plainPage(
    readDisplay(parseCookies(headers.cookie)),
    'Not shown',
    html`
      <div class="card stack">
        <h1>${status === 404 ? 'There is nothing here' : 'That did not work'}</h1>
        <p>${code === 'no_route' ? 'The address may be mistyped, or old' : message}.</p>
        <p><a class="button" href="/">Back to the overview</a></p>
        ${status >= 500 ? html`<p class="muted">The log has the cause under <code>${context.requestId}</code>.</p>` : nothing}
      </div>
    `,
  )
}
