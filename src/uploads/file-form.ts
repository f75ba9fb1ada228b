import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import type { FastifyRequest } from 'fastify'
import { ApiError } from '../contract/errors.ts'
import { LimitError, limits } from '../http/limits.ts'

interface FileFormOptions {
  /** Where the files go, as `1`, `2` and so on; only this user may read them. */
  readonly folder: string
  /** How many bytes the body may have. */
  readonly maxBytes: number
  /** In each period of this length, as many bytes must arrive as `limits.uploadRate` says. */
  readonly periodMs: number
  /** Stops reading; its reason is thrown. */
  readonly signal: AbortSignal
}

/**
 * Reads a form with files, as browsers send it (multipart/form-data), into a folder. Returns their names, in their order, as the sender calls
 * them. Its bounds are those of `limits.upload…`:
 * `@fastify/multipart` has none for the whole body, nor for its time. Rejects as soon as one is reached, or if the body is cut off or not
 * well-formed. Then the files are incomplete, and the connection must be closed after the response.
 */
export async function readFileForm(request: FastifyRequest, options: FileFormOptions) {
  const { raw } = request
  const { maxBytes, periodMs, signal } = options
  if (!request.isMultipart()) throw new ApiError('malformed_request')
  if (Number(raw.headers['content-length']) > maxBytes) throw new LimitError('uploadBytes', 'body_too_large')
  const ending = new AbortController()
  const reading = AbortSignal.any([signal, ending.signal])
  reading.throwIfAborted()
  let bytes = 0
  let countedBefore = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) ending.abort(new LimitError('uploadBytes', 'body_too_large'))
  }
  const lateBy = (limit: 'uploadRate' | 'uploadTime') => ending.abort(new LimitError(limit, 'request_timeout'))
  const endTimer = setTimeout(lateBy, limits.uploadTime.max, 'uploadTime')
  const rateTimer = setInterval(() => {
    if (bytes - countedBefore < (limits.uploadRate.max * periodMs) / 1000) lateBy('uploadRate')
    countedBefore = bytes
  }, periodMs)
  raw.on('data', onData)
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  reading.addEventListener('abort', () => reject(reading.reason), { once: true })
  const state: { write?: Promise<void> } = {}
  const names = writeFiles(request, options.folder, reading, state)
  names.catch(() => {})
  try {
    return { names: await Promise.race([names, aborted]), bytes }
  } catch (error) {
    ending.abort(error)
    // What else arrives is dropped.
    raw.unpipe()
    raw.resume()
    await state.write?.catch(() => {})
    throw refusalOf(error)
  } finally {
    clearTimeout(endTimer)
    clearInterval(rateTimer)
    raw.off('data', onData)
  }
}

/** Writes each file of the form, one after the other, and returns their names. `state.write` is the file that is being written. */
async function writeFiles(
  request: FastifyRequest,
  folder: string,
  signal: AbortSignal,
  state: { write?: Promise<void> },
): Promise<string[]> {
  const names: string[] = []
  const files = limits.uploadFiles.max
  for await (const { file, filename } of request.files({
    limits: { files, fields: 0, parts: files, headerPairs: 10, fileSize: Infinity },
  })) {
    signal.throwIfAborted()
    // Without a chosen file, browsers send an empty one without a name.
    if (filename === undefined || filename === '') {
      file.resume()
      continue
    }
    names.push(filename)
    // After a power failure, a file that is said to be there must be whole.
    const written = createWriteStream(join(folder, String(names.length)), { flags: 'wx', mode: 0o600, flush: true })
    state.write = pipeline(file, written, { signal })
    await state.write
  }
  return names
}

/** Its own errors say what was wrong with the form: parts that are cut off, too many, or no files. */
function refusalOf(error: unknown): unknown {
  const { code = '', message } = error as NodeJS.ErrnoException
  const isOfForm = code.startsWith('FST_') || code === 'ERR_STREAM_PREMATURE_CLOSE' || /multipart|header/i.test(message)
  return isOfForm ? new ApiError('malformed_request') : error
}
