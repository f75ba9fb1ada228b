import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { errors } from '../src/contract/errors.ts'
import { API_VERSION, makeDocument } from './openapi/document.ts'

/**
 * The typed client for other projects, as JavaScript and as declarations that import nothing: src/client.ts with the types
 * of the contract written out, compiled.
 */
export function generateClientFiles(): { readonly path: string; readonly text: string }[] {
  const folder = mkdtempSync(join(tmpdir(), 'lockstep-client-'))
  try {
    writeFileSync(join(folder, 'client.ts'), `${contractTypes()}\n${withoutImports(readFileSync(client, 'utf8'))}`)
    writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
    const { status, stdout } = spawnSync(process.execPath, [tsc, ...flags, 'client.ts'], {
      cwd: folder,
      encoding: 'utf8',
    })
    if (status !== 0) throw new Error(`the client does not compile:\n${stdout}`)
    return ['client.js', 'client.d.ts'].map(name => ({
      path: join(root, 'src/openapi', name),
      text: `${NOTICE}\n${readFileSync(join(folder, name), 'utf8')}`,
    }))
  } finally {
    rmSync(folder, { recursive: true })
  }
}

const root = join(import.meta.dirname, '..')
const client = join(root, 'src/client.ts')
const tsc = join(root, 'node_modules/typescript/bin/tsc')
const NOTICE = `// The typed client of Lockstep ${API_VERSION}. Generated: copy client.js and client.d.ts into one folder of your project.`
const flags =
  '--target es2022 --module nodenext --lib es2024,dom,dom.asynciterable --strict --exactOptionalPropertyTypes --useDefineForClassFields false --declaration'.split(
    ' ',
  )

/** The types that the client imports, which a copy of it cannot. */
function contractTypes(): string {
  // The document is plain JSON of this shape.
  const { components, paths } = makeDocument() as unknown as Document
  const { FieldError, ...schemas } = { ...components.schemas, FieldError: fieldErrorOf(components.schemas) }
  const records = Object.entries({ ...schemas, FieldError })
    .filter(([name]) => name !== 'Error')
    .map(([name, schema]) => `${comment(schema.description)}export interface ${name} ${typeOf(schema)}\n`)
  const codes = Object.keys(errors).map(code => `  | '${code}'`)
  const endpoints = Object.entries(paths)
    .filter(([path]) => path.startsWith('/api/'))
    .map(([path, { get }]) => endpointType(path, get))
  return `${records.join('\n')}
/** What an error is; see \`LockstepError\`. */
export type ErrorCode =
${codes.join('\n')}

/** What a caller of each path passes and receives; \`item\` is a record of a list. */
export interface Endpoints {
${endpoints.join('\n')}
}
`
}

function endpointType(path: string, { summary, parameters, responses }: Operation): string {
  const params = Object.fromEntries(parameters.flatMap(({ name, schema }) => (name ? [[name, schema]] : [])))
  const required = parameters.flatMap(parameter => (parameter.required === true ? [parameter.name] : []))
  const data = responses[200]?.content['application/json'].schema.properties?.['data'] ?? {}
  const item = data.properties?.['pagination'] === undefined ? undefined : data.properties['data']?.items
  const fields = [
    `params: ${typeOf({ type: 'object', properties: params, required })}`,
    `data: ${typeOf(data)}`,
    `item: ${item === undefined ? 'never' : typeOf(item)}`,
  ]
  return `${comment(summary)}'${path.replace('{id}', ':id')}': {\n${fields.join('\n')}\n}`
}

/** The type of a value of this schema. */
function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.replace('#/components/schemas/', '')
  if (schema.const !== undefined) return JSON.stringify(schema.const)
  if (schema.enum !== undefined) return schema.enum.map(value => JSON.stringify(value)).join(' | ')
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' | ')
  if (Array.isArray(schema.type)) return schema.type.map(type => typeOf({ ...schema, type })).join(' | ')
  if (schema.type === 'array') return `(${typeOf(schema.items ?? {})})[]`
  if (schema.type === 'object') {
    const fields = Object.entries(schema.properties ?? {}).map(
      ([name, field]) =>
        `${comment(field.description)}${name}${schema.required?.includes(name) === true ? '' : '?'}: ${typeOf(field)}`,
    )
    return fields.length === 0 ? '{}' : `{\n${fields.join('\n')}\n}`
  }
  const plain = typeof schema.type === 'string' ? PLAIN_TYPES[schema.type] : undefined
  if (plain === undefined) throw new Error(`no type for ${JSON.stringify(schema)}`)
  return plain
}

const PLAIN_TYPES: Readonly<Record<string, string>> = {
  string: 'string',
  integer: 'number',
  number: 'number',
  boolean: 'boolean',
  null: 'null',
}

/** What is wrong with one parameter, as errors list it. */
function fieldErrorOf(schemas: Readonly<Record<string, Schema>>): Schema {
  const { items } = schemas['Error']?.properties?.['fieldErrors'] ?? {}
  if (items === undefined) throw new Error('errors list no errors of fields')
  return { description: 'What is wrong with a parameter.', ...items }
}

function comment(text: string | undefined): string {
  return text === undefined ? '' : `/** ${text} */\n`
}

function withoutImports(code: string): string {
  return code.replaceAll(/^import type .*\n/gm, '')
}

interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
  readonly items?: Schema
  readonly anyOf?: readonly Schema[]
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly $ref?: string
}

interface Operation {
  readonly summary: string
  readonly parameters: readonly { readonly name: string; readonly required?: boolean; readonly schema: Schema }[]
  readonly responses: Readonly<
    Record<string, { readonly content: { readonly 'application/json': { schema: Schema } } }>
  >
}

interface Document {
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
  readonly paths: Readonly<Record<string, { readonly get: Operation }>>
}
