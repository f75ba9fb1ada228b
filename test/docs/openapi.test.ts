// engine: any
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import manifest from '../../package.json' with { type: 'json' }
import type { Endpoint } from '../../src/contract/endpoint.ts'
import { errors } from '../../src/contract/errors.ts'
import { api } from '../../src/contract/index.ts'
import { openapi } from '../../src/openapi/document.ts'
import { mintKey } from '../../src/accounts/secrets.ts'
import { lockTemplate, world } from '../support/records.ts'
import { startService } from '../support/service.ts'

const SNAPSHOT = new URL('../../src/openapi/openapi.json', import.meta.url)
const document = openapi() as unknown as Document
const endpoints = Object.entries<Endpoint>(api)

/** The statuses of all errors, apart from that of a method that no operation has. */
const STATUSES = Object.entries(errors)
  .filter(([code]) => code !== 'method_not_allowed')
  .map(([, { status }]) => String(status))

test('the document passes the recommended rules of the Redocly linter without error or warning', async () => {
  const redocly = fileURLToPath(import.meta.resolve('@redocly/cli/bin/cli.js'))
  const { stdout, stderr } = await run(redocly, ['lint', fileURLToPath(SNAPSHOT), '--format=json'])
  const { totals, problems } = JSON.parse(stdout || `{"totals":${JSON.stringify(stderr)}}`)
  assert.deepEqual(totals, { errors: 0, warnings: 0, ignored: 0 }, JSON.stringify(problems, null, 2))
})

test('every operation of the contract is in the document, under its path and name, and besides them only the health checks', () => {
  const described = Object.entries(document.paths).map(([path, { get }]) => `${get.operationId} ${path}`)
  const promised = endpoints.map(([name, { path }]) => `${name} ${path.replace('/:id', '/{id}')}`)
  assert.deepEqual(described.toSorted(), [...promised, 'getLiveness /healthz', 'getReadiness /readyz'].toSorted())
})

for (const [name, endpoint] of endpoints) {
  test(`${name} is described with its scope, its parameters and all its responses`, () => {
    const operation = operationAt(endpoint.path)
    assert.equal(operation.summary, endpoint.summary)
    assert.ok(operation.description.startsWith(endpoint.description ?? 'One '))
    for (const scope of endpoint.scopes) assert.ok(operation.description.includes(`\`${scope}\``), scope)
    assert.equal(operation.tags.length, 1)

    const parameters = operation.parameters.filter(parameter => parameter.in === 'query')
    assert.deepEqual(
      parameters.map(parameter => parameter.name),
      Object.keys(endpoint.query),
    )
    for (const { name: parameter, schema, description } of parameters) {
      assert.ok(description.length > 0)
      const { minimum, maximum, default: absent } = (endpoint.query[parameter]?.schema ?? {}) as Record<string, unknown>
      assert.deepEqual([schema.minimum, schema.maximum, schema.default], [minimum, maximum, absent])
    }
    const [id] = operation.parameters.filter(parameter => parameter.in === 'path')
    assert.equal(id !== undefined, endpoint.path.endsWith('/:id'))
    if (id !== undefined) assert.deepEqual([id.name, id.required, id.schema.minimum], ['id', true, 1])

    const statuses = new Set(['200', '304', ...STATUSES])
    if (!endpoint.entitled) statuses.delete('403')
    if (endpoint.resourceName === undefined) statuses.delete('404')
    assert.deepEqual(Object.keys(operation.responses), [...statuses].toSorted())
  })
}

test('the document has the version of the API, and marks the earlier name of ownerId as deprecated', () => {
  assert.ok(manifest.version.startsWith(`${document.info.version}.`))
  const named = new Set(['ownerId', 'targetUserId'])
  for (const { get } of Object.values(document.paths)) {
    for (const { name, deprecated } of get.parameters.filter(parameter => named.has(parameter.name)))
      assert.equal(deprecated === true, name === 'targetUserId')
  }
})

test('every error code is documented at an operation, or no operation can return it', () => {
  const shown = new Set(Object.values(everyExample()).map(value => value?.code))
  const missing = Object.keys(errors).filter(code => !shown.has(code))
  assert.deepEqual(missing, ['no_route', 'method_not_allowed'])
})

test('every field of every record says what it means', () => {
  for (const [name, { properties = {} }] of Object.entries(document.components.schemas)) {
    assert.notDeepEqual(properties, {}, name)
    for (const [field, { description = '' }] of Object.entries(properties)) {
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

function operationAt(path: string): Operation {
  const found = document.paths[path.replace('/:id', '/{id}')]
  assert.ok(found !== undefined, path)
  return found.get
}

/** Examples of refusals: by code, and where an operation has its own, by operation and code. */
function everyExample(): Record<string, Example['value']> {
  const shared = Object.entries(document.components.examples).map(([code, { value }]) => [code, value] as const)
  const own = endpoints.flatMap(([name, { path }]) =>
    Object.values(operationAt(path).responses)
      .flatMap(({ content }) => Object.entries(content?.['application/json'].examples ?? {}))
      .filter(([, { value }]) => value?.ok === false)
      .map(([code, { value }]) => [`${name} ${code}`, value] as const),
  )
  return Object.fromEntries([...shared, ...own])
}

/** As much of an OpenAPI document as is looked at here. */
interface Document {
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>
  readonly components: {
    readonly schemas: Readonly<Record<string, Schema>>
    readonly examples: Readonly<Record<string, Example>>
    readonly securitySchemes: { readonly token: { readonly 'x-token-pattern': string } }
  }
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly parameters: readonly Parameter[]
  readonly responses: Readonly<Record<string, { readonly content?: { readonly 'application/json': Content } }>>
}

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly deprecated?: boolean
  readonly description: string
  readonly schema: Schema
}

interface Content {
  readonly schema: Schema
  readonly examples: Readonly<Record<string, Example>>
}

interface Example {
  readonly value?: { readonly ok: boolean; readonly code?: string; readonly requestId?: string }
}

interface Schema {
  readonly $ref?: string
  readonly description?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly properties?: Readonly<Record<string, Schema>>
}

function run(script: string, parameters: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const environment = { ...process.env, REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true', REDOCLY_TELEMETRY: 'off' }
  const root = fileURLToPath(new URL('../../', import.meta.url))
  return new Promise(resolve => {
    // The linter says by its exit code what it also says in its output.
    execFile(process.execPath, [script, ...parameters], { cwd: root, env: environment }, (_error, stdout, stderr) => {
      resolve({ stdout, stderr })
    })
  })
}
