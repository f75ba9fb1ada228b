import { Busboy } from '@fastify/busboy'
import { createWriteStream } from 'node:fs'
import { open as openFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { ApiError } from '../contract/errors.ts'
import { BodyTooLargeError, LimitError, limits } from './limits.ts'
import type { RequestContext } from './request.ts'

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

/** The files of a form, in their order. */
export interface ReceivedFiles {
  /** As the sender calls them. */
  readonly names: readonly string[]
  readonly bytes: number
}

/**
 * Reads a form with files, as browsers send it (multipart/form-data), into a folder. Its bounds are those of `limits.upload…`. Rejects as
 * soon as one is reached, or if the body is cut off or not well-formed. Then the files are incomplete, and the connection must be closed
 * after the response.
 */
export async function readFileForm(context: RequestContext, options: FileFormOptions): Promise<ReceivedFiles> {
  const { request, connection } = context
  const { maxBytes, periodMs, signal } = options
  if (Number(request.headers['content-length']) > maxBytes) throw new BodyTooLargeError('uploadBytes')
  signal.throwIfAborted()
  const { promise: failed, reject } = Promise.withResolvers<never>()
  const writing = new AbortController()
  const received = writeFiles(request, options, writing.signal, reject)
  let bytes = 0
  let countedBefore = 0
  const onData = (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > maxBytes) reject(new BodyTooLargeError('uploadBytes'))
    else if (!received.parser.write(chunk)) request.pause()
  }
  const onAbort = () => reject(signal.reason)
  const lateBy = (limit: 'uploadRate' | 'uploadTime') => reject(new LimitError(limit, 'request_timeout'))
  const endTimer = setTimeout(lateBy, limits.uploadTime.max, 'uploadTime')
  const rateTimer = setInterval(() => {
    if (bytes - countedBefore < (limits.uploadRate.max * periodMs) / 1000) lateBy('uploadRate')
    countedBefore = bytes
  }, periodMs)
  connection.awaitLongBody(reject)
  signal.addEventListener('abort', onAbort)
  received.parser.on('drain', () => request.resume())
  request.on('data', onData)
  request.once('end', () => received.parser.end())
  // The client closed the connection.
  request.once('error', () => reject(new ApiError('malformed_request')))
  try {
    return { names: await Promise.race([received.names, failed]), bytes }
  } catch (error) {
    writing.abort()
    await received.written()
    throw error
  } finally {
    clearTimeout(endTimer)
    clearInterval(rateTimer)
    signal.removeEventListener('abort', onAbort)
    // What else arrives is dropped.
    request.off('data', onData).resume()
  }
}

/** Writes what is written to `parser` into the files. `names` resolves with their names when all have been written. */
function writeFiles(
  { headers }: Pick<RequestContext['request'], 'headers'>,
  { folder }: FileFormOptions,
  signal: AbortSignal,
  reject: (error: unknown) => void,
) {
  const parser = parserOf(headers['content-type'] ?? '')
  const names: string[] = []
  const writes: Promise<void>[] = []
  const refuse = () => reject(new ApiError('malformed_request'))
  parser.on('file', (_field: string, file: Readable, name?: string) => {
    // Without a chosen file, browsers send an empty one without a name.
    if (name === undefined || name === '') return void file.on('error', refuse).resume()
    names.push(name)
    const write = writeFile(file, join(folder, String(names.length)), signal)
    writes.push(write)
    write.catch(reject)
  })
  for (const event of ['error', 'filesLimit', 'fieldsLimit', 'partsLimit']) parser.on(event, refuse)
  const finished = Promise.withResolvers<void>()
  parser.once('finish', finished.resolve)
  const written = async () => void (await Promise.allSettled(writes))
  return {
    parser,
    names: finished.promise.then(async () => {
      await Promise.all(writes)
      return names
    }),
    written,
  }
}

function parserOf(contentType: string) {
  if (!/^multipart\/form-data *;/i.test(contentType)) throw new ApiError('malformed_request')
  try {
    return new Busboy({
      headers: { 'content-type': contentType },
      limits: { files: limits.uploadFiles.max, fields: 0, parts: limits.uploadFiles.max, headerPairs: 10 },
    })
  } catch {
    // Without a boundary, it is not known where a part ends.
    throw new ApiError('malformed_request')
  }
}

async function writeFile(file: Readable, path: string, signal: AbortSignal) {
  await pipeline(file, createWriteStream(path, { flags: 'wx', mode: 0o600 }), { signal })
  // After a power failure, a file that is said to be there must be whole.
  await using handle = await openFile(path)
  await handle.sync()
}
