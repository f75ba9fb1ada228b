import { isUtf8 } from 'node:buffer'
import { MAX_LINE_BYTES } from '../lines.ts'

/** A value of a JSON file. */
export interface JsonValue {
  readonly text: string
  /** Whether it is an item of a list. Otherwise it stands alone, and may be the envelope of one record. */
  readonly isItem: boolean
  /** Whether it is the envelope of a list, whose items came before. */
  readonly isEnvelope: boolean
  /** Why it cannot be read. */
  readonly fault?: string
  readonly bytes?: Buffer
}

/**
 * Splits JSON into the items of its lists, a batch for each chunk, and holds one of them in memory. A file may have several values, one
 * after the other. A list is an array, `data` of an object, or `data.data`. Whether an item is valid JSON is
 * left to whoever parses it.
 */
export async function* jsonValues(chunks: AsyncIterable<Buffer>): AsyncGenerator<JsonValue[]> {
  const splitter = new Splitter()
  for await (const chunk of chunks) {
    splitter.read(chunk)
    const values = splitter.take()
    if (values.length > 0) yield values
  }
  splitter.end()
  yield splitter.take()
}

class Splitter {
  #values: JsonValue[] = []
  #chunk: Buffer = Buffer.alloc(0)
  /** Where the bytes of the chunk begin that belong to a value which has not ended. */
  #from = 0
  #depth = 0
  /** How deep the items of the open list are; 0 outside of a list. */
  #listDepth = 0
  #inText = false
  #isEscaped = false
  /** How many bytes of `"data"` the last text has; it is this text when all of them matched. */
  #matched = 0
  /** Whether that text is followed by a colon. */
  #isField = false
  /** How many objects around this place are envelopes, from the outermost on. */
  #envelopes = 0
  #hadList = false
  readonly #item = new Collected()
  readonly #whole = new Collected()

  take(): JsonValue[] {
    const values = this.#values
    this.#values = []
    return values
  }

  read(chunk: Buffer) {
    this.#chunk = chunk
    this.#from = 0
    for (let index = 0; index < chunk.length; index += 1) {
      const byte = chunk[index] ?? 0
      if (this.#inText) this.#readText(byte)
      else this.#readMark(byte, index)
    }
    this.#collect(chunk.length)
  }

  #readMark(byte: number, index: number) {
    switch (byte) {
      case QUOTE:
        this.#inText = true
        this.#matched = 0
        this.#isField = false
        break
      case COLON:
        this.#isField = this.#matched === DATA.length
        break
      case OPEN_LIST:
      case OPEN_OBJECT:
        this.#open(byte === OPEN_LIST, index)
        break
      case CLOSE_LIST:
      case CLOSE_OBJECT:
        if (this.#depth > 0) this.#close(index)
        break
      case COMMA:
        this.#isField = false
        if (this.#listDepth === 0 || this.#depth !== this.#listDepth) break
        this.#collect(index)
        this.#finishItem()
        this.#from = index + 1
        break
      case NEWLINE:
        // Whatever is no object or list ends with its line.
        if (this.#depth > 0) break
        this.#collect(index)
        this.#finishWhole()
        break
      default:
    }
  }

  #open(isList: boolean, index: number) {
    const isOuter = this.#depth === 0 || (this.#isField && this.#depth === this.#envelopes)
    if (!isList && isOuter && this.#depth < MAX_ENVELOPES) this.#envelopes += 1
    this.#depth += 1
    this.#isField = false
    if (!isList || !isOuter || this.#listDepth > 0) return
    this.#collect(index + 1)
    this.#listDepth = this.#depth
    this.#hadList = true
  }

  #close(index: number) {
    if (this.#depth === this.#listDepth) {
      this.#collect(index)
      this.#finishItem()
      this.#listDepth = 0
    }
    if (this.#depth === this.#envelopes) this.#envelopes -= 1
    this.#depth -= 1
    if (this.#depth > 0) return
    this.#collect(index + 1)
    this.#finishWhole()
  }

  end() {
    if (this.#depth === 0 && !this.#inText) return this.#finishWhole()
    if (this.#depth === this.#listDepth && !this.#inText) this.#finishItem()
    this.#values.push({ text: '', isItem: true, isEnvelope: false, fault: 'is cut off: the file ends before it' })
  }

  /** Adds the bytes before this place to the value that they belong to. */
  #collect(to: number) {
    const collected = this.#listDepth > 0 ? this.#item : this.#whole
    collected.add(this.#chunk.subarray(this.#from, to))
    this.#from = to
  }

  #readText(byte: number) {
    if (this.#isEscaped) this.#isEscaped = false
    else if (byte === BACKSLASH) this.#isEscaped = true
    else if (byte === QUOTE) {
      this.#inText = false
      return
    }
    this.#matched = byte === DATA[this.#matched] ? this.#matched + 1 : NO_MATCH
  }

  #finishItem() {
    const item = this.#item.take()
    if (item !== undefined) this.#values.push({ ...item, isItem: true, isEnvelope: false })
  }

  #finishWhole() {
    const [whole, isEnvelope] = [this.#whole.take(), this.#hadList]
    this.#hadList = false
    this.#envelopes = 0
    if (whole !== undefined) this.#values.push({ ...whole, isItem: false, isEnvelope })
  }
}

const [QUOTE, COLON, COMMA, BACKSLASH, NEWLINE] = [0x22, 0x3a, 0x2c, 0x5c, 0x0a]
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d]
const DATA = Buffer.from('data')
const NO_MATCH = -1
const MAX_ENVELOPES = 2

/** The bytes of a value, unless there are too many. */
class Collected {
  #parts: Buffer[] = []
  #length = 0

  add(part: Buffer) {
    if (part.length === 0) return
    this.#length += part.length
    if (this.#length > MAX_COLLECTED_BYTES) this.#parts = []
    else this.#parts.push(part)
  }

  /** The value that was collected; undefined if it is blank. */
  take(): Pick<JsonValue, 'text' | 'fault' | 'bytes'> | undefined {
    const [bytes, length] = [Buffer.concat(this.#parts), this.#length]
    this.#parts = []
    this.#length = 0
    if (length > MAX_COLLECTED_BYTES) return { text: '', fault: 'is longer than 1 MiB' }
    if (!isUtf8(bytes)) return { text: '', fault: 'is not valid UTF-8', bytes }
    const text = bytes.toString('utf8').trim()
    return text === '' || text === ',' ? undefined : { text }
  }
}

/** Whitespace between the parts of a record does not count for the length of its line. */
const MAX_COLLECTED_BYTES = 2 * MAX_LINE_BYTES
