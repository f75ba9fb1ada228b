import { ENVELOPE } from '../contract/responses.ts'
import type { Result, WholeBody } from './results.ts'

/** A page as it was sent, while the revisions of its list stay the same. */
export type KeptPage = Pick<Result, 'etag' | 'next' | 'previous'> & { readonly data: WholeBody }

interface Entry {
  readonly revisions: string
  readonly page: KeptPage
  /** By the monotonic clock, in milliseconds. */
  usedAt: number
}

/**
 * Pages of lists that are asked again, up to a number of bytes in all. A page that is in use keeps its place: programs ask in turns,
 * and each would drop the page that is asked next. One that nobody has asked for a while makes room for others.
 */
export class KeptPages {
  readonly #maxBytes: number
  readonly #entries = new Map<string, Entry>()
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Whether there is a page under a key, which may be out of date. */
  has(key: string): boolean {
    return this.#entries.has(key)
  }

  /** The page under a key, unless its list has changed. */
  find(key: string, revisions: string, now = performance.now()): KeptPage | undefined {
    const entry = this.#entries.get(key)
    if (entry?.revisions !== revisions) return undefined
    entry.usedAt = now
    return entry.page
  }

  /** Keeps a page if there is room for it. */
  keep(key: string, { data, revisions = null, etag, next, previous }: Result, now = performance.now()) {
    this.#drop(key)
    if (revisions === null || data === undefined || 'bytes' in data || 'body' in data) return
    const length = data.reduce((sum, part) => sum + part.length, OVERHEAD_BYTES)
    if (length > this.#maxBytes / MIN_PAGES || !this.#makeRoom(length, now)) return
    const text = `${ENVELOPE.before}${data.join('')}${ENVELOPE.after}`
    // Not part of a larger buffer, which would stay as long as the page.
    const body = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
    body.write(text)
    if (this.#bytes + sizeOf(body) > this.#maxBytes) return
    this.#entries.set(key, { revisions, page: { data: { body }, etag, next, previous }, usedAt: now })
    this.#bytes += sizeOf(body)
  }

  /** Drops pages that are not in use, of those that were looked at least recently. */
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
    this.#bytes -= sizeOf(entry.page.data.body)
  }
}

function sizeOf(body: Buffer): number {
  return body.length + OVERHEAD_BYTES
}

/** Of a page beside its text. */
const OVERHEAD_BYTES = 1000
/** A page takes no more than this part of the room. */
const MIN_PAGES = 16
const MAX_LOOKS = 4
const IN_USE_MS = 5 * 60_000
