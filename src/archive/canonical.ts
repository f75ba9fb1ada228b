import type { TArray, TObject, TSchema } from 'typebox'
import { formatTimestamp } from '../contract/time.ts'
import { Faults, InvalidError } from './faults.ts'
import type { Notes } from './notes.ts'
import { instant, whole } from './record-fields.ts'
import {
  checkInteger,
  checkText,
  checkUnknown,
  isObject,
  type JsonObject,
  MAX_INTEGER,
  noteUnknown,
  readInstant,
  roundHalfAway,
  TOO_LARGE,
} from './values.ts'

/** Checks a value against its schema and writes it as canonical JSON text. Throws InvalidError. */
export type Serialize = (value: unknown, notes: Notes) => string

/** The order in which the (checked) items of a list are written, as indexes. */
export type SortItems = (items: readonly JsonObject[]) => readonly number[]

export interface WriterOptions {
  /** How to order the lists of an object, by the name of their field. */
  readonly sort?: Readonly<Record<string, SortItems>>
  /** Fields that are read elsewhere: neither written nor unknown. */
  readonly ignored?: readonly string[]
  /** Fields, at any depth, whose null becomes 0. */
  readonly nullIsZero?: readonly string[]
  /** Fields whose null is noted as an extra field, to distinguish it from 0. */
  readonly nullIsNoted?: readonly string[]
  /** Fields that are null if their value is of another type, which is kept as an extra field. */
  readonly anyType?: readonly string[]
  /** Fields with planned instants, which `Notes.newest` leaves out. */
  readonly planned?: readonly string[]
}

/** Makes the writer of a record: the only code that writes a stored document. */
export function recordWriter(schema: TObject, options: WriterOptions = {}): Serialize {
  return objectWriter(schema, options, RECORD_DEPTH)
}

export const byTime: SortItems = items =>
  items
    .map((item, index) => ({ index, at: instant(item, 'createdAt'), id: whole(item, 'id') }))
    .toSorted((a, b) => a.at - b.at || a.id - b.id)
    .map(({ index }) => index)

/** Sorts the items that have an `order`; the others keep their positions. */
export const byOrder: SortItems = items => {
  const numbered = items.map((item, index) => ({ index, order: item['order'] }))
  const ordered = numbered
    .filter(({ order }) => typeof order === 'number')
    .toSorted((a, b) => Number(a.order) - Number(b.order))
    .values()
  return numbered.map(item => (typeof item.order === 'number' ? (ordered.next().value ?? item) : item).index)
}

/** `data` is at the second level of a line. */
const RECORD_DEPTH = 2

function objectWriter(schema: TObject, options: WriterOptions, depth: number): Serialize {
  const required = new Set(schema.required)
  const fields = Object.entries(schema.properties).map(([name, field]) => ({
    name,
    key: `${JSON.stringify(name)}:`,
    optional: !required.has(name),
    empty: emptyText(name, field),
    write: fieldWriter(name, field, options, depth),
  }))
  const known = new Set([...fields.map(field => field.name), ...(options.ignored ?? [])])
  return (value, notes) => {
    if (!isObject(value)) throw new InvalidError('must be an object')
    let text = ''
    let present = 0
    let faults: Faults | undefined
    for (const { name, key, optional, empty, write } of fields) {
      const item = value[name]
      if (item === undefined && optional) continue
      if (item !== undefined) present += 1
      const before = notes.extra.length
      try {
        if (item === undefined) {
          if (empty === undefined) throw new InvalidError('is missing')
          notes.leniencies.push('missing')
          if (depth === RECORD_DEPTH) notes.missing.push(name)
        }
        text += (text === '' ? '{' : ',') + key + (item === undefined ? empty : write(item, notes))
      } catch (error) {
        faults ??= new Faults()
        faults.add(error, name)
      }
      if (notes.extra.length > before) notes.nest(before, name)
    }
    if (Object.keys(value).length !== present || faults !== undefined) {
      faults ??= new Faults()
      noteUnknown(value, known, notes, faults, depth)
      faults.throwIfAny()
    }
    return `${text}}`
  }
}

/** The text of a field that the source leaves out; undefined if a record needs it, because nobody can guess it. */
export function emptyText(name: string, schema: TSchema): string | undefined {
  const { type, anyOf, format, minimum, ...rest } = schema as TSchema & Partial<JsonSchema>
  if (anyOf !== undefined) return 'null'
  if (type === 'string') return format === undefined && rest.enum === undefined ? '""' : undefined
  // A reference to a record that may be unknown; identifiers and owners are 1 or more.
  return type === 'integer' && minimum !== 1 && name !== 'id' && isIdentifier(name) ? '0' : undefined
}

function fieldWriter(name: string, schema: TSchema, options: WriterOptions, depth: number): Serialize {
  const { nullIsZero = [], nullIsNoted = [], planned = [], sort = {}, anyType = [] } = options
  const write = writerOf(schema, options, depth, { sort: sort[name], isExact: isIdentifier(name) })
  if (planned.includes(name)) {
    return (value, notes) => {
      const { newest } = notes
      const text = write(value, notes)
      notes.newest = newest
      return text
    }
  }
  if (anyType.includes(name)) {
    return (value, notes) => {
      if (value === null || Number.isSafeInteger(value)) return write(value, notes)
      checkUnknown(name, value, depth + 1)
      notes.leniencies.push('other-type')
      notes.addSent(value)
      return 'null'
    }
  }
  if (!nullIsZero.includes(name)) return write
  const isNoted = nullIsNoted.includes(name)
  return (value, notes) => {
    if (value !== null) return write(value, notes)
    notes.leniencies.push('null-number')
    if (isNoted) notes.addSent(null)
    return '0'
  }
}

/** Whether a field is an identifier. Its fractions are not rounded: they would refer to another record. */
function isIdentifier(name: string): boolean {
  return /^id$|Id$|_id$/.test(name)
}

function writerOf(
  schema: TSchema,
  options: WriterOptions,
  depth: number,
  { sort, isExact = false }: { readonly sort?: SortItems | undefined; readonly isExact?: boolean } = {},
): Serialize {
  // The schemas of contract/fields.ts have these keywords; other types are refused below.
  const { type, anyOf, format, minimum, maximum, ...rest } = schema as TSchema & Partial<JsonSchema>
  if (anyOf !== undefined) return nullableWriter(anyOf, options, depth, isExact)
  if ('const' in rest) return choiceWriter([rest.const])
  if (rest.enum !== undefined) return choiceWriter(rest.enum)
  switch (type) {
    case 'integer':
      return isExact
        ? value => String(checkInteger(value, { minimum, maximum }))
        : (value, notes) => String(checkInteger(rounded(value, notes), { minimum, maximum }))
    case 'number':
      return writeNumber
    case 'boolean':
      return writeBoolean
    case 'string':
      return format === 'date-time' ? writeTimestamp : writeText
    case 'array':
      return listWriter(schema as TArray, options, depth, sort)
    case 'object':
      return objectWriter(schema as TObject, { ...options, ignored: [] }, depth + 1)
    default:
      throw new Error(`a stored record cannot have a field of type ${String(type)}`)
  }
}

function rounded(value: unknown, notes: Notes): unknown {
  if (typeof value !== 'number' || Number.isInteger(value) || !Number.isFinite(value)) return value
  notes.leniencies.push('fraction')
  notes.addSent(value)
  return roundHalfAway(value)
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

function nullableWriter(
  variants: readonly TSchema[],
  options: WriterOptions,
  depth: number,
  isExact: boolean,
): Serialize {
  const [inner] = variants.filter(variant => !('type' in variant && variant.type === 'null'))
  if (inner === undefined || variants.length !== 2) throw new Error('a union in a stored record must be a type or null')
  const write = writerOf(inner, options, depth, { isExact })
  return (value, notes) => (value === null ? 'null' : write(value, notes))
}

function choiceWriter(values: readonly unknown[]): Serialize {
  const rule = `must be ${values.length === 1 ? '' : 'one of '}${values.join(', ')}`
  return value => {
    if (!values.includes(value)) throw new InvalidError(rule)
    return JSON.stringify(value)
  }
}

function writeNumber(value: unknown): string {
  if (typeof value !== 'number') throw new InvalidError('must be a number')
  if (Math.abs(value) > MAX_INTEGER) throw new InvalidError(TOO_LARGE)
  return String(value)
}

function writeBoolean(value: unknown): string {
  if (typeof value !== 'boolean') throw new InvalidError('must be true or false')
  return value ? 'true' : 'false'
}

/** Writes null as an empty text, for fields that may not be null. */
function writeText(value: unknown): string {
  if (value === null) return '""'
  if (typeof value !== 'string') throw new InvalidError('must be text')
  return JSON.stringify(checkText(value))
}

function writeTimestamp(value: unknown, notes: Notes): string {
  const instant = readInstant(value, notes)
  notes.addInstant(instant)
  return `"${formatTimestamp(instant)}"`
}

function listWriter(schema: TArray, options: WriterOptions, depth: number, sort?: SortItems): Serialize {
  const write = writerOf(schema.items, options, depth + 1)
  return (value, notes) => {
    if (!Array.isArray(value)) throw new InvalidError('must be a list')
    if (value.length > MAX_ITEMS) throw new InvalidError(`must not have more than ${MAX_ITEMS} items`)
    const texts: string[] = []
    const start = notes.extra.length
    /** The index of the item that each entry of `extra` comes from. */
    const origins: number[] = []
    let faults: Faults | undefined
    for (let index = 0; index < value.length; index += 1) {
      try {
        texts.push(write(value[index], notes))
      } catch (error) {
        faults ??= new Faults()
        faults.add(error, `[${index}]`)
      }
      while (origins.length < notes.extra.length - start) origins.push(index)
    }
    faults?.throwIfAny()
    if (sort === undefined && origins.length === 0) return `[${texts.join(',')}]`
    // All items were written without an error, so each is an object of the schema.
    const order = sort?.(value as JsonObject[]) ?? [...texts.keys()]
    const positions = new Map(order.map((index, position) => [index, position]))
    notes.nest(start, entry => positions.get(origins[entry - start] ?? 0) ?? 0)
    return `[${order.map(index => texts[index]).join(',')}]`
  }
}

const MAX_ITEMS = 10_000
