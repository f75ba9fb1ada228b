// engine: sqlite
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { settings, settingsWithoutEffect } from '../../src/config.ts'
import { exportArchive } from '../../src/archive/export.ts'
import { type ApiDocument, breakingChanges } from '../support/breaking-changes.ts'
import { startService } from '../support/service.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const today = readDocument(join(DOCS, '../src/openapi/openapi.json'))

/** What was released, by its SHA-256: a release adds its three files, and no file is ever changed. */
const RELEASED: Readonly<Record<string, string>> = {
  'archive/1.0.ndjson': 'f0c1505086f3ba8e8a716d787ba0950f415abed19b4ff1b99fd46d685cbc01a9',
  'openapi/1.0.json': '299366ab65bf2cc067fe69695258c6caee5807ac328844123249f6e243798074',
  'settings/1.0.txt': '5c1b0173f33eaaaadb1a145f8a2f527eaad522fb5ea4695705b0be5f2dd9c76a',
}

test('no file of a release is ever changed', () => {
  const files = ['archive', 'openapi', 'settings'].flatMap(folder =>
    readdirSync(join(DOCS, folder)).map(name => `${folder}/${name}`),
  )
  const hashes = files.map(file => [file, hash('sha256', readFileSync(join(DOCS, file)))])
  assert.deepEqual(Object.fromEntries(hashes), RELEASED)
})

for (const name of readdirSync(join(DOCS, 'openapi'))) {
  test(`a client of version ${name.replace('.json', '')} works with this version: what the API has now is what it had, and additions`, () => {
    assert.deepEqual(breakingChanges(readDocument(join(DOCS, 'openapi', name)), today), [])
  })
}

interface Break {
  /** What a later version would have done. */
  readonly title: string
  readonly edit: (text: string) => string
  readonly says: RegExp
}

const SESSION = 'GET /api/v1/dtt/sessions/{id}'
const replace = (from: string, to: string) => (text: string) => {
  assert.ok(text.includes(from), from)
  return text.replaceAll(from, to)
}

const breaks: readonly Break[] = [
  {
    title: 'removes a path',
    edit: replace('"/api/v1/status"', '"/api/v1/state"'),
    says: /^GET \/api\/v1\/status is gone$/,
  },
  {
    title: 'renames an operation',
    edit: replace('"operationId": "getStatus"', '"operationId": "readStatus"'),
    says: /^GET \/api\/v1\/status: its name getStatus is now readStatus$/,
  },
  {
    title: 'removes a parameter',
    edit: replace('"name": "offset"', '"name": "skip"'),
    says: /^GET \/api\/v1\/lkbx\/templates: query parameter offset is gone$/,
  },
  {
    title: 'needs a parameter',
    edit: replace('"name": "offset",', '"name": "offset", "required": true,'),
    says: /^GET \/api\/v1\/lkbx\/templates: query parameter offset is now required$/,
  },
  {
    title: 'adds a parameter that is required',
    edit: replace(
      '"parameters": [\n',
      '"parameters": [{ "name": "new", "in": "query", "required": true, "schema": {} },\n',
    ),
    says: /: query parameter new is new and required$/,
  },
  {
    title: 'accepts less in a parameter',
    edit: text => text.replace(/("name": "limit",[^]*?"maximum": )100/, '$150'),
    says: /: query parameter limit: maximum 50 and 100 do not fit$/,
  },
  {
    title: 'accepts fewer values in a parameter',
    edit: replace('"enum": [\n                "template"', '"enum": [\n                "owner"'),
    says: /: query parameter include: values \["owner"\] and \["template"\] do not fit$/,
  },
  {
    title: 'accepts another word in a parameter',
    edit: replace('"const": "me"', '"const": "self"'),
    says: /: query parameter ownerId: values \["self"\] and \["me"\] do not fit$/,
  },
  {
    title: 'accepts another type in a parameter',
    edit: text => text.replace(/("name": "passed",[^]*?"type": )"boolean"/, '$1"integer"'),
    says: /: query parameter passed: types "integer" and "boolean" do not fit$/,
  },
  {
    title: 'accepts only longer texts in a parameter',
    edit: replace('"minLength": 1', '"minLength": 2'),
    says: /: query parameter \w+: minLength 2 and 1 do not fit$/,
  },
  {
    title: 'bounds a parameter in a new way',
    edit: replace('"minLength": 1', '"minLength": 1, "maxLength": 9'),
    says: /: query parameter \w+: maxLength 9 and any differ$/,
  },
  {
    title: 'has another default of a parameter',
    edit: replace('"default": 50', '"default": 20'),
    says: /: query parameter limit: default 20 and 50 differ$/,
  },
  {
    title: 'needs another scope',
    edit: replace('"lkbx:read"\n', '"locks:read"\n'),
    says: /^GET \/api\/v1\/lkbx\/templates: \{"token":\["lkbx:read"\]\} is no longer enough$/,
  },
  {
    title: 'renames a field',
    edit: replace('"repsMeasured"', '"repetitions"'),
    says: new RegExp(`^${RegExp.escape(SESSION)}: response 200\\.data\\.TrainerSegment\\[\\]\\.repsMeasured is gone$`),
  },
  {
    title: 'may leave a field out',
    edit: text => text.replace(/("TrainingSession": \{\s+"type": "object",\s+"required": \[\s+)"id",/, '$1'),
    says: new RegExp(`^${RegExp.escape(SESSION)}: response 200\\.data\\.id may be missing$`),
  },
  {
    title: 'sends null where there was always a value',
    edit: text => text.replace(/("TrainingSession": [^]*?"id": \{\s+"type": )"integer"/, '$1["integer", "null"]'),
    says: new RegExp(
      `^${RegExp.escape(SESSION)}: response 200\\.data\\.id: types "integer" and \\["integer","null"\\] do not fit$`,
    ),
  },
  {
    title: 'sends new values where there were few',
    edit: replace('"const": true', '"enum": [true, false]'),
    says: /: response 200\.ok: values \[true\] and \[true,false\] do not fit$/,
  },
  {
    title: 'writes values in another format',
    edit: replace('"format": "date-time"', '"format": "date"'),
    says: /: response 200\.data\.\w+: format "date-time" and "date" do not fit$/,
  },
  {
    title: 'sends smaller numbers',
    edit: replace('"minimum": 1,', '"minimum": 0,'),
    says: new RegExp(`^${RegExp.escape(SESSION)}: response 200\\.data\\.id: minimum 1 and 0 do not fit$`),
  },
  {
    title: 'sends lists of anything',
    edit: replace('"items": {', '"x-items": {'),
    says: new RegExp(`^${RegExp.escape(SESSION)}: response 200\\.data\\.TrainerSegment: its items may be anything$`),
  },
  {
    title: 'sends another type of content',
    edit: replace('"application/json": {', '"application/xml": {'),
    says: /: response 200 is no longer application\/json$/,
  },
  {
    title: 'leaves out a header',
    edit: replace('"ETag": {', '"Last-Modified": {'),
    says: /^GET \/api\/v1\/status: response 200 has no ETag$/,
  },
  {
    title: 'no longer responds with a status',
    edit: replace('"304": {', '"303": {'),
    says: /^GET \/api\/v1\/status: response 304 is gone$/,
  },
]

for (const { title, edit, says } of breaks) {
  test(`a later version that ${title} is found out`, () => {
    const later = JSON.parse(edit(JSON.stringify(today, null, 2))) as ApiDocument
    const found = breakingChanges(today, later)
    assert.ok(
      found.some(line => says.test(line)),
      found.slice(0, 5).join('\n') || 'nothing was found',
    )
  })
}

test('a later version with a new path, parameter, field and status breaks nothing', () => {
  const path = '/api/v1/status'
  const { get } = today.paths[path] ?? {}
  assert.ok(get)
  const parameters = [...(get.parameters ?? []), { name: 'new', in: 'query', schema: {} }]
  const changed = { ...get, parameters, responses: { ...get.responses, 418: {} } }
  const later = {
    ...today,
    paths: { ...today.paths, [path]: { get: changed }, '/api/v1/new': { get: { responses: {} } } },
  }
  const text = JSON.stringify(later).replaceAll('"properties":{', '"properties":{"newField":{"type":"string"},')
  assert.deepEqual(breakingChanges(today, JSON.parse(text) as ApiDocument), [])
})

test('every setting that was ever released is still read', () => {
  const known = [...Object.values(settings).map(({ env }) => env), ...settingsWithoutEffect]
  for (const file of readdirSync(join(DOCS, 'settings'))) {
    const released = readFileSync(join(DOCS, 'settings', file), 'utf8')
      .trim()
      .split('\n')
    const missing = (now: readonly string[]) => released.filter(name => !now.includes(name))
    assert.deepEqual(missing(known), [], file)
    assert.deepEqual(missing(known.filter(name => name !== 'LOCKSTEP_PORT')), ['LOCKSTEP_PORT'])
  }
})

test('every archive that was ever released is imported, and exported again with all that it had', async () => {
  for (const file of readdirSync(join(DOCS, 'archive'))) {
    const released = readFileSync(join(DOCS, 'archive', file), 'utf8')
    const lines = linesOf(released)
    await using service = await startService(lines.slice(0, -1))
    let exported = ''
    await exportArchive(service.store, async part => void (exported += part))
    assert.deepEqual(missingLines(exported, released), [], file)
    const withoutField = exported.replace('"macAddress"', '"address"')
    assert.equal(missingLines(withoutField, released).length, 1)
  }
})

/** Lines of a released archive of which something is not exported. */
function missingLines(exported: string, released: string): object[] {
  const now = linesOf(exported)
  return linesOf(released).filter(line => !now.some(other => has(other, line)))
}

function linesOf(archive: string): { readonly kind: string }[] {
  return archive
    .trim()
    .split('\n')
    .map(line => JSON.parse(line) as { kind: string })
}

/** Whether the value has every field that the released one has, with its value. */
function has(now: unknown, released: unknown): boolean {
  if (typeof released !== 'object' || released === null) return now === released
  const fields = Object.entries(released)
  return typeof now === 'object' && now !== null && fields.every(([name, value]) => has(Reflect.get(now, name), value))
}

function readDocument(file: string): ApiDocument {
  return JSON.parse(readFileSync(file, 'utf8')) as ApiDocument
}
