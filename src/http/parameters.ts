import type { Endpoint } from '../contract/endpoint.ts'
import { ApiError, type ErrorCode, type FieldError } from '../contract/errors.ts'
import { allowedNamesRule, id as idParameter, REPEATED_RULE } from '../contract/parameters.ts'
import { decode } from './target.ts'

/** A query as name and value pairs, percent-decoded. A plus sign is a plus sign; only & separates. */
export type Query = readonly (readonly [name: string, value: string])[]

export function parseQuery(query: string): Query {
  if (query === '') return NOTHING
  const pairs: [string, string][] = []
  for (const pair of query.split('&')) {
    if (pair === '') continue
    const equals = pair.indexOf('=')
    pairs.push(equals === -1 ? [decode(pair), ''] : [decode(pair.slice(0, equals)), decode(pair.slice(equals + 1))])
  }
  return pairs
}

/**
 * What an endpoint is asked: every parameter it has, parsed. Throws one ApiError that names all that is wrong; an
 * unknown name is not repeated, the ones allowed are.
 */
export function readParameters(endpoint: Endpoint, query: Query, id: string | undefined): Record<string, unknown> {
  const parameters = endpoint.query
  const asked: Record<string, unknown> = {}
  for (const name in parameters) asked[name] = parameters[name]?.defaultValue
  const found = new Findings()

  if (id !== undefined) {
    asked['id'] = PATH_ID.parse(id)
    if (asked['id'] === undefined) found.add('invalid_parameter', 'id', PATH_ID.rule)
  }
  const seen = new Set<string>()
  for (const [name, value] of query) {
    const parameter = Object.hasOwn(parameters, name) ? parameters[name] : undefined
    if (parameter === undefined) {
      found.add('unknown_parameter', 'query', allowedNamesRule(Object.keys(parameters)))
    } else if (seen.has(name)) {
      found.add('repeated_parameter', name, REPEATED_RULE)
    } else {
      seen.add(name)
      asked[name] = parameter.parse(value)
      if (asked[name] === undefined) found.add('invalid_parameter', name, parameter.rule)
    }
  }
  const together = endpoint.check(asked, name => found.has(name))
  for (const { field, message } of together) found.add('invalid_parameter', field, message)
  found.throwIfAny()
  return asked
}

const NOTHING: Query = []
const PATH_ID = idParameter('')

/** The worst code speaks for all; each field is told once for each reason. */
class Findings {
  readonly #errors: FieldError[] = []
  #code: (typeof PRECEDENCE)[number] | undefined
  #text = ''

  add(code: (typeof PRECEDENCE)[number], field: string, message: string) {
    if (this.#errors.some(error => error.field === field && error.message === message)) return
    this.#errors.push({ field, message })
    if (this.#code !== undefined && PRECEDENCE.indexOf(this.#code) <= PRECEDENCE.indexOf(code)) return
    this.#code = code
    this.#text = `${field} ${message}`
  }

  has(field: string): boolean {
    return this.#errors.some(error => error.field === field)
  }

  throwIfAny() {
    if (this.#code !== undefined) throw new ApiError(this.#code, this.#text, { fieldErrors: this.#errors })
  }
}

const PRECEDENCE = ['unknown_parameter', 'repeated_parameter', 'invalid_parameter'] as const satisfies ErrorCode[]
