import type { TSchema } from 'typebox'
import manifest from '../../package.json' with { type: 'json' }
import { devices, LockDevice, TrainingDevice } from '../../src/contract/devices.ts'
import {
  areaScopes,
  cursorPagination,
  type Endpoint,
  offsetPagination,
  type Scope,
} from '../../src/contract/endpoint.ts'
import { makeGuide } from './guide.ts'
import { LockSegment, lockSessions, LockSessionWithTemplate } from '../../src/contract/lock-sessions.ts'
import { LockTemplate, lockTemplates } from '../../src/contract/lock-templates.ts'
import { id, type Parameter } from '../../src/contract/parameters.ts'
import { Account, people, Token, User } from '../../src/contract/people.ts'
import { AccessLists, GivenAccess, Read, ReceivedAccess, sharing } from '../../src/contract/sharing.ts'
import { components, ErrorResponse, healthResponses, responsesOf } from './responses.ts'
import type { OpenApi } from '../../src/openapi/types.ts'
import {
  GradeStatistics,
  LockBucket,
  LockStatistics,
  statistics,
  TrainingBucket,
  TrainingStatistics,
} from '../../src/contract/statistics.ts'
import { Status, status } from '../../src/contract/status.ts'
import { TrainerSegment, trainingSessions, TrainingSessionWithOwner } from '../../src/contract/training-sessions.ts'
import {
  TemplateSegment,
  TrainingTemplate,
  trainingTemplates,
  TrainingTemplateSummary,
} from '../../src/contract/training-templates.ts'

/** The release of the API. Strangers are told, so it is not the whole version of the program. */
export const API_VERSION = manifest.version.split('.', 2).join('.')

/** The contract as an OpenAPI 3.1 document. */
export function makeDocument(): OpenApi {
  const document = {
    openapi: '3.1.1',
    info: {
      title: 'Lockstep',
      version: API_VERSION,
      'x-api-version': 'v1',
      summary: 'A read API for lock and training history.',
      description: makeGuide(),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: '/', description: 'This service' }],
    tags: [...resources, health].map(({ name, description }) => ({ name, description })),
    paths: Object.fromEntries<{ readonly get: object }>([...resources.flatMap(pathsOf), ...health.paths]),
    components: {
      securitySchemes: { token },
      // Copies, because `replaceSchema` replaces the originals by references.
      schemas: Object.fromEntries([...schemas].map(([schema, name]) => [name, { ...schema }])),
      parameters: { 'If-None-Match': ifNoneMatch },
      ...components,
    },
  }
  // The document is JSON but for symbols that the library adds to schemas, which are dropped here. A test validates it against the
  // specification of OpenAPI, of which the type is a part.
  return JSON.parse(JSON.stringify(document, replaceSchema)) as OpenApi
}

/** A heading of the reference: its operations, and its records by name. */
interface Resource {
  readonly name: string
  readonly description: string
  readonly endpoints: Readonly<Record<string, Endpoint>>
  readonly records: Readonly<Record<string, TSchema>>
}

const resources: readonly Resource[] = [
  {
    name: 'Lock templates',
    description: 'The rules that lock sessions start from.',
    endpoints: lockTemplates,
    records: { LockTemplate },
  },
  {
    name: 'Lock sessions',
    description: 'Periods under lock, each with its events.',
    endpoints: lockSessions,
    records: { LockSession: LockSessionWithTemplate, LockSegment },
  },
  {
    name: 'Training templates',
    description: 'Training programs and their segments.',
    endpoints: trainingTemplates,
    records: { TrainingTemplate, TrainingTemplateSummary, TemplateSegment },
  },
  {
    name: 'Training sessions',
    description: 'Completed training, with the result of each segment.',
    endpoints: trainingSessions,
    records: { TrainingSession: TrainingSessionWithOwner, TrainerSegment },
  },
  {
    name: 'Devices',
    description: 'The devices that sessions were recorded with.',
    endpoints: devices,
    records: { LockDevice, TrainingDevice },
  },
  {
    name: 'People',
    description: 'The caller, those who gave the caller access, and those who received it.',
    endpoints: { ...people, ...sharing },
    records: { User, Account, Token, AccessLists, GivenAccess, ReceivedAccess, Read },
  },
  {
    name: 'Statistics',
    description: 'The present status, and statistics over days, weeks and months.',
    endpoints: { ...status, ...statistics },
    records: { Status, TrainingStatistics, TrainingBucket, LockStatistics, LockBucket, GradeStatistics },
  },
]

const schemas = new Map<TSchema, string>(
  [...resources.map(({ records }) => records), { offsetPagination, cursorPagination, Error: ErrorResponse }].flatMap(
    records =>
      Object.entries(records).map(([name, schema]) => [schema, name.charAt(0).toUpperCase() + name.slice(1)] as const),
  ),
)

function pathsOf({ name: tag, endpoints }: Resource) {
  return Object.entries(endpoints).map(([name, endpoint]) => {
    const operation = {
      operationId: name,
      tags: [tag],
      summary: endpoint.summary,
      description: describe(endpoint),
      security: scopeSets(endpoint).map(scopes => ({ token: scopes })),
      parameters: [
        ...(endpoint.path.endsWith('/:id') ? [{ ...parameter('id', PATH_ID), in: 'path', required: true }] : []),
        ...Object.entries(endpoint.query).map(([query, facts]) => parameter(query, facts)),
        { $ref: '#/components/parameters/If-None-Match' },
      ],
      responses: responsesOf(endpoint),
    }
    return [endpoint.path.replace('/:id', '/{id}'), { get: operation }] as const
  })
}

function describe(endpoint: Endpoint): string {
  const { description, resourceName, scopes, entitled } = endpoint
  const byId = resourceName === undefined ? undefined : `One ${resourceName.toLowerCase()}, by id.`
  const sentences = [description ?? byId]
  const sets = scopeSets(endpoint).map(set => set.map(scope => `\`${scope}\``).join(' and '))
  if (scopes.length > 0) sentences.push(`Needs the scope ${sets.join(' or ')}.`)
  else if (entitled) sentences.push('Needs no scope.')
  return sentences.filter(sentence => sentence !== undefined).join(' ')
}

/** The sets of scopes of which each is enough. */
function scopeSets({ scopes }: Endpoint): (readonly Scope[])[] {
  const single = scopes.map(scope => [scope])
  const [only] = scopes
  if (only === 'status:read') return [...single, areaScopes]
  return scopes.length === 0 ? [[]] : single
}

const PATH_ID = id('Id of the record.')

function parameter(name: string, { schema, description, rule, aliasOf }: Parameter) {
  // The schema of a number or a choice states its rule already.
  const isComplete = !('type' in schema) || schema.type !== 'string' || 'enum' in schema
  const text = isComplete ? description : `${description} The value ${rule}.`
  return { name, in: 'query', description: text, ...(aliasOf === undefined ? {} : { deprecated: true }), schema }
}

const ifNoneMatch = {
  name: 'If-None-Match',
  in: 'header',
  description: 'The `ETag` of a stored response. While that is current, the response is 304 without a body.',
  schema: { type: 'string' },
}

const token = {
  type: 'http',
  scheme: 'bearer',
  bearerFormat: 'lks_ and 36 letters and digits',
  description:
    'An API key: `lks_`, 30 random characters, and 6 of checksum (CRC32 of all that precedes, in base 62). It is shown once, when it is created, and can be revoked. The pattern is for tools that look for secrets.',
  'x-token-pattern': '\\blks_[0-9A-Za-z]{36}\\b',
}

const health = {
  name: 'Health',
  description: 'Whether the service runs and can answer requests. Needs no API key.',
  paths: [
    [
      '/healthz',
      healthPath(
        'getLiveness',
        'Tell whether the process is alive',
        'Does not read the database.',
        healthResponses({}),
      ),
    ],
    [
      '/readyz',
      healthPath(
        'getReadiness',
        'Tell whether requests can be answered',
        'Whether the database responds and has the right schema, and the service is not stopping.',
        healthResponses({}, 503),
      ),
    ],
  ] as const,
}

function healthPath(operationId: string, summary: string, description: string, responses: object) {
  return { get: { operationId, tags: ['Health'], summary, description, security: [], parameters: [], responses } }
}

/**
 * Replaces named schemas by references, and writes the others as OpenAPI tools expect them. Objects are open, so that a field that is
 * added later breaks no generated client.
 */
function replaceSchema(key: string, value: unknown): unknown {
  if (key === 'additionalProperties' && value === false) return undefined
  const name = schemas.get(value as TSchema)
  if (name !== undefined) return { $ref: `#/components/schemas/${name}` }
  return isSchema(value) ? widened(withNull(value)) : value
}

interface Shape {
  readonly type?: string | readonly string[]
  readonly anyOf?: readonly Shape[]
  readonly enum?: readonly unknown[]
  readonly minimum?: number
  readonly maximum?: number
}

function isSchema(value: unknown): value is Shape {
  return (
    typeof value === 'object' && value !== null && ('anyOf' in value || ('type' in value && value.type === 'integer'))
  )
}

/** Writes a union of a simple type and null as one type. */
function withNull(schema: Shape): Shape {
  const [some, none, ...others] = schema.anyOf ?? []
  if (typeof some?.type !== 'string' || none?.type !== 'null' || others.length > 0 || schemas.has(some)) {
    return schema
  }
  const { anyOf: _, ...rest } = schema
  return {
    ...some,
    type: [some.type, 'null'],
    ...(some.enum === undefined ? {} : { enum: [...some.enum, null] }),
    ...rest,
  }
}

/** Adds the width of an integer, for generated code, and drops the bounds that all integers share. */
function widened(schema: Shape): Shape & { readonly format?: string } {
  const { type, minimum, maximum, ...rest } = schema
  if (type !== 'integer' && !(Array.isArray(type) && type.includes('integer'))) return schema
  if (maximum !== undefined && maximum < 2 ** 31) return schema
  return minimum === Number.MIN_SAFE_INTEGER ? { type, format: 'int64', ...rest } : { ...schema, format: 'int64' }
}
