// engine: sqlite, slowly postgres
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { TObject, TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { Kind, Row } from '../../src/archive/kind.ts'
import { kinds } from '../../src/archive/kinds.ts'
import { Notes } from '../../src/archive/notes.ts'
import { readRow } from '../../src/archive/records.ts'
import { sourceLists } from '../../src/pull/lists.ts'
import { archives, lineOf, schemas, type SourceLine, type SourceRecord } from '../support/arbitraries.ts'
import { openStore, totals } from '../support/archives.ts'
import { account, partnership, pathOf } from '../support/records.ts'
import { testOn } from '../support/databases.ts'
import { startService, unlimited } from '../support/service.ts'

const recordKinds = kinds.filter(({ name }) => name in schemas)

/** The row of a line, parsed from its text. */
function readLine(kind: Kind, line: object): Row {
  const parsed = JSON.parse(JSON.stringify(line)) as SourceLine
  const row = kind.read(parsed.data, parsed, new Notes())
  return Object.fromEntries(kind.columns.map(column => [column, row[column] ?? null]))
}

/** Checks canonical documents of random records of every kind, without a database. */
function promise(title: string, check: (kind: Kind, line: SourceLine, row: Row, document: SourceRecord) => void) {
  testOn('sqlite', title, async t => {
    for (const kind of recordKinds) {
      await t.test(kind.name, () => {
        fc.assert(
          fc.property(lineOf(kind.name, [1, 2, 3]), line => {
            const row = readLine(kind, line)
            check(kind, line, row, JSON.parse(String(row['document'])))
          }),
        )
      })
    }
  })
}

promise('canonicalising what is canonical changes nothing', (kind, _, row) => {
  assert.deepEqual(readLine(kind, JSON.parse(kind.write(row))), row)
})

promise('a document is JSON without a space or an escape too many', (_, __, row, document) => {
  assert.equal(row['document'], JSON.stringify(document))
})

promise('a document fits the schema of the contract', (kind, _, __, document) => {
  assert.deepEqual([...Value.Errors(schemaOf(kind), document)], [])
})

promise('a document says what the source said, apart from its normal form', (kind, line, _, document) => {
  const normal = { ...(normalOf(schemaOf(kind), line.data) as SourceRecord) }
  if (kind.name === 'lock-template' && normal['isRandomDuration'] === false) {
    Object.assign(normal, { minDuration: null, maxDuration: null })
  }
  if (kind.name === 'training-session') Object.assign(normal, figuresOf(line))
  for (const [name, value] of Object.entries(document)) {
    if (Array.isArray(value)) assertArranged(name, normal[name] as SourceRecord[], value)
    else assert.deepEqual(value, normal[name] ?? defaultOf(kind, name), name)
  }
})

test('this test knows every kind of record, and every owned kind is pulled', () => {
  const names = kinds.flatMap(({ name, schema }) => (schema === undefined ? [] : [name]))
  assert.deepEqual(Object.keys(schemas).toSorted(), names.toSorted())
  const pulled = [...sourceLists.map(({ kind }) => kind), 'account']
  assert.deepEqual(pulled.toSorted(), names.toSorted())
})

test('every field of a record, at every level, is in its document or an extra field', () => {
  for (const kind of recordKinds) {
    fc.assert(
      fc.property(lineOf(kind.name, [1, 2, 3]), line => {
        const envelope = JSON.parse(JSON.stringify(line))
        const row = readRow({ kind, data: envelope.data, envelope }, new Notes())
        const { data, extra = {} } = JSON.parse(kind.write(row))
        for (const [pointer, value] of Object.entries(extra)) setAt(data, pointer, value)
        assert.deepEqual(unknownOf(data), unknownOf(envelope.data))
        // Exporting and importing again changes nothing.
        const again = JSON.parse(kind.write(row))
        assert.deepEqual(readRow({ kind, data: again.data, envelope: again }, new Notes())['extra'], row['extra'])
      }),
    )
  }
})

/** Puts a value where an RFC 6901 pointer says. */
function setAt(record: Record<string, unknown>, pointer: string, value: unknown) {
  const path = pointer.slice(1).split('/')
  const last = path.pop() ?? ''
  let place = record
  // Every value on the way of a pointer is an object or a list.
  for (const name of path) place = place[name] as Record<string, unknown>
  place[last] = value
}

/** The unknown fields of a record and, by identifier and content, of the items of its lists. */
function unknownOf(record: SourceRecord): unknown {
  const lists = Object.values(record).filter(value => Array.isArray(value))
  const items = lists.flat().map((item: SourceRecord) => JSON.stringify([item['id'], item['unknownField']]))
  return { unknown: record['unknownField'], items: items.toSorted() }
}

test('the API sends what was imported, byte for byte', async () => {
  await fc.assert(
    fc.asyncProperty(archives(), async archive => {
      // A reader to whom everybody gives access; none of the random names has this form.
      const reader = account(Number.MAX_SAFE_INTEGER, 'reader of it all '.repeat(3))
      const owners = archive.filter(({ kind, data }) => kind === 'account' && data['id'] !== reader.data.id)
      const links = owners.map(({ data }) => partnership(Number(data['id']), reader.data.id))
      const lines = archive.filter(line => !namesAccount(line, reader.data.id))
      await using service = await startService([reader, ...links, ...lines], unlimited)
      const token = await service.token(reader.data.username)
      for (const kind of recordKinds) {
        for (const line of lines.filter(({ kind: name }) => name === kind.name)) {
          const row = readLine(kind, line)
          const { text } = await service.fetch(`${pathOf[kind.name]}/${row['id']}`, token)
          assert.equal(text, `{"ok":true,"data":${row['document']}}`)
        }
      }
    }),
    { numRuns: 5 },
  )
})

test('export, import into an empty store and export again gives the same bytes', async () => {
  await fc.assert(
    fc.asyncProperty(archives(), async archive => {
      await using store = await openStore(archive)
      const exported = await store.export()
      await using copy = await openStore(Buffer.from(exported))
      assert.equal(await copy.export(), exported)
      // The line of the source has nothing that the export lacks, so importing it changes nothing.
      assert.deepEqual(totals(await copy.import(archive)).unchanged, archive.length)
    }),
    { numRuns: 10 },
  )
})

function namesAccount({ data, ownerId }: SourceLine, id: number): boolean {
  return ownerId === id || [data['ownerId'], data['partnerId'], 'username' in data && data['id']].includes(id)
}

function schemaOf({ name }: Kind): TObject {
  const schema = schemas[name]
  if (schema === undefined) throw new Error(`the API sends no ${name}`)
  return schema
}

function keysOf(schema: TObject, source: SourceRecord): string[] {
  const required = new Set(schema.required)
  return Object.keys(schema.properties).filter(
    name => required.has(name) || ((name === 'distanceTravelled' ? source[name] !== null : true) && name in source),
  )
}

/** The normal form of a value, written independently from the contract, with JSON.stringify and Date. */
function normalOf(schema: TSchema, value: unknown): unknown {
  const {
    type,
    anyOf,
    format,
    items,
    properties,
    enum: choices,
  } = schema as TSchema & {
    type?: string
    anyOf?: TSchema[]
    format?: string
    enum?: unknown[]
    items?: TObject
    properties?: Record<string, TSchema>
  }
  if (anyOf !== undefined) return value === null || value === undefined ? null : normalOf(anyOf[0] ?? schema, value)
  if (value === undefined || Object.is(value, -0)) return value === undefined ? undefined : 0
  if (items !== undefined) return (value as unknown[]).map(item => normalOf(items, item))
  if (properties !== undefined) {
    const record = value as SourceRecord
    const names = keysOf(schema as TObject, record)
    return Object.fromEntries(names.map(name => [name, normalOf(properties[name] ?? schema, record[name])]))
  }
  if (type === 'string' && format === 'date-time') return new Date(value as string).toISOString().replace('.000Z', 'Z')
  return type === 'string' && choices === undefined && value === null ? '' : value
}

/** What a field is that its source may leave out: null where that is allowed, else the empty value of its type. */
function defaultOf(kind: Kind, name: string): unknown {
  if (kind.name === 'account' && name === 'accountType') return 'user'
  const { type } = schemaOf(kind).properties[name] as { type?: string }
  return type === undefined ? null : EMPTY[type]
}

const EMPTY: Readonly<Record<string, unknown>> = { integer: 0, number: 0, string: '', boolean: false }

/** The sums of a session, added as integers of any size. */
function figuresOf({ data, legacyUpload }: SourceLine) {
  const segments = data['TrainerSegment'] as SourceRecord[]
  const known = segments.map(segment => segment['distanceTravelled'] ?? null).filter(distance => distance !== null)
  const micrometres = known.reduce<bigint>((sum, distance) => sum + BigInt(Math.round(Number(distance) * 1e6)), 0n)
  const reps = segments.reduce((sum, segment) => sum + BigInt(Number(segment['repsMeasured'])), 0n)
  return {
    repsMeasured: data['repsMeasured'] ?? Number(reps),
    distanceTravelled: zero(data['distanceTravelled'] ?? (known.length === 0 ? undefined : Number(micrometres) / 1e6)),
    distanceApproximate: legacyUpload === true || data['distanceApproximate'] === true ? true : undefined,
  }
}

function zero(value: unknown): unknown {
  return Object.is(value, -0) ? 0 : value
}

/** A list has the same items, in the order of the contract. */
function assertArranged(name: string, source: readonly SourceRecord[], written: readonly SourceRecord[]) {
  if (name === 'LockSegment') {
    const when = (item: SourceRecord) => Date.parse(String(item['createdAt']))
    const sorted = source.toSorted((a, b) => when(a) - when(b) || Number(a['id']) - Number(b['id']))
    assert.deepEqual(written, sorted)
    return
  }
  const isOrdered = (item: SourceRecord) => typeof item['order'] === 'number'
  const sorted = source.filter(isOrdered).toSorted((a, b) => Number(a['order']) - Number(b['order']))
  assert.deepEqual(
    written,
    source.map(item => (isOrdered(item) ? sorted.shift() : item)),
  )
}
