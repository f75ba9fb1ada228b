import { ENVELOPE } from '../contract/responses.ts'
import type { Result, WholeBody } from './results.ts'

/** A result as it was sent. */
type KeptResult = Omit<Result, 'data' | 'revisions'> & { readonly data: WholeBody }

interface Entry {
  readonly revisions: string
  readonly result: KeptResult
  /** The version of the database at which it was found to be true; undefined on an engine without. */
  version: number | undefined
  /** By the monotonic clock, in milliseconds. */
  usedAt: number
}

/**
 * Records and pages of lists that are asked again, up to a number of bytes in all: each is true at the version of the database
 * that it was read at, and later while its revisions are the same. What is in use keeps its place: programs ask in turns, and each
 * would drop what is asked next. What nobody has asked for a while makes room for others.
 */
export class KeptResults {
  readonly #maxBytes: number
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether there is a result under a key, which may be out of date. */
  has(key: string): boolean {
    return this.#entries.has(key)
  }

  /** The result under a key, if it is true at this version of the database without a further look. */
  at(key: string, version: number | undefined, now = performance.now()): KeptResult | undefined {
    const entry = this.#entries.get(key)
    if (version === undefined || entry?.version !== version) return undefined
    entry.usedAt = now
    return entry.result
  }

  /** The result under a key, unless what it was made from has other revisions. `version` was read before these. */
  find(key: string, revisions: string, version: number | undefined, now = performance.now()): KeptResult | undefined {
    const entry = this.#entries.get(key)
    if (entry?.revisions !== revisions) return undefined
    entry.usedAt = now
    entry.version = version
    return entry.result
  }

  /** Keeps a result if there is room for it. `version` was read before it. */
  keep(key: string, result: Result, version: number | undefined, now = performance.now()) {
    this.#drop(key)
    const { data, revisions = null, ...rest } = result
    if (revisions === null || data === undefined || 'bytes' in data || 'body' in data) return
    const length = data.reduce((sum, part) => sum + part.length, OVERHEAD_BYTES)
    if (length > this.#maxBytes / MIN_RESULTS || !this.#makeRoom(length, now)) return
    const text = `${ENVELOPE.before}${data.join('')}${ENVELOPE.after}`
    // Not part of a larger buffer, which would stay as long as this.
    const body = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
    body.write(text)
    if (this.#bytes + sizeOf(body) > this.#maxBytes) return
    this.#entries.set(key, { revisions, result: { ...rest, data: { body } }, version, usedAt: now })
    this.#bytes += sizeOf(body)
  }

  /** Drops what is not in use, of what was looked at least recently. */
  #makeRoom(bytes: number, now: number): boolean {
    let looks = MAX_LOOKS
    for (const [key, entry] of this.#entries) {
      if (this.#bytes + bytes <= this.#maxBytes) return true
      if ((looks -= 1) < 0) return false
      if (now - entry.usedAt > IN_USE_MS) this.#drop(key)
      else {
        this.#entries.delete(key)
        this.#entries.set(key, entry)
      }
    }
    return this.#bytes + bytes <= this.#maxBytes
  }

  #drop(key: string) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#bytes -= sizeOf(entry.result.data.body)
  }
}

function sizeOf(body: Buffer): number {
  return body.length + OVERHEAD_BYTES
}

/** Beside the text. */
const OVERHEAD_BYTES = 1000
/** None takes more than this part of the room. */
const MIN_RESULTS = 16
const MAX_LOOKS = 4
const IN_USE_MS = 5 * 60_000
