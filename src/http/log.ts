import { writeSync } from 'node:fs'
import type { RequestSummary } from './request-context.ts'

/** JSON lines, one for each request and each failure of our own. */
export interface Log {
  request(summary: RequestSummary, aborted: boolean): void
  failure(error: unknown, requestId: string | undefined): void
  /** Writes the lines that are still buffered. */
  flush(): void
}

/**
 * Buffers lines and writes many at once. A line never contains a token, a header, a query, a value from the path, a name
 * or an address; of what a client sends only a request id of plain form.
 */
export function makeLog(write: (text: string) => void, requests: boolean): Log {
  let buffered = ''
  let timer: NodeJS.Timeout | undefined

  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const text = buffered
    buffered = ''
    if (text !== '') write(text)
  }
  const add = (line: string) => {
    buffered += line
    if (buffered.length >= MAX_BUFFERED_CHARACTERS) flush()
    else timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref()
  }

  return {
    request(summary, aborted) {
      if (requests) add(requestLine(summary, aborted))
    },
    failure(error, requestId) {
      const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error))
      const reason = cause instanceof Error ? cause.message : undefined
      add(
        `${JSON.stringify({ time: new Date().toISOString(), level: 'error', requestId, name, message, reason, stack })}\n`,
      )
    },
    flush,
  }
}

/** Writes to stderr synchronously, so that it also works while the process exits. */
export function writeToStderr(text: string) {
  try {
    let rest = Buffer.from(text)
    while (rest.length > 0) rest = rest.subarray(writeSync(2, rest))
  } catch {
    // A log that cannot be written must not stop the service.
  }
}

const MAX_BUFFERED_CHARACTERS = 64 * 1024
const FLUSH_INTERVAL_MS = 200

function requestLine(summary: RequestSummary, aborted: boolean): string {
  const { requestId, method, route, status, bytes, tokenId, code, startedAt, now } = summary
  const duration = (performance.now() - startedAt).toFixed(2)
  let line = `{"time":"${timeOf(now)}","requestId":"${requestId}","method":"${method}"`
  line += `,"route":${route === undefined ? 'null' : `"${route}"`},"status":${status}`
  line += `,"ms":${duration},"bytes":${bytes}`
  if (tokenId !== undefined) line += `,"token":${tokenId}`
  if (code !== undefined) line += `,"code":"${code}"`
  const sent = summary.headers.requestId
  if (sent !== undefined && PLAIN_ID.test(sent) && !TOKEN_START.test(sent)) line += `,"clientRequestId":"${sent}"`
  return aborted ? `${line},"aborted":true}\n` : `${line}}\n`
}

/** Many requests share a millisecond, and formatting it is half the work of a line. */
function timeOf(instant: number): string {
  if (instant !== lastInstant) {
    lastInstant = instant
    lastTime = new Date(instant).toISOString()
  }
  return lastTime
}

let lastInstant = Number.NaN
let lastTime = ''

const PLAIN_ID = /^[A-Za-z0-9._-]{1,64}$/
// Part of a token can be enough to guess the rest.
const TOKEN_START = /lks_/i
