import type { Endpoint, Params } from '../contract/endpoint.ts'
import { ApiError, type ErrorCode, type FieldError } from '../contract/errors.ts'
import { allowedNamesRule, CALLER, id as idParameter, type Parameters, REPEATED_RULE } from '../contract/parameters.ts'

/** A query as name and value pairs, percent-decoded. A plus sign is not a space; only & separates pairs. */
export type Query = readonly (readonly [name: string, value: string])[]

export function parseQuery(query: string): Query {
  const pairs: [string, string][] = []
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    pairs.push(equals === -1 ? [decode(pair), ''] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))])
  }
  return pairs
}

/** Percent-decodes once. Throws malformed_url. */
function decode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    throw new ApiError('malformed_url')
  }
}

export interface RequestParameters {
  readonly query: Query
  /** The text in the place of the identifier. */
  readonly id: string | undefined
  /** The account of the caller. */
  readonly callerId: number
  /** The clock of the request, in milliseconds since 1970. */
  readonly now: number
}

/**
 * The parameters of a request: every one the endpoint has, parsed. Throws one ApiError that names all that is wrong. It
 * lists the names that are allowed, but does not contain unknown ones.
 */
export function readParameters<E extends Endpoint>(
  endpoint: E,
  { query, id, callerId, now }: RequestParameters,
): Params<E> {
  const parameters: Parameters = endpoint.query
  const params = defaultsOf(parameters)
  const findings: Finding[] = []
  const add = (code: Finding['code'], field: string, message: string) => findings.push({ code, field, message })

  if (id !== undefined) {
    params['id'] = PATH_ID.parse(id)
    if (params['id'] === undefined) add('invalid_parameter', 'id', PATH_ID.rule)
  }
  const seen = new Set<string>()
  for (const [name, value] of query) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (parameter === undefined) {
      add('unknown_parameter', 'query', allowedNamesRule(Object.keys(parameters)))
    } else if (seen.has(name)) {
      add('repeated_parameter', name, REPEATED_RULE)
    } else {
      seen.add(name)
      // PostgreSQL has no text with it.
      const parsed = value.includes('\0') ? undefined : parameter.parse(value)
      params[parameter.aliasOf ?? name] = parsed === CALLER ? callerId : parsed
      if (parsed === undefined) add('invalid_parameter', name, parameter.rule)
    }
  }
  for (const name of seen) {
    const other = parameters[name]?.aliasOf
    if (other !== undefined && seen.has(other)) {
      add('invalid_parameter', name, `must not be combined with ${other}`)
    }
  }
  const together = endpoint.check(params, name => findings.some(({ field }) => field === name), now)
  for (const { field, message } of together) add('invalid_parameter', field, message)
  throwIfAny(findings)
  // Every parameter of the endpoint has the result of its own `parse`, or its `defaultValue`.
  return params as Params<E>
}

function defaultsOf(parameters: Parameters): Record<string, unknown> {
  const params: Record<string, unknown> = {}
  for (const name in parameters) {
    const parameter = parameters[name]
    if (parameter !== undefined && parameter.aliasOf === undefined) params[name] = parameter.defaultValue
  }
  return params
}

const PATH_ID = idParameter('')

interface Finding extends FieldError {
  readonly code: (typeof PRECEDENCE)[number]
}

/** Throws an ApiError with the code of highest precedence, if anything was found; each field is listed once for each reason. */
function throwIfAny(findings: readonly Finding[]) {
  const code = PRECEDENCE.find(precedes => findings.some(finding => finding.code === precedes))
  const first = findings.find(finding => finding.code === code)
  if (code === undefined || first === undefined) return
  const fieldErrors = new Map(findings.map(({ field, message }) => [`${field} ${message}`, { field, message }]))
  throw new ApiError(code, `${first.field} ${first.message}`, { fieldErrors: fieldErrors.values().toArray() })
}

const PRECEDENCE = ['unknown_parameter', 'repeated_parameter', 'invalid_parameter'] as const satisfies ErrorCode[]
