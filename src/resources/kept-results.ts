import { matchesEtag } from '../contract/etags.ts'
import { ENVELOPE } from '../contract/responses.ts'
import type { BodyPacker, PackedBody } from './packed-bodies.ts'
import type { OpenBody, Result } from './results.ts'

/** A result as it was sent; without data if the caller already had the data. */
type KeptResult = Omit<Result, 'data' | 'revisions'> & { readonly data: PlainBody | PackedBody | undefined }

/** A body as it is sent. */
class PlainBody implements OpenBody {
  readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  get length() {
    return this.bytes.length
  }

  get size() {
    return this.bytes.length
  }

  open(): OpenBody {
    return this
  }
}

interface Entry {
  readonly revisions: string
  readonly result: KeptResult
  /** Whether it was compressed, or would not become smaller. */
  readonly isPacked: boolean
  /** The last version of the database at which it was known to be valid; undefined on an engine without versions. */
  version: number | undefined
  /** By the monotonic clock, in milliseconds. */
  usedAt: number
}

/** A look-up of a result, for a request. */
interface Look {
  /** The version of the database before anything was read for the request; undefined on an engine without versions. */
  readonly version: number | undefined
  /** The header of the request. */
  readonly ifNoneMatch?: string | undefined
  /** By the monotonic clock, in milliseconds. */
  readonly now?: number
}

/**
 * A cache of records and pages of lists, up to a number of bytes in all. An entry is valid at the version of the database at which
 * it was read, and later while its revisions are the same. Entries in use are not evicted for new ones: programs ask in turns, so
 * each would evict what is asked for next; they are compressed. Entries that nobody has asked for in a while are evicted.
 */
export class KeptResults {
  readonly #maxBytes: number
  readonly #packer: BodyPacker | undefined
  readonly #entries = new Map<string, Entry>()
  #bytes = 0
  /** By the monotonic clock, in milliseconds. No room is looked for before. */
  #fullUntil = 0

  /** Without a packer, nothing is compressed. */
  constructor(maxBytes: number, packer?: BodyPacker) {
    this.#maxBytes = maxBytes
    this.#packer = packer
  }

  /** Whether there is a result under a key, which may be out of date. */
  has(key: string): boolean {
    return this.#entries.has(key)
  }

  /** The result under a key, if it is known to be valid at this version of the database. */
  at(key: string, look: Look): KeptResult | undefined {
    const entry = this.#entries.get(key)
    return look.version !== undefined && entry?.version === look.version ? use(entry, look) : undefined
  }

  /** The result under a key, if it has these revisions. */
  find(key: string, revisions: string, look: Look): KeptResult | undefined {
    const entry = this.#entries.get(key)
    if (entry?.revisions !== revisions) return undefined
    entry.version = look.version
    return use(entry, look)
  }

  /** Keeps a result if there is room for it. */
  keep(key: string, result: Result, { version, now = performance.now() }: Look) {
    this.#drop(key)
    const { data, revisions = null, ...rest } = result
    if (revisions === null || (data !== undefined && ('bytes' in data || 'open' in data))) return
    const length = (data ?? []).reduce((sum, part) => sum + part.length, OVERHEAD_BYTES)
    const fits = this.#fits(length)
    if (length > this.#maxBytes / MIN_RESULTS || (!fits && now < this.#fullUntil)) return
    const text = data && `${ENVELOPE.before}${data.join('')}${ENVELOPE.after}`
    const packed = text === undefined || fits ? undefined : this.#packer?.packText(text)
    const body = packed ?? (text === undefined ? undefined : plainBody(text))
    if (!this.#makeRoom(sizeOf(body), now)) return
    this.#add(key, { revisions, result: { ...rest, data: body }, version, usedAt: now, isPacked: packed !== undefined })
  }

  #fits(bytes: number): boolean {
    return this.#bytes + bytes <= this.#maxBytes
  }

  /** Evicts entries that are not in use, and compresses others, until there is room. Considers the first few; those in use go to the end. */
  #makeRoom(bytes: number, now: number): boolean {
    let looks = MAX_LOOKS
    for (const [key, entry] of this.#entries) {
      if (this.#fits(bytes)) return true
      if ((looks -= 1) < 0) break
      this.#drop(key)
      if (now - entry.usedAt <= IN_USE_MS) this.#add(key, this.#packed(entry))
    }
    const fits = this.#fits(bytes)
    if (!fits) this.#fullUntil = now + FULL_MS
    return fits
  }

  /** The entry, compressed if that makes it smaller. */
  #packed(entry: Entry): Entry {
    const { data } = entry.result
    if (entry.isPacked || data === undefined) return entry
    return {
      ...entry,
      isPacked: true,
      result: { ...entry.result, data: this.#packer?.pack(data.open().bytes) ?? data },
    }
  }

  #add(key: string, entry: Entry) {
    this.#entries.set(key, entry)
    this.#bytes += sizeOf(entry.result.data)
  }

  #drop(key: string) {
    const entry = this.#entries.get(key)
    if (entry === undefined) return
    this.#entries.delete(key)
    this.#bytes -= sizeOf(entry.result.data)
  }
}

/** The result of an entry, which is now in use. One without data is only for callers that have the data. */
function use(entry: Entry, { ifNoneMatch, now = performance.now() }: Look): KeptResult | undefined {
  const { data, etag } = entry.result
  if (data === undefined && (ifNoneMatch === undefined || !matchesEtag(ifNoneMatch, `"${etag}"`))) return undefined
  entry.usedAt = now
  return entry.result
}

function plainBody(text: string): PlainBody {
  // Not a part of a pooled buffer, which would stay in memory as long as this.
  const body = Buffer.allocUnsafeSlow(Buffer.byteLength(text))
  body.write(text)
  return new PlainBody(body)
}

function sizeOf(body: PlainBody | PackedBody | undefined): number {
  return (body?.size ?? 0) + OVERHEAD_BYTES
}

/** About the memory of an entry without its text. */
const OVERHEAD_BYTES = 1000
/** At least as many results must fit: a larger one is not kept. */
const MIN_RESULTS = 16
const MAX_LOOKS = 4
/** Looking through entries for each result that is not kept would cost as much as a tenth of a small read. */
const FULL_MS = 10
const IN_USE_MS = 5 * 60_000
