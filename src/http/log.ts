import { writeSync } from 'node:fs'
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
    buffered += line
    if (buffered.length >= MAX_BUFFERED_CHARACTERS) flush()
    else timer ??= setTimeout(flush, FLUSH_INTERVAL_MS).unref()
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

/** What stderr has not taken yet. */
let unwritten: Buffer = Buffer.alloc(0)
let droppedLines = 0
let retrying: NodeJS.Timeout | undefined

/**
 * Writes whole lines to stderr synchronously, so that it also works while the process exits. A pipe whose reader is slow may refuse
 * them: they are written later, and lines beyond MAX_UNWRITTEN_BYTES are left out and counted.
 */
export function writeToStderr(lines: string) {
  const bytes = Buffer.from(lines)
  if (unwritten.length + bytes.length <= MAX_UNWRITTEN_BYTES) unwritten = Buffer.concat([unwritten, bytes])
  else droppedLines += lines.split('\n').length - 1
  writeUnwritten()
}

function writeUnwritten() {
  clearTimeout(retrying)
  try {
    while (unwritten.length > 0 || droppedLines > 0) {
      if (unwritten.length === 0) {
        unwritten = Buffer.from(droppedLine(droppedLines))
        droppedLines = 0
      }
      unwritten = unwritten.subarray(writeSync(STDERR, unwritten, 0, bytesAtOnce(unwritten)))
    }
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EAGAIN') {
      retrying = setTimeout(writeUnwritten, RETRY_INTERVAL_MS).unref()
      if (!process.listeners('exit').includes(writeRest)) process.once('exit', writeRest)
      return
    }
    // A log that cannot be written must not stop the service.
    unwritten = Buffer.alloc(0)
  }
}

/** A pipe takes so much whole or not at all, so lines of several processes are not mixed. */
function bytesAtOnce(lines: Buffer): number {
  const end = lines.lastIndexOf('\n', MAX_ATOMIC_BYTES - 1) + 1
  return end > 0 ? end : lines.length
}

/** Waits for a slow reader once more at the end of the process. */
function writeRest() {
  const deadline = performance.now() + LAST_LINES_TIMEOUT_MS
  const never = new Int32Array(new SharedArrayBuffer(4))
  while (unwritten.length > 0 && performance.now() < deadline) {
    Atomics.wait(never, 0, 0, RETRY_INTERVAL_MS)
    writeUnwritten()
  }
}

function droppedLine(count: number): string {
  const message = `${count} lines of the log were left out, because its reader was too slow`
  return `${JSON.stringify({ time: new Date().toISOString(), level: 'error', message })}\n`
}

const STDERR = 2
const MAX_UNWRITTEN_BYTES = 1024 * 1024
const MAX_ATOMIC_BYTES = 4096
const RETRY_INTERVAL_MS = 20
const LAST_LINES_TIMEOUT_MS = 1000

const MAX_BUFFERED_CHARACTERS = 64 * 1024
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
