import { kindByFields } from '../kinds.ts'
import type { Line, Lines } from '../lines.ts'
import { isObject, type JsonObject } from '../values.ts'
import { FormatError, UnclearKindError, UnclearOwnerError } from './errors.ts'
import { type JsonValue, jsonValues } from './json-values.ts'

export interface ResponseOptions {
  /** The kind of records that do not say it by their fields. */
  readonly kind?: string | undefined
  /** The owner of records that do not name one. */
  readonly account?: number | undefined
}

/** Records as the API sends them, alone, in lists or in its envelope, as lines of an archive. Their numbers count the records. */
export async function* responseLines(chunks: AsyncIterable<Buffer>, options: ResponseOptions): Lines {
  const reader = new Reader(options)
  for await (const values of jsonValues(chunks)) yield values.flatMap(value => reader.read(value))
}

class Reader {
  readonly #options: ResponseOptions
  #number = 0
  /** The kind of the last record: those that have few fields follow others of their list. */
  #kind: string | undefined

  constructor(options: ResponseOptions) {
    this.#options = options
  }

  read(value: JsonValue): Line[] {
    if (value.fault !== undefined) return [this.#line({ fault: value.fault, ...bytesOf(value) })]
    let parsed: unknown
    try {
      parsed = JSON.parse(value.text)
    } catch {
      // Whoever reads the line says what is wrong with it.
      return value.isEnvelope ? [] : [this.#line({ text: value.text })]
    }
    if (!isObject(parsed)) return value.isEnvelope ? [] : [this.#line({ text: value.text })]
    // Such a response has no records.
    if (parsed['ok'] === false)
      throw new FormatError(
        'this is an error that the API sent, and not a response with records: ask for them again, and save that',
      )
    if (value.isEnvelope) return []
    const pages = value.isItem ? pageOf(parsed) : undefined
    if (pages !== undefined)
      return pages.flatMap(record => this.read({ text: JSON.stringify(record), isItem: true, isEnvelope: false }))
    const isWrapped = !value.isItem && 'data' in parsed && typeof parsed['kind'] !== 'string'
    const record = isWrapped ? parsed['data'] : parsed
    if (record === null) return []
    const text = isWrapped ? JSON.stringify(record) : value.text
    if (!isObject(record) || isLine(record)) return [this.#line({ text })]
    return [this.#line({ text: this.#recordText(record, text) })]
  }

  #line(content: { text?: string; fault?: string; bytes?: Buffer }): Line {
    this.#number += 1
    return { number: this.#number, text: undefined, fault: undefined, ...content }
  }

  /** The line of a record; `text` is its JSON. */
  #recordText(record: JsonObject, text: string): string {
    const kind = kindByFields(record) ?? this.#options.kind ?? this.#kind
    if (kind === undefined) throw new UnclearKindError()
    this.#kind = kind
    const owner = record['ownerId'] ?? namedOwner(record) ?? this.#options.account
    if (kind === 'account') return lineText(kind, text)
    if (owner === undefined) throw new UnclearOwnerError()
    if (kind === 'training-session') return lineText(kind, text, { ownerId: owner })
    const owned = record['ownerId'] === undefined ? `{"ownerId":${JSON.stringify(owner)},${text.slice(1)}` : text
    const { templateId } = record
    return lineText(kind, owned, kind === 'lock-session' && templateId !== undefined ? { templateId } : {})
  }
}

/** The records of a response in a list of responses. */
function pageOf({ ok, data }: JsonObject): readonly unknown[] | undefined {
  if (ok !== true) return undefined
  const inner: unknown = isObject(data) && 'data' in data ? data['data'] : data
  const records: readonly unknown[] = Array.isArray(inner) ? inner : [inner]
  return records.filter(record => record !== null)
}

/** Other servers of this API may name the owner in this field. Only an id says which account it is; the check of the line refuses others. */
function namedOwner({ owner = null }: JsonObject): unknown {
  return (isObject(owner) ? owner['id'] : owner) ?? undefined
}

/** Whether it is a line of an archive. */
function isLine({ kind, data }: JsonObject): boolean {
  return typeof kind === 'string' && isObject(data)
}

function lineText(kind: string, data: string, envelope: JsonObject = {}): string {
  const fields = Object.entries(envelope).map(([name, value]) => `,${JSON.stringify(name)}:${JSON.stringify(value)}`)
  return `{"kind":"${kind}","data":${data}${fields.join('')}}`
}

function bytesOf({ bytes }: JsonValue): { readonly bytes?: Buffer } {
  return bytes === undefined ? {} : { bytes }
}
