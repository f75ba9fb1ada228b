import { escapeControls } from '../contract/control-characters.ts'
import type { RequestSummary } from './context.ts'

export type Log = ReturnType<typeof makeLog>

/**
 * JSON lines, one for each request and each failure of our own. Buffers lines and writes many at once. The line of a request never contains an API key, a header, a query, a value from the path, a
 * name or an address.
 */
export function makeLog(write: (text: string) => void, requests: boolean) {
  let buffered = ''
  let timer: NodeJS.Timeout | undefined

  /** Writes the lines that are still buffered. */
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    const text = buffered
    buffered = ''
    if (text !== '') write(text)
  }
  const add = (line: string) => {
    if (buffered.length + line.length > MAX_ATOMIC_CHARACTERS) flush()
    buffered += line
    timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref()
  }

  return {
    request(summary: RequestSummary, aborted: boolean) {
      if (requests) add(requestLine(summary, aborted))
    },
    failure(error: unknown, requestId: string | undefined) {
      const { name, message, stack, cause } = error instanceof Error ? error : new Error(String(error))
      const reason = cause instanceof Error ? cause.message : undefined
      add(
        `${escapeControls(JSON.stringify({ time: new Date().toISOString(), level: 'error', requestId, name, message, reason, stack }))}\n`,
      )
    },
    flush,
  }
}

/** Writes whole lines to stderr. While its reader is slow they wait, and those beyond MAX_WAITING_BYTES are left out. */
export function writeToStderr(lines: string) {
  if (process.stderr.writableLength <= MAX_WAITING_BYTES) process.stderr.write(lines)
}

// A log that cannot be written must not stop the service.
process.stderr.on('error', () => {})

const MAX_WAITING_BYTES = 1024 * 1024

/** A pipe takes so much whole or not at all, so lines of several processes are not mixed. */
const MAX_ATOMIC_CHARACTERS = 4096
const FLUSH_INTERVAL_MS = 200

function requestLine(summary: RequestSummary, aborted: boolean): string {
  const { requestId, method, route, status, bytes, keyId, code, startedAt, now } = summary
  const duration = (performance.now() - startedAt).toFixed(2)
  let line = `{"time":"${timeOf(now)}","requestId":"${requestId}","method":"${method}"`
  line += `,"route":${route === undefined ? 'null' : `"${route}"`},"status":${status}`
  line += `,"ms":${duration},"bytes":${bytes}`
  if (keyId !== undefined) line += `,"token":${keyId}`
  if (code !== undefined) line += `,"code":"${code}"`
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
