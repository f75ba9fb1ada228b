// engine: any
import assert from 'node:assert/strict'
import { test } from 'node:test'
import manifest from '../../package.json' with { type: 'json' }
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { errors } from '../../src/contract/errors.ts'
import { api } from '../../src/contract/index.ts'
import { openapi } from '../../src/openapi/document.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const document: any = openapi()
const endpoints = Object.entries<Endpoint>(api)

test('every operation of the contract is in the document, under its path and name, and besides them only the health checks', () => {
  const described = Object.entries<any>(document.paths).map(([path, { get }]) => `${get.operationId} ${path}`)
  const promised = endpoints.map(([name, { path }]) => `${name} ${path.replace('/:id', '/{id}')}`)
  assert.deepEqual(described.toSorted(), [...promised, 'getLiveness /healthz', 'getReadiness /readyz'].toSorted())
})

test('the document has the version of the API, and marks the earlier name of ownerId as deprecated', () => {
  assert.ok(manifest.version.startsWith(`${document.info.version}.`))
  const named = new Set(['ownerId', 'targetUserId'])
  for (const { get } of Object.values<any>(document.paths)) {
    for (const { name, deprecated } of get.parameters.filter((parameter: any) => named.has(parameter.name)))
      assert.equal(deprecated === true, name === 'targetUserId')
  }
})

test('every error code is documented at an operation, or no operation can return it', () => {
  const shown = new Set(Object.values(everyExample()).map(value => value?.code))
  const missing = Object.keys(errors).filter(code => !shown.has(code))
  assert.deepEqual(missing, ['no_route', 'method_not_allowed'])
})

test('every field of every record says what it means', () => {
  for (const [name, { properties = {} }] of Object.entries<any>(document.components.schemas)) {
    assert.notDeepEqual(properties, {}, name)
    for (const [field, { description = '' }] of Object.entries<any>(properties)) {
      assert.notEqual(description, '', `${name}.${field}`)
    }
  }
})

test('records are named, so that generated code has one type for each', () => {
  for (const [name, { path }] of endpoints) {
    if (name === 'getMe') continue
    const data = operationAt(path).responses['200']?.content?.['application/json'].schema.properties?.['data']
    const record = data?.properties?.['data']?.items ?? data?.anyOf?.[0] ?? data
    assert.match(record?.$ref ?? '', /^#\/components\/schemas\/[A-Z]\w+$/, name)
  }
})

test('error responses look like their examples', async () => {
  await using service = await startService([...world, lockTemplate(5, 1)])
  const token = await service.token('ann')
  const narrow = await service.token('ann', { scopes: ['dtt:read'] })
  const examples = everyExample()

  const check = async (key: string, path: string, sent: string | undefined, headers?: Record<string, string>) => {
    const { body } = await service.fetch(path, sent, headers)
    const { requestId: _, ...expected } = examples[key] ?? {}
    const { requestId, ...found } = body
    assert.deepEqual(found, expected, `${key} ${path}`)
    assert.match(requestId, /^[A-Za-z0-9._-]{16,}$/)
  }

  for (const [name, { path: pattern, query, resourceName }] of endpoints) {
    const path = pattern.replace(':id', '1')
    const [first] = Object.keys(query)
    await check(`${name} unknown_parameter`, `${path}?nonsense=1`, token)
    if (pattern.endsWith(':id')) await check(`${name} invalid_parameter`, pattern.replace(':id', 'x'), token)
    else if (first !== undefined) await check(`${name} invalid_parameter`, `${path}?${first}=-1`, token)
    if (first !== undefined) await check(`${name} repeated_parameter`, `${path}?${repeated(pattern, first)}`, token)
    if (resourceName !== undefined) await check(`${name} not_found`, pattern.replace(':id', '9007199254740991'), token)
  }
  const path = '/api/v1/lkbx/templates'
  await check('missing_token', path, undefined)
  await check('invalid_token', path, 'lks_none')
  await check('insufficient_scope', path, narrow)
  await check('owner_not_accessible', `${path}?ownerId=3`, token)
  await check('malformed_url', `${path}?limit=%`, token)
})

test('the documented pattern for secret scanners is the form of an API key', () => {
  const pattern = new RegExp(document.components.securitySchemes.token['x-token-pattern'])
  const token = mintKey()
  assert.equal(pattern.exec(`token: "${token}"`)?.[0], token)
  assert.doesNotMatch(`${token}0`, pattern)
})

/** Values that are right, where 1 is not. */
const RIGHT: Readonly<Record<string, string>> = { include: 'owner', bucket: 'day' }

/** A value that is right, twice. */
function repeated(path: string, name: string): string {
  const value = name === 'include' && path.includes('/lkbx/') ? 'template' : (RIGHT[name] ?? '1')
  return `${name}=${value}&${name}=${value}`
}

function operationAt(path: string) {
  const found = document.paths[path.replace('/:id', '/{id}')]
  assert.ok(found !== undefined, path)
  return found.get
}

/** Examples of refusals: by code, and where an operation has its own, by operation and code. */
function everyExample(): Record<string, any> {
  const shared = Object.entries<any>(document.components.examples).map(([code, { value }]) => [code, value] as const)
  const own = endpoints.flatMap(([name, { path }]) =>
    Object.values<any>(operationAt(path).responses)
      .flatMap(({ content }) => Object.entries<any>(content?.['application/json'].examples ?? {}))
      .filter(([, { value }]) => value?.ok === false)
      .map(([code, { value }]) => [`${name} ${code}`, value] as const),
  )
  return Object.fromEntries([...shared, ...own])
}
