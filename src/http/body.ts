import { ApiError } from '../contract/errors.ts'
import { BodyTooLargeError, LimitError, limits } from './limits.ts'
import type { RequestContext } from './request.ts'

/**
 * Reads the form of a request. It has `timeoutMs` from the headers of the request, whatever arrives meanwhile. Rejects as soon as it is
 * too large, too late, or cannot arrive any more; the connection must then be closed after the response.
 */
export async function readForm(context: RequestContext, timeoutMs: number): Promise<string> {
  const { request, connection, startedAt } = context
  if (Number(request.headers['content-length']) > limits.formBytes.max) throw new BodyTooLargeError('formBytes')
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let bytes = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > limits.formBytes.max) reject(new BodyTooLargeError('formBytes'))
    else chunks.push(chunk)
  }
  const timer = setTimeout(
    () => reject(new LimitError('bodyTimeout', 'request_timeout')),
    Math.max(0, startedAt + timeoutMs - performance.now()),
  )
  connection.onBodyError(reject)
  request.on('data', onData)
  request.once('end', () => resolve(Buffer.concat(chunks)))
  // The client closed the connection.
  request.once('error', () => reject(new ApiError('malformed_request')))
  try {
    return (await promise).toString()
  } finally {
    clearTimeout(timer)
    // What else arrives is dropped.
    request.off('data', onData).resume()
  }
}
