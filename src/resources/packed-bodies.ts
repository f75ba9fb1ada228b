import { constants, zstdCompressSync } from 'node:zlib'
import type { OpenBody, WholeBody } from './results.ts'

/** Writes what Zstandard compressed to a buffer of exactly its length. Throws if it has another length. */
export type Expand = (compressed: Buffer, target: Buffer) => void

/** A body that takes less memory until it is sent. */
export interface PackedBody extends WholeBody {
  /** The bytes it takes in memory. */
  readonly size: number
}

/**
 * Compresses bodies, and expands them into buffers that are used again after they were sent: a new buffer for each response costs
 * more than reading the page again.
 */
export class BodyPacker {
  readonly #expand: Expand
  /** Buffers that are not in use, by their length, which is a power of two. */
  readonly #free = new Map<number, Buffer[]>()
  #freeBytes = 0

  constructor(expand: Expand) {
    this.#expand = expand
  }

  /** Undefined if the body would not become much smaller. */
  pack(body: Buffer): PackedBody | undefined {
    if (body.length < MIN_BYTES) return undefined
    const result = zstdCompressSync(body, { params: PARAMS, pledgedSrcSize: body.length })
    if (result.length > body.length * MAX_RATIO) return undefined
    // The result is a part of a larger buffer, which would stay in memory.
    const compressed = Buffer.allocUnsafeSlow(result.length)
    result.copy(compressed)
    return { length: body.length, size: compressed.length, open: () => this.#open(compressed, body.length) }
  }

  /** As `pack`. The text is written to a buffer that is used again. */
  packText(text: string): PackedBody | undefined {
    const buffer = this.#take(bufferLength(Buffer.byteLength(text)))
    const packed = this.pack(buffer.subarray(0, buffer.write(text)))
    this.#giveBack(buffer)
    return packed
  }

  #open(compressed: Buffer, length: number): OpenBody {
    let buffer: Buffer | undefined = this.#take(bufferLength(length))
    const bytes = buffer.subarray(0, length)
    this.#expand(compressed, bytes)
    const release = () => {
      // Given back twice, it would hold two bodies at the same time.
      if (buffer !== undefined) this.#giveBack(buffer)
      buffer = undefined
    }
    return { bytes, release }
  }

  #take(length: number): Buffer {
    const buffer = this.#free.get(length)?.pop()
    if (buffer === undefined) return Buffer.allocUnsafeSlow(length)
    this.#freeBytes -= length
    return buffer
  }

  #giveBack(buffer: Buffer) {
    const { length } = buffer
    if (this.#freeBytes + length > MAX_FREE_BYTES) return
    const others = this.#free.get(length)
    if (others === undefined) this.#free.set(length, [buffer])
    else others.push(buffer)
    this.#freeBytes += length
  }
}

/** The length of a buffer for so many bytes. */
function bufferLength(bytes: number): number {
  return 2 ** Math.ceil(Math.log2(bytes))
}

/** To expand a smaller one costs as much as to read it. */
const MIN_BYTES = 8 * 1024
const MAX_RATIO = 0.75
const MAX_FREE_BYTES = 4 * 1024 * 1024
/** The fastest of the usual levels. */
const PARAMS = { [constants.ZSTD_c_compressionLevel]: 1 }
