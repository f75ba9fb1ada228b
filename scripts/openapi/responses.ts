import { STATUS_CODES } from 'node:http'
import type { TProperties, TSchema } from 'typebox'
import * as Type from 'typebox'
import { encodeCursor } from '../../src/contract/cursor.ts'
import { type Endpoint, isListEndpoint } from '../../src/contract/endpoint.ts'
import { type ErrorCode, errors, type FieldError } from '../../src/contract/errors.ts'
import { exampleOf } from './examples.ts'
import { list, OpenText, record, Text, whenKnown } from '../../src/contract/fields.ts'
import { allowedNamesRule, id, REPEATED_RULE } from '../../src/contract/parameters.ts'

type Described = Readonly<Record<string, object>>

/** Every response of an endpoint, by status. */
export function responsesOf(endpoint: Endpoint): Described {
  const sent = headerRefs([...limited, 'ETag', ...(isListEndpoint(endpoint) ? (['Link'] as const) : [])])
  return {
    200: { description: 'OK', headers: sent, content: json(envelope({ data: endpoint.data }), successes(endpoint)) },
    304: { description: 'The stored response is still valid', headers: sent },
    ...refusalsOf(endpoint),
  }
}

/** The responses of a health check: `fields` beside `ok`, and the statuses of its errors. */
export function healthResponses(fields: TProperties, ...statuses: readonly number[]): Described {
  return {
    200: {
      description: 'OK',
      headers: headerRefs(always),
      content: json(envelope(fields), { ok: { value: { ok: true } } }),
    },
    ...refusalsOf(undefined),
    ...Object.fromEntries(statuses.map(status => [status, { $ref: `#/components/responses/${responseName(status)}` }])),
  }
}

const codes = Object.keys(errors) as ErrorCode[]

export const ErrorResponse = record('An error.', {
  ok: Type.Literal(false, { description: 'False in every error.' }),
  error: Text('The reason, for people. Its wording may change.'),
  code: OpenText('The reason, for programs.', codes),
  status: Type.Integer({ description: 'The status of the response.', minimum: 400, maximum: 599 }),
  requestId: Type.String({ description: 'Names the request in the log.', pattern: '^[A-Za-z0-9._-]{16,}$' }),
  fieldErrors: whenKnown(
    list(
      'Every parameter that is wrong. Absent if none is.',
      record('A parameter that is wrong.', {
        field: Text('Its name; `query` if the name is unknown.'),
        message: Text('What is wrong with it.'),
      }),
    ),
  ),
})

/** Where a code occurs: at any path, at any path below /api/v1, at some endpoints, or at no path in the reference. */
const appliesTo: Readonly<Record<ErrorCode, 'any' | 'api' | 'none' | ((endpoint: Endpoint) => boolean)>> = {
  invalid_request: 'api',
  invalid_parameter: endpoint => parametersOf(endpoint).length > 0,
  unknown_parameter: 'api',
  repeated_parameter: ({ query }) => Object.keys(query).length > 0,
  malformed_url: 'any',
  malformed_request: 'any',
  missing_token: 'api',
  invalid_token: 'api',
  token_revoked: 'api',
  token_expired: 'api',
  subscription_required: ({ entitled }) => entitled,
  insufficient_scope: ({ scopes }) => scopes.length > 0,
  owner_not_accessible: ({ query }) => 'ownerId' in query,
  not_found: ({ resourceName }) => resourceName !== undefined,
  no_route: 'none',
  method_not_allowed: 'none',
  request_timeout: 'any',
  misdirected_request: 'any',
  rate_limited: 'api',
  headers_too_large: 'any',
  internal_error: 'any',
  unavailable: 'api',
}

/** Statuses that are described once, because none of their codes depends on the endpoint. */
const shared = [...new Set(codes.map(code => errors[code].status))].filter(status =>
  codes.every(code => errors[code].status !== status || appliesTo[code] === 'any' || appliesTo[code] === 'api'),
)

/** The refusals of an endpoint; undefined stands for a path outside the API. */
function refusalsOf(endpoint: Endpoint | undefined): Described {
  const occurring = codes.filter(code => {
    const at = appliesTo[code]
    if (typeof at === 'function') return endpoint !== undefined && at(endpoint)
    return at === 'any' || (at === 'api' && endpoint !== undefined)
  })
  return Object.fromEntries(
    [...new Set(occurring.map(code => errors[code].status))].map(status => [
      status,
      shared.includes(status)
        ? { $ref: `#/components/responses/${responseName(status)}` }
        : refusal(
            status,
            occurring.filter(code => errors[code].status === status).map(code => [code, exampleAt(code, endpoint)]),
          ),
    ]),
  )
}

function refusal(status: number, examples: readonly (readonly [ErrorCode, object])[]) {
  const names = examples.map(([code]) => `\`${code}\``).join(', ')
  const [only] = examples.length === 1 ? examples : []
  return {
    description: only === undefined ? names : `${names}: ${errors[only[0]].meaning}`,
    headers: headerRefs(headersByStatus[status] ?? always),
    content: json(ErrorResponse, Object.fromEntries(examples)),
  }
}

/** The example of a code at an endpoint: the shared one, unless the text names a parameter or a resource. */
function exampleAt(code: ErrorCode, endpoint: Endpoint | undefined): object {
  const at = endpoint === undefined ? undefined : specific(code, endpoint)
  return at === undefined ? { $ref: `#/components/examples/${code}` } : example(code, at.text, at.fieldErrors)
}

/** Codes whose text depends on the endpoint. */
const endpointSpecific: ReadonlySet<ErrorCode> = new Set([
  'invalid_parameter',
  'unknown_parameter',
  'repeated_parameter',
  'not_found',
])

function specific(code: ErrorCode, endpoint: Endpoint): { text: string; fieldErrors?: FieldError[] } | undefined {
  const wrong = (field: string, message: string) => ({ text: `${field} ${message}`, fieldErrors: [{ field, message }] })
  const query = Object.keys(endpoint.query)
  const [first] = parametersOf(endpoint)
  if (code === 'not_found') return { text: `${endpoint.resourceName} not found` }
  if (code === 'invalid_parameter' && first !== undefined) return wrong(...first)
  if (code === 'repeated_parameter') return wrong(query[0] ?? '', REPEATED_RULE)
  return code === 'unknown_parameter' ? wrong('query', allowedNamesRule(query)) : undefined
}

/** The parameters of an endpoint with their rules; the identifier in its path comes first. */
function parametersOf({ path, query }: Endpoint): (readonly [name: string, rule: string])[] {
  const named = Object.entries(query).map(([name, { rule }]) => [name, rule] as const)
  return path.endsWith('/:id') ? [['id', id('').rule], ...named] : named
}

function example(code: ErrorCode, error: string, fieldErrors?: readonly FieldError[]) {
  const { status, text } = errors[code]
  return {
    summary: text,
    value: { ok: false, error, code, status, requestId: REQUEST_ID, fieldErrors },
  }
}

const REQUEST_ID = '9f1c2b7e-4d0a-4c58-8a3e-6b5d7f20c91e'

/** Examples of a success: a record, a record and `null`, or a page by offset and by cursor. */
function successes(endpoint: Endpoint): Described {
  const success = (data: unknown) => ({ value: { ok: true, data } })
  if (isListEndpoint(endpoint)) {
    const data = [exampleOf(endpoint.item)]
    const nextCursor = encodeCursor(Date.parse('2026-02-16T18:00:00Z'), 1207, endpoint.listOf({}))
    return {
      by_offset: { summary: 'A page by offset', ...success({ data, pagination: { limit: 1, offset: 0 } }) },
      by_cursor: { summary: 'A page by cursor', ...success({ data, pagination: { limit: 1, nextCursor } }) },
    }
  }
  const { anyOf } = endpoint.data as { anyOf?: readonly TSchema[] }
  const [some = endpoint.data, none] = anyOf ?? []
  const record = { summary: 'The record', ...success(exampleOf(some)) }
  return none === undefined ? { record } : { record, none: { summary: 'There is none', ...success(null) } }
}

function envelope(properties: TProperties): TSchema {
  const ok = Type.Literal(true, { description: 'True in every success.' })
  return Type.Object({ ok, ...properties }, { additionalProperties: false })
}

function json(schema: TSchema, examples: Described) {
  return { 'application/json': { schema, examples } }
}

const headers = {
  'X-Request-Id': header('Names the request in the log.', ErrorResponse.properties.requestId, REQUEST_ID),
  ETag: header(
    'A fingerprint of the body. Send it back as `If-None-Match` to get 304 if nothing has changed.',
    Type.String(),
    '"mBzJ0tq8cV1xkYh3Rw5uNfQe2sA"',
  ),
  Link: header(
    'The addresses of the next page (`next`) and, by offset, of the previous one (`prev`), if they have records (RFC 8288).',
    Type.String(),
    '</api/v1/lkbx/templates?limit=20&offset=40>; rel="next", </api/v1/lkbx/templates?limit=20&offset=0>; rel="prev"',
  ),
  'RateLimit-Policy': header(
    'The limit of the API key and its window in seconds. Absent if the limit is off or the API key was not accepted.',
    Type.String(),
    '"default";q=600;w=60',
  ),
  RateLimit: header(
    'How many requests are left, and for how many seconds. Absent if the limit is off or the API key was not accepted.',
    Type.String(),
    '"default";r=599;t=60',
  ),
  'Retry-After': header('Seconds to wait before the next attempt.', Type.Integer({ minimum: 0 }), 1),
  'WWW-Authenticate': header(
    'How to authenticate (RFC 6750). On 400 only with `invalid_request`, on 403 only with `insufficient_scope`.',
    Type.String(),
    'Bearer realm="api", error="invalid_token", error_description="Invalid token"',
  ),
}

type HeaderName = keyof typeof headers

const always: readonly HeaderName[] = ['X-Request-Id']
const limited: readonly HeaderName[] = [...always, 'RateLimit-Policy', 'RateLimit']
const headersByStatus: Readonly<Record<number, readonly HeaderName[]>> = {
  400: [...limited, 'WWW-Authenticate'],
  401: [...always, 'WWW-Authenticate'],
  403: [...limited, 'WWW-Authenticate'],
  404: limited,
  429: [...limited, 'Retry-After'],
  503: [...always, 'Retry-After'],
}

/** The components that responses refer to. */
export const components = {
  headers,
  examples: Object.fromEntries(
    codes
      .filter(code => appliesTo[code] !== 'none' && !endpointSpecific.has(code))
      .map(code => [code, example(code, errors[code].text)]),
  ),
  responses: Object.fromEntries(
    shared.map(status => [
      responseName(status),
      refusal(
        status,
        codes.filter(code => errors[code].status === status).map(code => [code, exampleAt(code, undefined)]),
      ),
    ]),
  ),
}

function headerRefs(names: readonly HeaderName[]) {
  return Object.fromEntries(names.map(name => [name, { $ref: `#/components/headers/${name}` }]))
}

function header(description: string, schema: TSchema, value: unknown) {
  return { description, schema, example: value }
}

/** The name of a shared response: the text of its status as one word. */
function responseName(status: number): string {
  return (STATUS_CODES[status] ?? String(status)).replaceAll(/[^A-Za-z]/g, '')
}
