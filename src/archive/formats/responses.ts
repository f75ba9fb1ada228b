import { checkJsonSize, ResponseTooLargeError } from '../../contract/received-json.ts'
import { decodeText } from './csv.ts'
import { kindByFields } from '../kinds.ts'
import type { Line, Lines } from '../lines.ts'
import { isObject, type JsonObject } from '../values.ts'
import { FormatError, UnclearKindError, UnclearOwnerError } from './errors.ts'

export interface ResponseOptions {
  /** The kind of records that do not say it by their fields. */
  readonly kind?: string | undefined
  /** The owner of records that do not name one. */
  readonly account?: number | undefined
}

/**
 * Records as the API sends them, alone, in lists or in its envelope, as lines of an archive. Their numbers count the records. Throws
 * FormatError.
 */
export async function* responseLines(chunks: AsyncIterable<Buffer>, options: ResponseOptions): Lines {
  let number = 0
  /** The kind of the last record: those that have few fields follow others of their list. */
  let kind: string | undefined
  for (const record of recordsOf(parsed(await readText(chunks)))) {
    number += 1
    if (isObject(record) && !isLine(record)) kind = kindByFields(record) ?? options.kind ?? kind
    yield [lineOf(number, record, { ...options, kind })]
  }
}

async function readText(chunks: AsyncIterable<Buffer>): Promise<string> {
  let text = ''
  for await (const part of decodeText(chunks)) {
    text += part
    if (text.length > MAX_CHARACTERS) throw new FormatError(`this is a saved response of ${TOO_MUCH}`)
  }
  return text.replace(/^\uFEFF/, '')
}

/** A page of 100 records has a fiftieth. */
const MAX_CHARACTERS = 16 * 1024 * 1024
const TOO_MUCH = 'more than 16 MiB: save its records in several files'

/** Throws FormatError. */
function parsed(text: string): unknown {
  try {
    checkJsonSize(text)
    return JSON.parse(text)
  } catch (error) {
    if (error instanceof ResponseTooLargeError) throw new FormatError(`this is ${error.message}, and no saved response`)
    throw new FormatError('this JSON cannot be read, perhaps because its end is missing: download it again')
  }
}

function* recordsOf(value: unknown): Generator {
  if (Array.isArray(value)) {
    for (const item of value) yield* recordsOf(item)
  } else if (isObject(value) && value['ok'] === false) {
    throw new FormatError(
      'this is an error that the API sent, and not a response with records: ask for them again, and save that',
    )
  } else if (isObject(value) && 'data' in value && !isLine(value)) yield* recordsOf(value['data'])
  else if (value !== null) yield value
}

function isLine({ kind }: JsonObject): boolean {
  return typeof kind === 'string'
}

function lineOf(number: number, record: unknown, options: ResponseOptions): Line {
  const envelope = isObject(record) && !isLine(record) ? envelopeOf(record, options) : record
  return { number, text: JSON.stringify(envelope), fault: undefined, envelope }
}

function envelopeOf(record: JsonObject, { kind, account }: ResponseOptions): JsonObject {
  if (kind === undefined) throw new UnclearKindError()
  if (kind === 'account') return { kind, data: record }
  const ownerId = record['ownerId'] ?? namedOwner(record) ?? account
  if (ownerId === undefined) throw new UnclearOwnerError()
  if (kind === 'training-session') return { kind, data: record, ownerId }
  const { templateId } = record
  const beside = kind === 'lock-session' && templateId !== undefined ? { templateId } : {}
  return { kind, data: { ownerId, ...record }, ...beside }
}

/** Other servers of this API may name the owner in this field. Only an id says which account it is; the check of the line refuses others. */
function namedOwner({ owner = null }: JsonObject): unknown {
  return (isObject(owner) ? owner['id'] : owner) ?? undefined
}
