import fc from 'fast-check'
import type { TObject, TSchema } from 'typebox'
import { kinds } from '../../src/archive/kinds.ts'
import { User } from '../../src/contract/people.ts'
import { characters } from './characters.ts'

/** Random records from the schemas of the contract, as a source may have them: in any key order and not normalised. */

export interface SourceLine {
  readonly kind: string
  readonly data: SourceRecord
  readonly [envelope: string]: unknown
}

export type SourceRecord = Readonly<Record<string, unknown>>

/** The schema of what the API sends for each kind that it sends. */
export const schemas: Readonly<Record<string, TObject>> = Object.fromEntries(
  kinds.flatMap(({ name, schema }) => (schema === undefined ? [] : [[name, schema]])),
)

/** Fields that a source may leave out or have as null, though the API always sends them. */
export const filled: Readonly<Record<string, readonly string[]>> = {
  account: Object.keys(User.properties).filter(name => name !== 'id' && name !== 'username'),
  'lock-device': ['hueShift'],
  'training-device': ['serialNumber', 'apiHits'],
  'training-session': ['repsMeasured', 'distanceTravelled'],
}

/** A line of this kind; a record belongs to one of these accounts. */
export function lineOf(kind: string, owners: readonly number[]): fc.Arbitrary<SourceLine> {
  const schema = schemas[kind]
  if (schema === undefined) throw new Error(`the contract has no ${kind}`)
  const record = recordOf(schema, { missing: filled[kind] ?? [], fields: own(kind, owners) })
  return fc.tuple(record, envelopeOf(kind, owners)).map(([data, envelope]) => ({ kind, data, ...envelope }))
}

/** An archive of all kinds that can be imported into an empty store. */
export function archives(): fc.Arbitrary<SourceLine[]> {
  return fc
    .uniqueArray(lineOf('account', []), { minLength: 1, maxLength: 4, selector: idOf })
    .map(accounts =>
      accounts.filter((line, index) => accounts.findIndex(other => nameOf(other) === nameOf(line)) === index),
    )
    .chain(accounts => {
      const owners = accounts.map(idOf)
      const partnerships = fc
        .array(fc.tuple(fc.constantFrom(...owners), fc.constantFrom(...owners)), { maxLength: 4 })
        .map(pairs => pairs.filter(([owner, partner]) => owner !== partner))
        .map(pairs => pairs.map(([ownerId, partnerId]) => ({ kind: 'partnership', data: { ownerId, partnerId } })))
      const records = Object.keys(schemas)
        .filter(kind => kind !== 'account')
        .map(kind => fc.uniqueArray(lineOf(kind, owners), { maxLength: 4, selector: idOf }))
      return fc.tuple(fc.constant(accounts), partnerships, ...records)
    })
    .chain(groups => {
      const lines: SourceLine[] = groups.flat()
      return fc.shuffledSubarray(lines, { minLength: lines.length })
    })
}

function idOf({ data }: SourceLine): number {
  return Number(data['id'])
}

function nameOf({ data }: SourceLine): unknown {
  return data['username']
}

type Fields = Readonly<Record<string, fc.Arbitrary<unknown>>>

/** Fields whose schema does not determine their values. */
function own(kind: string, owners: readonly number[]): Fields {
  if (kind === 'account') {
    const username = fc
      .string({ unit: characters, minLength: 1, maxLength: 64 })
      .filter(text => !/^[0-9]+$|\p{Cc}/u.test(text) && [...text].length <= 64)
    return { username, subscriptionEndsAt: fc.option(instants) }
  }
  if (kind === 'training-session') return { distanceApproximate: fc.boolean() }
  return { ownerId: fc.constantFrom(...owners) }
}

function envelopeOf(kind: string, owners: readonly number[]): fc.Arbitrary<SourceRecord> {
  if (kind === 'lock-session') return fc.record({ templateId: fc.option(ids) }, { requiredKeys: [] })
  if (kind !== 'training-session') return fc.constant({})
  return fc.record({ ownerId: fc.constantFrom(...owners), legacyUpload: fc.boolean() }, { requiredKeys: ['ownerId'] })
}

interface RecordOptions {
  readonly missing?: readonly string[]
  readonly fields?: Fields
}

/** An object of a schema in any key order, with fields that the schema does not know. */
function recordOf(schema: TObject, { missing = [], fields = {} }: RecordOptions = {}): fc.Arbitrary<SourceRecord> {
  const values: Record<string, fc.Arbitrary<unknown>> = { unknownField: fc.constantFrom(1, 'text', null, { a: [{}] }) }
  for (const [name, field] of Object.entries(schema.properties)) {
    values[name] = missing.includes(name) ? fc.option(valueOf(field)) : valueOf(field)
  }
  if ('isRandomDuration' in schema.properties) values['minDuration'] = values['maxDuration'] = integers
  Object.assign(values, fields)
  const requiredKeys = (schema.required ?? []).filter(name => !missing.includes(name))
  const required = Object.keys(fields).filter(name => name === 'username' || name === 'ownerId')
  return fc
    .record(values, { requiredKeys: [...new Set([...requiredKeys, ...required])] })
    .chain(record => fc.shuffledSubarray(Object.entries(record), { minLength: Object.keys(record).length }))
    .map(entries => Object.fromEntries(entries))
}

function valueOf(schema: TSchema): fc.Arbitrary<unknown> {
  // Fields are plain JSON Schema.
  const { type, anyOf, format, minimum, maximum, items, ...rest } = schema as TSchema & {
    type?: string
    anyOf?: TSchema[]
    format?: string
    minimum?: number
    maximum?: number
    items?: TObject
    const?: unknown
    enum?: unknown[]
  }
  if (anyOf !== undefined) {
    const [inner = schema] = anyOf.filter(variant => !('type' in variant && variant.type === 'null'))
    return fc.option(valueOf(inner))
  }
  if ('const' in rest) return fc.constant(rest.const)
  if (rest.enum !== undefined) return fc.constantFrom(...rest.enum)
  if (items !== undefined) return fc.array(recordOf(items), { maxLength: 5 })
  switch (type) {
    case 'integer':
      if (maximum !== undefined && maximum < Number.MAX_SAFE_INTEGER)
        return fc.integer({ min: minimum ?? 0, max: maximum })
      return minimum === 1 ? ids : integers
    case 'number':
      return numbers
    case 'boolean':
      return fc.boolean()
    case 'string':
      return format === 'date-time' ? instants : texts
    default:
      throw new Error(`no values are known for the type ${String(type)}`)
  }
}

const ids = fc.oneof(
  fc.integer({ min: 1, max: 20 }),
  fc.maxSafeInteger().map(number => Math.abs(number) || 1),
)

// Lists here have at most five of these, which add up exactly; so do distances in micrometres.
const integers = fc.oneof(fc.integer({ min: -10, max: 1000 }), fc.integer({ min: -(2 ** 50), max: 2 ** 50 }))
const numbers = fc.oneof(fc.double({ min: -1e9, max: 1e9, noNaN: true }), fc.integer({ min: 0, max: 100 }))

/** Any text that JSON and both engines can store, and null, which becomes empty. */
const texts = fc.oneof(
  { weight: 9, arbitrary: fc.string({ unit: characters }).map(text => text.replaceAll('\0', '')) },
  { weight: 1, arbitrary: fc.constant(null) },
)

/** Instants in every form: with any offset, with and without a fraction. */
const instants = fc
  .tuple(
    fc.oneof(
      fc.date({ min: new Date('2020-01-01'), max: new Date('2030-01-01'), noInvalidDate: true }),
      fc.date({ min: new Date('0001-01-01'), max: new Date('9998-12-31'), noInvalidDate: true }),
    ),
    fc.constantFrom(1, 1000),
    fc.integer({ min: -1439, max: 1439 }),
    fc.constantFrom('', '0', '000000'),
  )
  .map(([date, precision, offset, zeros]) => {
    const instant = Math.floor(date.getTime() / precision) * precision
    const local = new Date(instant + offset * 60_000).toISOString().slice(0, -1)
    const digits = [Math.floor(Math.abs(offset) / 60), Math.abs(offset) % 60].map(part => String(part).padStart(2, '0'))
    const zone = offset === 0 ? 'Z' : `${offset < 0 ? '-' : '+'}${digits.join(':')}`
    return `${precision === 1000 ? local.slice(0, -4) : local + zeros}${zone}`
  })
