import type { FastifyRequest } from 'fastify'

/** The fields of the form that was sent; none for a request without one. */
export function formOf({ body }: Pick<FastifyRequest, 'body'>): URLSearchParams {
  return body instanceof URLSearchParams ? body : new URLSearchParams()
}
