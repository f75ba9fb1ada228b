import type { TProperties, TSchema } from 'typebox'
import * as Type from 'typebox'

/** The value types of the wire format. A schema is plain JSON Schema; `description` is what the reference shows. */

/** The identifier of a record: 1 or more, and small enough for JSON readers to represent it exactly. */
export const Id = (description: string) => Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

export const Integer = (description: string, bounds: { minimum?: number; maximum?: number } = {}) =>
  Type.Integer({
    description,
    minimum: Number.MIN_SAFE_INTEGER,
    maximum: Number.MAX_SAFE_INTEGER,
    ...bounds,
  })

export const Decimal = (description: string) => Type.Number({ description })

export const Flag = (description: string) => Type.Boolean({ description })

export const Text = (description: string) => Type.String({ description })

/** An instant, always sent as UTC: `2026-02-16T18:00:00Z`, with milliseconds only when they are not zero. */
export const Timestamp = (description: string) =>
  Type.String({ description, format: 'date-time', examples: ['2026-02-16T18:00:00Z'] })

/** Text with values known today. The set is open: a reader must expect values it does not know. */
export const OpenText = (description: string, known: readonly string[]) =>
  Type.String({
    description: `${description} Known values: ${known.map(value => `\`${value}\``).join(', ')}. The set is open: expect values that are not listed here.`,
    examples: [...known],
  })

/** One of a closed set of values; an import refuses any other. */
export const Choice = <const Values extends string[]>(description: string, values: Values) =>
  Type.Enum(values, { type: 'string', description })

export const nullable = <Schema extends TSchema>(schema: Schema) => {
  const { description, ...inner } = schema as Schema & { description?: string }
  return Type.Union([inner as unknown as Schema, Type.Null()], description === undefined ? {} : { description })
}

/** Present only when the source of the record had it. */
export const whenKnown = <Schema extends TSchema>(schema: Schema) => Type.Optional(schema)

/** An object whose keys are sent in the order written here. */
export const record = <Properties extends TProperties>(description: string, properties: Properties) =>
  Type.Object(properties, { description, additionalProperties: false })

export const list = <Item extends TSchema>(description: string, item: Item) => Type.Array(item, { description })

export const ZoneName = Text('The time zone of days and weeks: as it was sent, else that of the caller.')

export const AsOf = nullable(
  Timestamp('Up to when the records are known, rounded down to the full hour; null if that is not known.'),
)
