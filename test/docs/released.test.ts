// engine: sqlite
import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { isDeepStrictEqual } from 'node:util'
import { settings } from '../../src/config.ts'
import { startService } from '../support/service.ts'
import { exportOf, parseLines } from '../support/archives.ts'

const DOCS = join(import.meta.dirname, '../../docs')
const today = readDocument(join(DOCS, '../src/openapi/openapi.json'))

/** What was released, by its SHA-256: a release adds its three files, and no file is ever changed. */
const RELEASED: Readonly<Record<string, string>> = {
  'archive/1.0.ndjson': '4dc4809f7bfc17a91468ae55d2d5996acf175a5fa91ea11144ce818151f9ef11',
  'openapi/1.0.json': '1a0046633ab4be740c0e54bdbfefe27d308816784fd0457b9076f5aed3335367',
  'settings/1.0.txt': 'a350773bed0f7981554e92894dad8079ae0649cbac100e2f4d5f83b8dc75766b',
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

/** What may differ: texts for people, and what is said of the whole. */
const MAY_DIFFER = /^(description|summary|examples?|deprecated|x-.*|info|servers|tags|externalDocs)$/

/** Where names can be added; anywhere else something new says less, or accepts less. */
const HAS_NAMES = /\.(paths|properties|responses|headers|content|schemas|parameters|securitySchemes)$/

/** Where an OpenAPI document does not have what a released one has, or has more than additions. */
function breakingChanges(released: any, now: any, at = ''): string[] {
  if (Array.isArray(released) && Array.isArray(now)) {
    if (at.endsWith('.parameters')) return parameterChanges(released, now, at)
    if (at.endsWith('.required')) return released.filter(name => !now.includes(name)).map(name => `${at}: ${name}`)
  } else if (isObject(released) && isObject(now)) {
    const hasNames = HAS_NAMES.test(at)
    const isCompared = (name: string) => hasNames || !MAY_DIFFER.test(name)
    const added = Object.keys(now).filter(name => !hasNames && isCompared(name) && !(name in released))
    return Object.keys(released)
      .filter(isCompared)
      .flatMap(name => breakingChanges(released[name], now[name], `${at}.${name}`))
      .concat(added.map(name => `${at}.${name} is new`))
  }
  return isDeepStrictEqual(released, now) ? [] : [`${at}: ${JSON.stringify(released)} is ${JSON.stringify(now)}`]
}

function parameterChanges(released: readonly any[], now: readonly any[], at: string): string[] {
  const nameOf = ({ name, in: place, $ref }: any) => $ref ?? `${place} ${name}`
  const find = (all: readonly any[], one: any) => all.find(other => nameOf(other) === nameOf(one))
  const needed = now.filter(one => one.required === true && find(released, one) === undefined)
  return released
    .flatMap(one => breakingChanges(one, find(now, one), `${at}.${nameOf(one)}`))
    .concat(needed.map(one => `${at}.${nameOf(one)} is needed`))
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

test('every setting that was ever released is still read', () => {
  const known = Object.values(settings).map(({ env }) => env)
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
    await using service = await startService(parseLines(released).slice(0, -1))
    const exported = await exportOf(service.store)
    assert.deepEqual(missingLines(exported, released), [], file)
    const withoutField = exported.replace('"macAddress"', '"address"')
    assert.equal(missingLines(withoutField, released).length, 1)
  }
})

/** Lines of a released archive of which something is not exported. */
function missingLines(exported: string, released: string): object[] {
  const now = parseLines(exported)
  return parseLines(released).filter(line => !now.some(other => has(other, line)))
}

/** Whether the value has every field that the released one has, with its value. */
function has(now: unknown, released: unknown): boolean {
  if (typeof released !== 'object' || released === null) return now === released
  const fields = Object.entries(released)
  return typeof now === 'object' && now !== null && fields.every(([name, value]) => has(Reflect.get(now, name), value))
}

function readDocument(file: string): any {
  return JSON.parse(readFileSync(file, 'utf8'))
}
