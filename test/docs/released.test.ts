// engine: sqlite
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { settings, settingsWithoutEffect } from '../../src/config.ts'
import { exportArchive } from '../../src/archive/export.ts'
import { kinds } from '../../src/archive/kinds.ts'
import { type ApiDocument, breakingChanges } from '../support/breaking-changes.ts'
import { startService } from '../support/service.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const today = readDocument(join(DOCS, '../src/openapi/openapi.json'))

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
    assert.ok(released.length > 20)
    assert.deepEqual(
      released.filter(name => !known.includes(name)),
      [],
      file,
    )
  }
})

test('every archive that was ever released is imported, and exported again with all that it had', async () => {
  for (const file of readdirSync(join(DOCS, 'archive'))) {
    const released = readFileSync(join(DOCS, 'archive', file), 'utf8')
    const lines = linesOf(released)
    await using service = await startService(lines.slice(0, -1))
    let exported = ''
    await exportArchive(service.store, async part => void (exported += part))
    assert.deepEqual([...new Set(lines.map(({ kind }) => kind))], [...kinds.map(({ name }) => name), 'end'], file)
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
