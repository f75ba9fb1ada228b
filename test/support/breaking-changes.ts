import { isDeepStrictEqual } from 'node:util'

/** Compares two OpenAPI documents, of which the first is released: what it says stays true for ever, only additions are allowed. */

/** A line for each change from which a client of the released document would notice more than additions. */
export function breakingChanges(released: ApiDocument, now: ApiDocument): string[] {
  const found: string[] = []
  for (const [path, methods] of Object.entries(released.paths)) {
    for (const [method, before] of Object.entries(methods)) {
      const operation = `${method.toUpperCase()} ${path}`
      const after = now.paths[path]?.[method]
      if (after === undefined) {
        found.push(`${operation} is gone`)
        continue
      }
      const say = (change: string) => found.push(`${operation}: ${change}`)
      const name = (id: string | undefined) => id ?? 'none'
      if (before.operationId !== after.operationId)
        say(`its name ${name(before.operationId)} is now ${name(after.operationId)}`)
      compareScopes(before, after, say)
      compareParameters(new Side(released, before), new Side(now, after), say)
      compareResponses(new Side(released, before), new Side(now, after), say)
    }
  }
  return found
}

type Say = (change: string) => void

/** The parts of an OpenAPI document that are compared. */
export interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, ApiOperation>>>>
  readonly components?: object
}

interface ApiOperation {
  readonly operationId?: string
  readonly security?: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters?: readonly object[]
  readonly responses: Readonly<Record<string, ApiResponse>>
}

interface ApiParameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly schema: ApiSchema
}

interface ApiResponse {
  readonly headers?: Readonly<Record<string, object>>
  readonly content?: Readonly<Record<string, { readonly schema: ApiSchema }>>
}

interface ApiSchema {
  readonly type?: string | readonly string[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly anyOf?: readonly ApiSchema[]
  readonly items?: ApiSchema
  readonly properties?: Readonly<Record<string, ApiSchema>>
  readonly required?: readonly string[]
  readonly format?: string
  readonly pattern?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minLength?: number
}

/** One of the two documents. */
class Side {
  readonly operation: ApiOperation
  readonly #document: ApiDocument

  constructor(document: ApiDocument, operation: ApiOperation) {
    this.#document = document
    this.operation = operation
  }

  /** Follows a reference within the document. */
  resolve<Part extends object>(part: Part): Part {
    if (!('$ref' in part)) return part
    const names = String(part.$ref).split('/').slice(1)
    // A reference leads to a part of the same kind.
    return names.reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], this.#document) as Part
  }

  parameters(): Map<string, ApiParameter> {
    const all = (this.operation.parameters ?? []).map(parameter => this.resolve(parameter) as ApiParameter)
    return new Map(all.map(parameter => [`${parameter.in} parameter ${parameter.name}`, parameter]))
  }
}

/** What let a client in must still do. */
function compareScopes(before: ApiOperation, after: ApiOperation, say: Say) {
  for (const wanted of before.security ?? [{}]) {
    const letsIn = (after.security ?? [{}]).some(needed =>
      Object.entries(needed).every(([scheme, scopes]) =>
        scopes.every(scope => wanted[scheme]?.includes(scope) === true),
      ),
    )
    if (!letsIn) say(`${JSON.stringify(wanted)} is no longer enough`)
  }
}

function compareParameters(before: Side, after: Side, say: Say) {
  const released = before.parameters()
  const now = after.parameters()
  for (const [name, parameter] of released) {
    const same = now.get(name)
    if (same === undefined) say(`${name} is gone`)
    else if (same.required === true && parameter.required !== true) say(`${name} is now required`)
    // Whatever could be sent can still be sent.
    if (same !== undefined) contain(after, same.schema, before, parameter.schema, name, say)
  }
  for (const [name, { required }] of now) {
    if (required === true && !released.has(name)) say(`${name} is new and required`)
  }
}

function compareResponses(before: Side, after: Side, say: Say) {
  for (const [status, response] of Object.entries(before.operation.responses)) {
    const same = after.operation.responses[status]
    if (same === undefined) {
      say(`response ${status} is gone`)
      continue
    }
    const { content = {}, headers = {} } = before.resolve(response)
    const now = after.resolve(same)
    for (const header of Object.keys(headers)) {
      if (now.headers?.[header] === undefined) say(`response ${status} has no ${header}`)
    }
    for (const [type, { schema }] of Object.entries(content)) {
      const sent = now.content?.[type]
      if (sent === undefined) say(`response ${status} is no longer ${type}`)
      // Whatever is sent now could be sent before.
      else contain(before, schema, after, sent.schema, `response ${status}`, say)
    }
  }
}

/** Says how values of the narrow schema do not fit the wide one, but for properties that only the narrow one has. */
function contain(wider: Side, wide: ApiSchema, narrower: Side, narrow: ApiSchema, at: string, say: Say) {
  const allowed = wider.resolve(wide)
  const sent = narrower.resolve(narrow)
  compareOthers(allowed, sent, at, say)
  if (allowed.anyOf !== undefined || sent.anyOf !== undefined) {
    const choices = allowed.anyOf ?? [allowed]
    for (const choice of sent.anyOf ?? [sent]) {
      const tries = choices.map(one => misfits(wider, one, narrower, choice, at))
      if (tries.some(found => found.length === 0)) continue
      // The choice that differs least is the one that was meant.
      const [nearest = []] = tries.toSorted((a, b) => a.length - b.length)
      for (const line of nearest) say(line)
    }
    return
  }
  compareValues(allowed, sent, at, say)
  if (allowed.items !== undefined) {
    if (sent.items === undefined) say(`${at}: its items may be anything`)
    else contain(wider, allowed.items, narrower, sent.items, `${at}[]`, say)
  }
  for (const [name, property] of Object.entries(allowed.properties ?? {})) {
    const same = sent.properties?.[name]
    const isPromised = allowed.required?.includes(name) === true
    if (same === undefined) say(`${at}.${name} is gone`)
    else {
      if (isPromised && sent.required?.includes(name) !== true) say(`${at}.${name} may be missing`)
      contain(wider, property, narrower, same, `${at}.${name}`, say)
    }
  }
}

function misfits(wider: Side, wide: ApiSchema, narrower: Side, narrow: ApiSchema, at: string): string[] {
  const found: string[] = []
  contain(wider, wide, narrower, narrow, at, line => found.push(line))
  return found
}

/** What `contain` compares, and what may change: every other property of a schema stays as it is. */
const COMPARED = /^(type|enum|const|anyOf|items|properties|required|format|pattern|minimum|maximum|minLength)$/
const MAY_CHANGE = /^(description|examples?|deprecated|x-.*)$/

function compareOthers(allowed: ApiSchema, sent: ApiSchema, at: string, say: Say) {
  const [before, after] = [allowed, sent].map(schema => schema as Readonly<Record<string, unknown>>)
  for (const key of new Set([...Object.keys(allowed), ...Object.keys(sent)])) {
    if (COMPARED.test(key) || MAY_CHANGE.test(key) || isDeepStrictEqual(before?.[key], after?.[key])) continue
    say(`${at}: ${key} ${textOf(before?.[key])} and ${textOf(after?.[key])} differ`)
  }
}

function textOf(value: unknown): string {
  return JSON.stringify(value) ?? 'any'
}

function compareValues(allowed: ApiSchema, sent: ApiSchema, at: string, say: Say) {
  const differ = (what: string, from: unknown, to: unknown) =>
    say(`${at}: ${what} ${textOf(from)} and ${textOf(to)} do not fit`)
  const types = typesOf(allowed)
  if (types !== undefined && !(typesOf(sent) ?? ['anything']).every(type => fits(type, types))) {
    differ('types', allowed.type, sent.type)
  }
  const values = valuesOf(allowed)
  const sentValues = valuesOf(sent)
  if (values !== undefined && sentValues?.every(value => values.includes(value)) !== true) {
    differ('values', values, sentValues)
  }
  for (const key of ['format', 'pattern'] as const) {
    if (allowed[key] !== undefined && sentValues === undefined && !isDeepStrictEqual(allowed[key], sent[key])) {
      differ(key, allowed[key], sent[key])
    }
  }
  for (const key of ['minimum', 'minLength'] as const) {
    if (allowed[key] !== undefined && !((sent[key] ?? -Infinity) >= allowed[key])) differ(key, allowed[key], sent[key])
  }
  if (allowed.maximum !== undefined && !((sent.maximum ?? Infinity) <= allowed.maximum)) {
    differ('maximum', allowed.maximum, sent.maximum)
  }
}

function typesOf({ type }: ApiSchema): readonly string[] | undefined {
  return typeof type === 'string' ? [type] : type
}

function fits(type: string, types: readonly string[]): boolean {
  return types.includes(type) || (type === 'integer' && types.includes('number'))
}

function valuesOf(schema: ApiSchema): readonly unknown[] | undefined {
  return 'const' in schema ? [schema.const] : schema.enum
}
