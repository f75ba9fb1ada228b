import { type Duplex, pipeline, Readable } from 'node:stream'
import { createGunzip, createZstdDecompress } from 'node:zlib'
import { FormatError } from './errors.ts'

/** Files that are compressed or encrypted, perhaps both. */

/** Opens an encrypted file; it throws its own errors. */
export type Decrypt = (chunks: AsyncIterable<Buffer>) => AsyncIterable<Buffer>

type Peeked = Awaited<ReturnType<typeof peek>>

/** Removes up to MAX_LAYERS of compression and encryption. Throws FormatError, also while the bytes are read. */
export async function unwrap(chunks: AsyncIterable<Buffer>, decrypt: Decrypt, maxBytes = MAX_BYTES): Promise<Peeked> {
  let packed = 0
  const counted = counting(chunks, ({ length }) => {
    packed += length
  })
  const bounded = (bytes: AsyncIterable<Buffer>) => {
    let unpacked = 0
    return counting(bytes, ({ length }) => {
      unpacked += length
      const isBomb = unpacked > RATIO_APPLIES_BYTES && unpacked > packed * MAX_RATIO
      if (unpacked > maxBytes || isBomb)
        throw new FormatError(
          'the compressed file becomes too large when it is unpacked: unpack it, and bring its records in several files',
        )
    })
  }
  let peeked = await peek(counted)
  for (let layer = 0; ; layer += 1) {
    const open = openerOf(peeked.start, decrypt)
    if (open === undefined) return peeked
    if (layer === MAX_LAYERS) throw new FormatError(`the file is packed more than ${MAX_LAYERS} times: unpack it first`)
    peeked = await peek(bounded(open(peeked.chunks)))
  }
}

const MAX_LAYERS = 3
const MAX_BYTES = 4 * 1024 ** 3
/** Records become about 20 times smaller, and at most 100 times. */
const MAX_RATIO = 250
const RATIO_APPLIES_BYTES = 16 * 1024 ** 2

function openerOf(start: Buffer, decrypt: Decrypt): Decrypt | undefined {
  const header = start.toString('latin1')
  if (header.startsWith('\x1f\x8b')) return chunks => unzip(chunks, createGunzip({ chunkSize: UNZIPPED_BYTES }))
  // Its first frame may be one that is to be skipped.
  if (header.startsWith('\x28\xb5\x2f\xfd') || (/^[P-_]/.test(header) && header.startsWith('\x2a\x4d\x18', 1))) {
    return chunks => unzip(chunks, createZstdDecompress({ chunkSize: UNZIPPED_BYTES }))
  }
  if (!header.startsWith(AGE_START)) return undefined
  const [, workFactor = '0'] = /^-> scrypt \S+ (\d+)$/m.exec(header) ?? []
  if (Number(workFactor) > MAX_WORK_FACTOR) {
    throw new FormatError('the encrypted file takes too much memory to open: encrypt it again with a lower work factor')
  }
  return decrypt
}

/** A passphrase is tried in 256 MB of memory then, which is what age asks for by default. */
const MAX_WORK_FACTOR = 18

const AGE_START = 'age-encryption.org/v1'
const UNZIPPED_BYTES = 64 * 1024

async function* unzip(chunks: AsyncIterable<Buffer>, unzipped: Duplex): AsyncGenerator<Buffer> {
  pipeline(Readable.from(chunks, { objectMode: false, highWaterMark: UNZIPPED_BYTES }), unzipped, () => {})
  try {
    // Without an encoding, it gives buffers.
    yield* unzipped as AsyncIterable<Buffer>
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    if (!/^(Z_|ZSTD_)/.test(code)) throw error
    throw new FormatError('the compressed file is damaged or incomplete: copy it again from where it came', {
      cause: error,
    })
  }
}

/** The first PEEK_BYTES, or everything if there is less, and all bytes from the first. */
async function peek(chunks: AsyncIterable<Buffer>) {
  const iterator = chunks[Symbol.asyncIterator]()
  const first: Buffer[] = []
  for (let length = 0; length < PEEK_BYTES;) {
    const next = await iterator.next()
    if (next.done === true) break
    first.push(next.value)
    length += next.value.length
  }
  const start = Buffer.concat(first)
  const all = async function* () {
    try {
      yield start
      yield* { [Symbol.asyncIterator]: () => iterator }
    } finally {
      await iterator.return?.()
    }
  }
  return { start: start.subarray(0, PEEK_BYTES), chunks: all() }
}

/** How much tells the format: the first line of a table, or the first fields of a record. */
const PEEK_BYTES = 64 * 1024

/** The same bytes; `add` is called with them, and may throw. */
export async function* counting(chunks: AsyncIterable<Buffer>, add: (chunk: Buffer) => void): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    add(chunk)
    yield chunk
  }
}
