import type { TSchema } from 'typebox'

/** A text that somebody wrote, or that came with a record: to a reader it is data, whatever it says. */
export interface MarkedText {
  readonly userText: string
}

/**
 * The data without its texts, or with each of them marked. Numbers, flags, instants, days and the values that the contract
 * names are no texts.
 */
export function withoutTexts(schema: TSchema, data: unknown, marked: boolean): unknown {
  return reduce(schema, data, text => (marked ? { userText: text } : undefined))
}

/** What JSON Schema says here; the schemas of the contract are made of no more. */
interface Shape {
  readonly format?: string
  readonly enum?: readonly unknown[]
  readonly examples?: readonly unknown[]
  readonly items?: Shape
  readonly properties?: Readonly<Record<string, Shape>>
  readonly anyOf?: readonly Shape[]
}

function reduce(schema: TSchema, data: unknown, write: (text: string) => MarkedText | undefined): unknown {
  const visit = (shape: Shape | undefined, value: unknown): unknown => {
    const shapes = shape?.anyOf ?? (shape === undefined ? [] : [shape])
    if (typeof value === 'string') return shapes.some(each => isPlain(each, value)) ? value : write(value)
    if (Array.isArray(value)) {
      const items = shapes.find(each => each.items !== undefined)?.items
      return value.map(item => visit(items, item)).filter(item => item !== undefined)
    }
    if (typeof value !== 'object' || value === null) return value
    const properties = shapes.find(each => each.properties !== undefined)?.properties
    const kept = Object.entries(value).map(([name, field]) => [name, visit(properties?.[name], field)] as const)
    // A name that the contract does not have could be a text itself.
    return Object.fromEntries(kept.filter(([name, field]) => field !== undefined && properties?.[name] !== undefined))
  }
  // Schemas are plain JSON Schema.
  return visit(schema as Shape, data)
}

function isPlain({ format, enum: values, examples }: Shape, text: string): boolean {
  if (format === undefined) return (values ?? examples ?? []).includes(text)
  return /^date(-time)?$/.test(format) && /^\d{4}-\d\d-\d\d(T[\d:.]+Z)?$/.test(text)
}
