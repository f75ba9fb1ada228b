import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { announcesBody } from '../http/context.ts'
import { LimitError } from '../http/limits.ts'

/**
 * Accepts forms as the only bodies. A form has `timeoutMs` from the headers of its request, whatever arrives meanwhile. Files are read by
 * the handler of their route.
 */
export function acceptForms(scope: FastifyInstance, timeoutMs: number) {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('application/x-www-form-urlencoded', { parseAs: 'string' }, (_request, body, done) =>
    done(null, new URLSearchParams(body.toString())),
  )
  scope.addHook('preParsing', (request, reply, payload, next) => {
    if (announcesBody(request.raw) && request.routeOptions.config.receivesFiles !== true) {
      limitTime(request, reply, timeoutMs)
    }
    next(null, payload)
  })
  scope.addHook('onSend', (request, reply, _payload, next) => {
    // What has not arrived is not read.
    if (announcesBody(request.raw) && !request.raw.complete) reply.header('Connection', 'close')
    next()
  })
}

function limitTime({ raw, context }: FastifyRequest, reply: FastifyReply, timeoutMs: number) {
  const left = Math.max(0, context.startedAt + timeoutMs - performance.now())
  const timer = setTimeout(() => void reply.send(new LimitError('bodyTimeout', 'request_timeout')), left)
  const stop = () => clearTimeout(timer)
  raw.once('end', stop)
  reply.raw.once('close', stop)
}
