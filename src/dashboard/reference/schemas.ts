import type { OpenApi, Schema } from '../../openapi/types.ts'
import { html, type Html, type Part } from '../html.ts'
import { table } from '../layout/components.ts'
import { inline } from './markdown.ts'

interface Field {
  readonly name: string
  readonly schema: Schema
  readonly isRequired: boolean
}

/** A table of the fields of a schema; those of objects inside it have a path, such as `total.sessions`. */
export function fieldTable(name: string, schema: Schema): Html {
  return table<Field>(
    name,
    [
      { title: 'Field', cell: field => html`<code>${field.name}</code>` },
      { title: 'Type', cell: field => html`${typeText(field.schema)}${field.isRequired ? null : ', may be absent'}` },
      { title: 'Meaning', cell: field => inline(field.schema.description ?? '') },
    ],
    fieldsOf(schema, ''),
  )
}

/** The type of a value in words, with links to named schemas, which stand on the same page. */
export function typeText(schema: Schema): Part {
  const { $ref, anyOf, enum: values, items, type, format } = schema
  if ($ref !== undefined) return html`<a href="#${schemaName($ref)}">${schemaName($ref)}</a>`
  if (anyOf !== undefined) return joinParts(anyOf.map(one => typeText(one)))
  if (values !== undefined)
    return joinParts(
      values.map(value => html`<code>${String(value)}</code>`),
      ', ',
    )
  if (schema.const !== undefined) return html`<code>${String(schema.const)}</code>`
  if (items !== undefined) return html`array of ${typeText(items)}`
  const names = [type ?? 'any'].flat().join(' or ')
  const details = [...(format === undefined || format === 'int64' ? [] : [format]), ...bounds(schema)]
  return details.length === 0 ? names : `${names} (${details.join(', ')})`
}

/** The named schemas that a part of the document refers to, directly or through others. */
export function schemasIn(part: object, api: OpenApi, found = new Set<string>()): ReadonlySet<string> {
  const text = JSON.stringify(part)
  for (const [, name = ''] of text.matchAll(/"#\/components\/schemas\/(\w+)"/g)) {
    const schema = api.components.schemas[name]
    if (schema === undefined || found.has(name)) continue
    found.add(name)
    schemasIn(schema, api, found)
  }
  return found
}

function schemaName(ref: string): string {
  return ref.slice(ref.lastIndexOf('/') + 1)
}

function fieldsOf({ properties = {}, required = [] }: Schema, path: string): Field[] {
  return Object.entries(properties).flatMap(([key, schema]) => {
    const name = `${path}${key}`
    const isArray = schema.items !== undefined
    return [
      { name, schema, isRequired: required.includes(key) },
      ...fieldsOf(schema.items ?? schema, `${name}${isArray ? '[]' : ''}.`),
    ]
  })
}

function joinParts(parts: readonly Part[], separator = ' or '): Part {
  return parts.flatMap((part, index) => (index === 0 ? [part] : [separator, part]))
}

function bounds({ minimum, maximum }: Schema): string[] {
  const highest = maximum === Number.MAX_SAFE_INTEGER ? undefined : maximum
  if (minimum === undefined) return highest === undefined ? [] : [`up to ${highest}`]
  return [highest === undefined ? `${minimum} or more` : `${minimum} to ${highest}`]
}
