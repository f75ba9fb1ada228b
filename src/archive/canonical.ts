import type { TArray, TObject, TSchema } from 'typebox'
import { formatTimestamp, parseTimestamp } from '../contract/time.ts'

/** Why a value cannot be taken: `reason` completes "<path> …", and never holds the value. */
export class InvalidError extends Error {
  override readonly name = 'Invalid'
  readonly reason: string
  readonly path: string

  constructor(reason: string, path = '') {
    super(path === '' ? reason : `${path} ${reason}`)
    this.reason = reason
    this.path = path
  }

  within(parent: string): InvalidError {
    const joint = this.path === '' || this.path.startsWith('[') ? '' : '.'
    return new InvalidError(this.reason, `${parent}${joint}${this.path}`)
  }
}

/** Checks a value against its schema and writes it as canonical JSON text. Throws Invalid. */
export type Serialize = (value: unknown, dropped: Dropped) => string

/** Called for each field that the schema does not know, with its name. */
export type Dropped = (name: string) => void

/** The order in which the (checked) items of a list are written, as indexes; undefined to keep the order given. */
export type SortItems = (items: readonly JsonObject[]) => readonly number[] | undefined

export type JsonObject = Readonly<Record<string, unknown>>

export interface WriterOptions {
  /** How to order the lists of an object, by the name of their field. */
  readonly arrange?: Readonly<Record<string, SortItems>>
  /** Fields that are dealt with elsewhere: neither written nor counted as unknown. */
  readonly aside?: readonly string[]
  /** How deep in its line the object is: 2 where it is `data`. */
  readonly depth?: number
}

const MAX_ITEMS = 10_000
const MAX_DEPTH = 32

/** Makes the writer of a record: the only code that writes a stored document. */
export function recordWriter(schema: TObject, { arrange = {}, aside = [], depth = 2 }: WriterOptions = {}): Serialize {
  const required = new Set(schema.required)
  const fields = Object.entries(schema.properties).map(([name, field]) => ({
    name,
    key: `${JSON.stringify(name)}:`,
    optional: !required.has(name),
    write: writerOf(field, depth, arrange[name]),
  }))
  const known = new Set([...fields.map(field => field.name), ...aside])
  return (value, dropped) => {
    if (!isObject(value)) throw new InvalidError('must be an object')
    let text = ''
    let seen = 0
    for (const { name, key, optional, write } of fields) {
      const item = value[name]
      if (item === undefined) {
        if (optional) continue
        throw new InvalidError('is missing', name)
      }
      seen += 1
      try {
        text += (text === '' ? '{' : ',') + key + write(item, dropped)
      } catch (error) {
        throw error instanceof InvalidError ? error.within(name) : error
      }
    }
    if (Object.keys(value).length !== seen) dropUnknown(value, known, dropped, depth)
    return `${text}}`
  }
}

/** Fields that are not kept are still looked at: what is hostile is refused wherever it stands. Throws Invalid. */
export function dropUnknown(value: JsonObject, known: ReadonlySet<string>, dropped: Dropped, depth = 2): void {
  for (const [name, item] of Object.entries(value)) {
    if (known.has(name)) continue
    checkUnknown(name, item, depth + 1)
    dropped(name)
  }
}

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Text that every reader can hold: no NUL, no half of a surrogate pair. */
export function checkText(text: string): string {
  if (text.includes('\0')) throw new InvalidError('must not contain NUL')
  if (!text.isWellFormed()) throw new InvalidError('must not contain lone surrogates')
  return text
}

/** An integer within its bounds, if any, that every reader holds exactly. `path` is where it stands. Throws Invalid. */
export function checkInteger(value: unknown, { minimum = LEAST, maximum = MOST }: Bounds = {}, path = ''): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value
  if (typeof value === 'number' && Math.abs(value) > MOST) throw new InvalidError(TOO_LARGE, path)
  const bounds = maximum < MOST ? ` from ${minimum} to ${maximum}` : minimum > LEAST ? ` of ${minimum} or more` : ''
  throw new InvalidError(`must be an integer${bounds}`, path)
}

interface Bounds {
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
}

const LEAST = Number.MIN_SAFE_INTEGER
const MOST = Number.MAX_SAFE_INTEGER
const TOO_LARGE = `must be at most ${MOST} either way, as larger numbers are not exact in JSON`

function writerOf(schema: TSchema, depth: number, arrange?: SortItems): Serialize {
  // JSON Schema of one of the forms in contract/fields.ts; anything else is refused below.
  const { type, anyOf, format, minimum, maximum, ...rest } = schema as TSchema & Partial<JsonSchema>
  if (anyOf !== undefined) return nullableWriter(anyOf, depth)
  if ('const' in rest) return constantWriter(rest.const)
  if (rest.enum !== undefined) return choiceWriter(rest.enum)
  switch (type) {
    case 'integer':
      return value => String(checkInteger(value, { minimum, maximum }))
    case 'number':
      return writeNumber
    case 'boolean':
      return writeBoolean
    case 'string':
      return format === 'date-time' ? writeTimestamp : writeText
    case 'array':
      return listWriter(schema as TArray, depth, arrange)
    case 'object':
      return recordWriter(schema as TObject, { depth: depth + 1 })
    default:
      throw new Error(`a stored record cannot have a field of type ${String(type)}`)
  }
}

interface JsonSchema {
  type: string
  anyOf: TSchema[]
  const: unknown
  enum: unknown[]
  format: string
  minimum: number
  maximum: number
}

function nullableWriter(variants: readonly TSchema[], depth: number): Serialize {
  const [inner] = variants.filter(variant => !('type' in variant && variant.type === 'null'))
  if (inner === undefined || variants.length !== 2) throw new Error('a union in a stored record must be a type or null')
  const write = writerOf(inner, depth)
  return (value, dropped) => (value === null ? 'null' : write(value, dropped))
}

function constantWriter(expected: unknown): Serialize {
  const text = JSON.stringify(expected)
  return value => {
    if (value !== expected) throw new InvalidError(`must be ${text}`)
    return text
  }
}

function choiceWriter(values: readonly unknown[]): Serialize {
  const allowed = new Set(values)
  return value => {
    if (!allowed.has(value)) throw new InvalidError(`must be one of ${values.join(', ')}`)
    return JSON.stringify(value)
  }
}

function writeNumber(value: unknown): string {
  if (typeof value !== 'number') throw new InvalidError('must be a number')
  if (Math.abs(value) > MOST) throw new InvalidError(TOO_LARGE)
  return String(value)
}

function writeBoolean(value: unknown): string {
  if (typeof value !== 'boolean') throw new InvalidError('must be true or false')
  return value ? 'true' : 'false'
}

/** Text that may not be null is empty where the source has null. */
function writeText(value: unknown): string {
  if (value === null) return '""'
  if (typeof value !== 'string') throw new InvalidError('must be text')
  return JSON.stringify(checkText(value))
}

function writeTimestamp(value: unknown): string {
  const instant = typeof value === 'string' ? parseTimestamp(value) : undefined
  if (instant === undefined) {
    throw new InvalidError('must be an RFC 3339 date-time, existing, and no finer than milliseconds')
  }
  return `"${formatTimestamp(instant)}"`
}

function listWriter(schema: TArray, depth: number, arrange?: SortItems): Serialize {
  const write = writerOf(schema.items, depth + 1)
  return (value, dropped) => {
    if (!Array.isArray(value)) throw new InvalidError('must be a list')
    if (value.length > MAX_ITEMS) throw new InvalidError(`must not have more than ${MAX_ITEMS} items`)
    const texts: string[] = []
    for (let index = 0; index < value.length; index += 1) {
      try {
        texts.push(write(value[index], dropped))
      } catch (error) {
        throw error instanceof InvalidError ? error.within(`[${index}]`) : error
      }
    }
    // Written without an error, so each item is an object of the schema.
    const order = arrange?.(value as JsonObject[])
    return `[${(order === undefined ? texts : order.map(index => texts[index])).join(',')}]`
  }
}

function checkUnknown(name: string, value: unknown, depth: number) {
  if (name === '__proto__') throw new InvalidError('must not have a field named __proto__')
  checkText(name)
  if (typeof value === 'string') checkText(value)
  else if (typeof value === 'number' && Math.abs(value) > MOST) throw new InvalidError(`has a number that ${TOO_LARGE}`)
  else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH) throw new InvalidError(`must not be nested more than ${MAX_DEPTH} deep`)
    for (const [key, item] of Object.entries(value)) checkUnknown(key, item, depth + 1)
  }
}
