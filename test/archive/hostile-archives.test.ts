import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TArray, TObject, TSchema } from 'typebox'
import { kinds } from '../../src/archive/kinds.ts'
import { LockSession } from '../../src/contract/lock-sessions.ts'
import { User } from '../../src/contract/people.ts'
import { TrainingSession } from '../../src/contract/training-sessions.ts'
import { TrainingTemplate } from '../../src/contract/training-templates.ts'
import { MAX_LINE_BYTES } from '../../src/archive/lines.ts'
import { filled, schemas } from '../support/arbitraries.ts'
import { openStore } from '../support/archives.ts'
import {
  account,
  lockDevice,
  lockSegment,
  lockSession,
  lockTemplate,
  makers,
  partnership,
  templateSegment,
  trainerSegment,
  trainingSession,
  trainingTemplate,
  world,
} from '../support/records.ts'

// A reason never contains anything of a refused archive; this text is in all of them.
const SECRET = 'SECRET-4711'

const store = await openStore([...world, lockTemplate(1, 1)])

type Hostile = object | string | Buffer
type Refusals = readonly (readonly [name: string, line: Hostile, reason: string])[]

/** JSON text of a line; a text "RAW:…" in it stands for what follows, unquoted. */
function textOf(line: object): string {
  return JSON.stringify(line).replaceAll(/"RAW:([^"]*)"/g, '$1')
}

/** Each line, between valid ones, is refused with its number and reason; nothing is written, and no prototype is polluted. */
function testRefusals(title: string, refusals: Refusals) {
  test(title, async t => {
    for (const [name, line, reason] of refusals) {
      await t.test(name, async () => {
        const bytes = Buffer.isBuffer(line) ? line : Buffer.from(typeof line === 'string' ? line : textOf(line))
        const [first, last] = [account(8, 'first'), account(9, 'last')].map(good => `${JSON.stringify(good)}\n`)
        const file = Buffer.concat([Buffer.from(`${first}\n`), bytes, Buffer.from(`\n${last}`)])
        const { errors, count, message } = await store.refuse(file)
        assert.deepEqual(errors, [{ line: 3, reason }])
        assert.equal(count, 1)
        assert.doesNotMatch(message + reason, /SECRET/)
        assert.deepEqual(polluted(), [])
      })
    }
  })
}

function polluted(): string[] {
  const found: string[] = []
  for (const name in {}) found.push(name)
  for (const name of ['polluted', 'admin']) if (name in {} || name in []) found.push(name)
  return found
}

const device = (more: object) => lockDevice(5, 1, { bubbleId: SECRET, ...more })
const template = (more: object) => trainingTemplate(5, 1, { name: SECRET, ...more })
const deviceText = textOf(device({}))

const notJson = 'is not valid JSON'
const notUtf8 = 'is not valid UTF-8'
const tooLong = 'is longer than 1 MiB'
const tooLarge = 'must be from -9007199254740991 to 9007199254740991, because larger numbers are not exact in JSON'
const unknownTooLarge = `has a number that ${tooLarge}`
const noNul = 'must not contain NUL'
const noSurrogate = 'must not contain lone surrogates'
const noProto = 'must not have a field named __proto__'
const tooDeep = 'must not be nested more than 32 deep'
const notInstant = 'must be an existing RFC 3339 date-time'
const unknownKind = `kind must be one of ${kinds.map(({ name }) => name).join(', ')}`

/** The line of a device with these bytes, given in hexadecimal, in one of its texts. */
function bytesIn(hex: string): Buffer {
  const [start = '', end = ''] = textOf(device({ macAddress: 'HERE' })).split('HERE')
  return Buffer.concat([Buffer.from(start), Buffer.from(hex, 'hex'), Buffer.from(end)])
}

testRefusals('lines that cannot be read are refused', [
  ['a line of many MiB', Buffer.alloc(5_000_000, SECRET), tooLong],
  ['a line that is too long in bytes, not in characters', 'ß'.repeat(MAX_LINE_BYTES / 2 + 1), tooLong],
  ['a byte that is never UTF-8', bytesIn('FF'), notUtf8],
  ['Latin-1', Buffer.from(textOf(device({ macAddress: 'Gerät' })), 'latin1'), notUtf8],
  ['a NUL byte in a text', bytesIn('00'), 'contains a NUL byte'],
])

testRefusals('lines that are no JSON are refused', [
  ['a line that ends too early', deviceText.slice(0, -1), notJson],
  ['two records on a line', deviceText + deviceText, notJson],
  ['a million brackets that nobody closes', '['.repeat(1_000_000), notJson],
])

testRefusals('lines that are no record are refused', [
  ['null', 'null', 'must be an object with kind and data'],
  ['an empty object', '{}', unknownKind],
  ['a record without a kind', { data: device({}).data }, unknownKind],
  ['an unknown kind', { ...device({}), kind: SECRET }, unknownKind],
  ['tokens', { kind: 'token', data: { id: 1, hash: SECRET } }, unknownKind],
  ['no data', { kind: 'account' }, 'data must be an object'],
  ['an unknown key beside data', { ...device({}), [SECRET]: 1 }, 'must have no other keys than kind, data, extra'],
  ['the key of another kind', { ...device({}), ownerId: 1 }, 'must have no other keys than kind, data, extra'],
  [
    'the key of another kind of session',
    trainingSession(5, 1, {}, { templateId: 1 }),
    besides('ownerId, legacyUpload, madeHere'),
  ],
  ['a key beside a link', { ...partnership(2, 1), mutual: true }, 'must have no other keys than kind, data, extra'],
])

function besides(keys: string): string {
  return `must have no other keys than kind, data, ${keys}, extra`
}

const ownerless = (ownerId: unknown) => ({ ...trainingSession(5, 1, { name: SECRET }), ownerId })

testRefusals('what stands beside data is checked', [
  ['a training session without an owner', ownerless(undefined), 'ownerId is missing'],
  ['an owner of 0', ownerless(0), 'ownerId must be an integer of 1 or more'],
  ['a template that is text', lockSession(5, 1, {}, { templateId: SECRET }), 'templateId must be an integer'],
  [
    'an upload path that is text',
    trainingSession(5, 1, {}, { legacyUpload: SECRET }),
    'legacyUpload must be true or false',
  ],
])

testRefusals('text that not every reader can hold is refused, wherever it stands', [
  ['NUL in a text', device({ macAddress: '\0' }), `macAddress ${noNul}`],
  ['NUL in an unknown field', device({ extra: `${SECRET}\0` }), noNul],
  ['NUL in a session that is not finished', trainingSession(5, 1, { passed: null, name: '\0' }), noNul],
  ['the first half of a pair', device({ macAddress: 'a\u{D83D}' }), `macAddress ${noSurrogate}`],
  ['half of a pair deep in an unknown field', device({ extra: [{ a: ['\u{D83D}'] }] }), noSurrogate],
])

testRefusals('numbers that are not exact are refused', [
  ['an identifier of 400 digits', device({ id: `RAW:${'9'.repeat(400)}` }), `id ${tooLarge}`],
  ['an unknown number that no number can hold', device({ extra: 'RAW:1e400' }), unknownTooLarge],
  ['an unknown integer that is not exact', device({ extra: 'RAW:9007199254740993' }), unknownTooLarge],
])

const badDate = '2026-02-29T00:00:00Z'
const notInstantOrNull = 'subscriptionEndsAt must be an RFC 3339 date-time or null'

// Of every kind, and in every notation, elsewhere.
testRefusals('instants that do not exist, or are no RFC 3339 date-times, are refused', [
  ['February 29 of a common year', lockTemplate(5, 1, { createdAt: badDate }), `createdAt ${notInstant}`],
  ['seconds of four digits', lockTemplate(5, 1, { createdAt: '2026-01-01T00:00:0012Z' }), `createdAt ${notInstant}`],
  ['the end of a subscription', account(5, 'eve', { subscriptionEndsAt: badDate }), notInstantOrNull],
])

/** A line of each kind with something more: beside data, in data, and in a list item where there is one. */
const places: readonly (readonly [place: string, line: (more: object) => object, path: string])[] = [
  ['an account', more => account(5, 'eve', more), ''],
  ['a lock template', more => lockTemplate(5, 1, more), ''],
  ['a part of a training template', more => template({ Segment: [templateSegment(1, more)] }), 'Segment[0]'],
  ['a session that is not finished', more => trainingSession(5, 1, { passed: null, ...more }), ''],
]

const at = (path: string, reason: string) => (path === '' ? reason : `${path} ${reason}`)
const prototypes = { __PROTO__: { polluted: true, admin: SECRET } }
const withProto = (line: object) => textOf(line).replaceAll('__PROTO__', '__proto__')
const withEscapedProto = (line: object) => textOf(line).replaceAll('__PROTO__', String.raw`\u005f_proto\u005F_`)

testRefusals('fields named __proto__ are refused, wherever they stand and however they are written', [
  ...places.flatMap(([place, line, path]): Refusals => {
    const nested = line({ extra: [{ deeper: prototypes }] })
    return [
      [`in ${place}`, withProto(line(prototypes)), at(path, noProto)],
      [`in ${place}, escaped`, withEscapedProto(line(prototypes)), at(path, noProto)],
      [`in an unknown field of ${place}`, withProto(nested), at(path, noProto)],
      [`in an unknown field of ${place}, escaped`, withEscapedProto(nested), at(path, noProto)],
    ]
  }),
  ['beside data', withProto({ ...device({}), ...prototypes }), 'must have no other keys than kind, data, extra'],
  ['in place of kind and data', `{"__proto__":${deviceText}}`, unknownKind],
  [
    'in place of the fields',
    `{"kind":"lock-device","data":{"__proto__":${textOf(device({}).data)}}}`,
    `id is missing; ownerId is missing; locked is missing; ${noProto}`,
  ],
  ['twice', withProto(device({ __PROTO__: 1, X: 2 })).replace('"X"', '"__proto__"'), noProto],
])

/** Lists in lists, or objects in objects, of the given depth. */
const lists = (depth: number) => `RAW:${'['.repeat(depth)}${']'.repeat(depth)}`
const objects = (depth: number): unknown => (depth === 1 ? {} : { a: objects(depth - 1) })

testRefusals('lines that are nested more than 32 deep are refused', [
  ...places.flatMap(([place, line, path]): Refusals => {
    // The line and its data stand around a field; the list and the item too.
    const around = path === '' ? 2 : 4
    return [
      [`lists in an unknown field of ${place}`, line({ extra: lists(33 - around) }), at(path, tooDeep)],
      [`objects in an unknown field of ${place}`, line({ extra: objects(33 - around) }), at(path, tooDeep)],
    ]
  }),
  ['very deep', device({ extra: lists(300_000) }), tooDeep],
  ['very deep, in place of a text', device({ macAddress: lists(300_000) }), 'macAddress must be text'],
  ['very deep, in place of a record', lists(500_000).slice('RAW:'.length), 'must be an object with kind and data'],
])

test('values nested 32 deep are accepted', async () => {
  await using own = await openStore(world)
  for (const [, line, path] of places) {
    const around = path === '' ? 2 : 4
    for (const extra of [lists(32 - around), objects(32 - around)]) {
      const { extra: fields } = await own.import([textOf(line({ extra }))], { onConflict: 'replace' })
      for (const { field } of fields) assert.equal(field, 'extra')
    }
  }
})

const many = (count: number) =>
  Array.from({ length: count }, (_, id) => lockSegment(id, '', '2026-01-01T00:00:00Z', true))
const empty = (count: number) => `RAW:[${Array.from({ length: count }, () => '{}').join()}]`

testRefusals('lists of more than 10,000 items are refused', [
  ['events', lockSession(5, 1, { LockSegment: many(10_001) }), 'LockSegment must not have more than 10000 items'],
  ['parts of a program', template({ Segment: empty(10_001) }), 'Segment must not have more than 10000 items'],
  [
    'results',
    trainingSession(5, 1, { TrainerSegment: empty(10_001) }),
    'TrainerSegment must not have more than 10000 items',
  ],
])

test('names of inherited properties are unknown fields like any other', async () => {
  await using own = await openStore(world)
  for (const name of [
    'constructor',
    'prototype',
    'toString',
    'hasOwnProperty',
    'valueOf',
    'toJSON',
    'then',
    'length',
  ]) {
    const { extra } = await own.import([lockDevice(5, 1, { [name]: { prototype: { polluted: true } } })])
    assert.deepEqual(extra, [{ kind: 'lock-device', field: name, count: 1 }])
    assert.deepEqual(polluted(), [])
  }
})

testRefusals('records at odds with themselves are refused', [
  [
    'a random duration without a shortest',
    lockTemplate(5, 1, { isRandomDuration: true, maxDuration: 5 }),
    'minDuration is required when the duration is random',
  ],
  ['a link to oneself', partnership(1, 1), 'partnerId must not be the owner'],
])

// Every field of every kind, from the contract.

interface Shape {
  readonly schema: TObject
  readonly line: (more: object) => object
  /** Fields that may be missing, and may be null, though the contract requires them of a response. */
  readonly filled?: readonly string[]
}

/** Fields that archives may leave out, but that random records always have. */
const FILLED_ELSEWHERE: Readonly<Record<string, readonly string[]>> = {
  'lock-template': ['minDuration', 'maxDuration'],
  'training-session': ['distanceApproximate'],
}

const shapes: Readonly<Record<string, Shape>> = {
  account: { schema: User, line: more => account(5, 'eve', more), filled: filled['account'] ?? [] },
  ...Object.fromEntries(
    makers.map(make => {
      const { kind } = make(5, 1)
      const schema = schemas[kind]
      assert.ok(schema, kind)
      const missing = [...(filled[kind] ?? []), ...(FILLED_ELSEWHERE[kind] ?? [])]
      return [kind, { schema, line: (more: object) => make(5, 1, more), filled: missing }]
    }),
  ),
  'item of Segment': {
    schema: itemOf(TrainingTemplate, 'Segment'),
    line: more => trainingTemplate(5, 1, { Segment: [templateSegment(1), templateSegment(2, more)] }),
  },
  'item of LockSegment': {
    schema: itemOf(LockSession, 'LockSegment'),
    line: more => {
      const event = lockSegment(1, 'start', '2026-01-01T00:00:00Z', true)
      return lockSession(5, 1, { LockSegment: [event, { ...event, ...more }] })
    },
  },
  'item of TrainerSegment': {
    schema: itemOf(TrainingSession, 'TrainerSegment'),
    line: more => trainingSession(5, 1, { TrainerSegment: [trainerSegment(1), trainerSegment(2, more)] }),
    filled: ['distanceTravelled'],
  },
}

function itemOf(schema: TObject, list: string): TObject {
  // The lists of the contract are lists of objects.
  return (schema.properties[list] as TArray).items as TObject
}

/** A schema of a field without its null, and whether it had one. */
function plain(schema: TSchema): { schema: Record<string, unknown>; nullable: boolean } {
  const { anyOf } = schema as { anyOf?: Record<string, unknown>[] }
  // Fields are plain JSON Schema.
  const [inner = schema as Record<string, unknown>] = anyOf?.filter(({ type }) => type !== 'null') ?? []
  return { schema: inner, nullable: anyOf !== undefined }
}

const anything = [SECRET, 4711, 0.5, true, {}, [], [SECRET], { [SECRET]: SECRET }]

/** What the values of a field may not be, by the reason. */
function wrongValues(
  field: string,
  { type, format, minimum, maximum, ...rest }: Record<string, unknown>,
): Readonly<Record<string, readonly unknown[]>> {
  const not = (...fine: string[]) => anything.filter(value => !fine.includes(typeof value))
  if ('const' in rest) return { 'must be true or false': [SECRET, 4711, {}, []] }
  if (Array.isArray(rest['enum']))
    return { [`must be one of ${rest['enum'].join(', ')}`]: [...anything, '', 'ULTRA', 'user '] }
  if (type === 'integer') {
    assert.equal(maximum, Number.MAX_SAFE_INTEGER)
    const bounds = minimum === 1 ? ' of 1 or more' : ''
    const outside = minimum === 1 ? [0, -1] : []
    // Any other fraction is rounded.
    const fractions = isIdentifier(field) ? [0.5] : []
    return {
      [`must be an integer${bounds}`]: [...not('number'), ...fractions, '1', ...outside],
      [tooLarge]: [2 ** 53, -1e20, 'RAW:1e400'],
    }
  }
  if (type === 'number') return { 'must be a number': [...not('number'), '1'], [tooLarge]: [2 ** 53, 'RAW:-1e400'] }
  if (type === 'boolean') return { 'must be true or false': [...not('boolean'), 'true', 0, 1] }
  if (type === 'array') return { 'must be a list': [SECRET, 4711, true, {}, { length: 0 }] }
  if (format === 'date-time') return { [notInstant]: [...anything, badDate] }
  return { 'must be text': not('string') }
}

const isIdentifier = (field: string) => /^id$|Id$|_id$/.test(field)

/** Numbers of results, and what a session was recorded with. */
const nullIsZero = [
  'percentGrade',
  'points',
  'durationMeasured',
  'durationTarget',
  'repsMeasured',
  'repsTarget',
  'trainer_id',
  'settings_id',
]

test('every field of every kind is refused with a wrong type, as null where it may not be null, and when it is missing', async t => {
  let count = 0
  for (const [name, { schema, line, filled = [] }] of Object.entries(shapes)) {
    await t.test(name, async () => {
      const lines: string[] = []
      const reasons: string[] = []
      const add = (field: string, value: unknown, reason: string) => {
        const path = name.startsWith('item of ') ? `${name.slice('item of '.length)}[1].${field}` : field
        lines.push(textOf(line({ [field]: value })))
        reasons.push(`${path} ${reason}`)
      }
      for (const [field, given] of Object.entries(schema.properties)) {
        const { schema: wanted, nullable } = plain(given)
        // An id of another type is kept as an extra field.
        const wrong = field === 'toyId' ? { [`has a number that ${tooLarge}`]: [2 ** 53] } : wrongValues(field, wanted)
        for (const [reason, values] of Object.entries(wrong)) for (const value of values) add(field, value, reason)
        const text = wanted['type'] === 'string' && wanted['format'] === undefined && wanted['enum'] === undefined
        const optional = !(schema.required ?? []).includes(field) || filled.includes(field)
        const empty = nullable || (text && field !== 'username') || ['trainer_id', 'settings_id'].includes(field)
        if (!optional && !empty) add(field, undefined, 'is missing')
        // The name of an account may not be empty, and a session without a result or a start is not finished.
        const elsewhere = ['account username', 'training-session passed', 'lock-session startDate'].includes(
          `${name} ${field}`,
        )
        const zero = /^training-session|TrainerSegment/.test(name) && nullIsZero.includes(field)
        const [reason = ''] = Object.keys(wrong)
        if (!nullable && !text && !filled.includes(field) && !elsewhere && !zero) add(field, null, reason)
        if (field in itemFields) for (const item of [SECRET, 4711, true, null, []]) add(field, [item], 'ITEM')
      }
      const expected = reasons.map((reason, index) => ({
        line: index + 1,
        reason: reason.replace(/ ITEM$/, '[0] must be an object'),
      }))
      for (let start = 0; start < lines.length; start += 100) {
        const { errors } = await store.refuse(lines.slice(start, start + 100))
        const wanted = expected
          .slice(start, start + 100)
          .map(({ line: number, reason }) => ({ line: number - start, reason }))
        assert.deepEqual(errors, wanted)
        assert.doesNotMatch(JSON.stringify(errors), /SECRET/)
      }
      count += lines.length
    })
  }
  assert.ok(count > 700, String(count))
})

const itemFields = { Segment: 1, LockSegment: 1, TrainerSegment: 1 }

test('access is refused unless it names two accounts', async () => {
  const wrong = [SECRET, null, 0, -1, 1.5, true, [], {}]
  const lines = wrong.flatMap(value => [
    { kind: 'partnership', data: { ownerId: value, partnerId: 2 } },
    { kind: 'partnership', data: { ownerId: 2, partnerId: value } },
  ])
  const { errors } = await store.refuse(lines)
  assert.deepEqual(
    errors.map(({ reason }) => reason),
    wrong.flatMap(() => ['ownerId must be an integer of 1 or more', 'partnerId must be an integer of 1 or more']),
  )
  const missing = await store.refuse([{ kind: 'partnership', data: {} }])
  assert.deepEqual(missing.errors, [{ line: 1, reason: 'ownerId is missing; partnerId is missing' }])
})

test('a reason never shows what is in the file, not even where lines contradict each other', async () => {
  await using own = await openStore([account(1, 'ann'), account(2, SECRET), lockDevice(1, 1)])
  const { errors } = await own.refuse([
    account(3, SECRET),
    account(4, `${SECRET}-2`),
    account(5, `${SECRET}-2`),
    lockDevice(1, 1, { bubbleId: SECRET }),
    lockDevice(2, 4711, { bubbleId: SECRET }),
    lockDevice(3, 1),
    lockDevice(3, 1, { bubbleId: SECRET }),
  ])
  const wrong = errors.map(({ line }) => line)
  assert.deepEqual(wrong, [1, 2, 3, 4, 5, 7])
  assert.doesNotMatch(JSON.stringify(errors), /SECRET|4711/)
})
