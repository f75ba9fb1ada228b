import type { TSchema } from 'typebox'

/**
 * The data without its texts, or with each of them as `{ userText }`, which tells an assistant that it is data and no
 * instruction. Numbers, flags, instants, days and the values that the contract names are not texts.
 */
export function guardTexts(schema: TSchema, data: unknown, shown: boolean): unknown {
  return visit(schema, data, text => (shown ? { userText: text } : undefined))
}

/** The keywords of JSON Schema that the contract uses and that matter here. */
interface Shape {
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly anyOf?: readonly Shape[]
}

function visit(shape: Shape, value: unknown, guard: (text: string) => unknown): unknown {
  const shapes = shape.anyOf ?? [shape]
  if (typeof value === 'string') return shapes.some(each => isPlain(each, value)) ? value : guard(value)
  if (Array.isArray(value)) {
    const { items = {} } = shapes.find(each => each.items !== undefined) ?? {}
    return value.map(item => visit(items, item, guard)).filter(item => item !== undefined)
  }
  if (typeof value !== 'object' || value === null) return value
  const { properties = {} } = shapes.find(each => each.properties !== undefined) ?? {}
  // A field that the contract does not have is left out, because its name could be a text.
  const fields = Object.entries(properties).flatMap(([name, field]) => {
    const guarded = name in value ? visit(field, Reflect.get(value, name), guard) : undefined
    return guarded === undefined ? [] : [[name, guarded] as const]
  })
  return Object.fromEntries(fields)
}

function isPlain({ format, enum: values, examples }: Shape, text: string): boolean {
  if (format === undefined) return (values ?? examples ?? []).includes(text)
  return /^date(-time)?$/.test(format) && /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text)
}
