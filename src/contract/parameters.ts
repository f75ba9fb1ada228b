import type { TSchema } from 'typebox'
import * as Type from 'typebox'
import { DAY_MS, parseDay, parseTimestamp, parseDate, isTimeZone } from './time.ts'
import { decodeCursor, type Position } from './cursor.ts'

/**
 * A query or path parameter: what callers may send (`schema`, for the reference and the client), and how the server
 * parses it. `parse` returns undefined for text that is out of syntax or bounds; `rule` completes "limit …".
 */
export interface Parameter<Sent = unknown, Parsed = unknown, Default = unknown> {
  readonly schema: TSchema
  readonly description: string
  readonly rule: string
  readonly parse: (text: string) => Parsed | undefined
  /** What a handler receives when nothing was sent; undefined if it is missing. */
  readonly defaultValue?: Default
  /** The parameter that this one is another name for. */
  readonly aliasOf?: string
  /** Type only: what a typed client passes. */
  readonly sent?: Sent
}

export type Parameters = Readonly<Record<string, Parameter>>

/** What a caller of the client may pass for these parameters. */
export type Sent<P extends Parameters> = { [K in keyof P]?: P[K] extends Parameter<infer S> ? S : never }

/** What a handler receives. An alias arrives under the name it stands for. */
export type Parsed<P extends Parameters> = {
  [K in keyof P as P[K] extends Alias ? never : K]: P[K] extends Parameter<unknown, infer V, infer A>
    ? Exclude<V, typeof CALLER> | A
    : never
}

/**
 * Canonical decimal: no sign, space, fraction, exponent, leading zero or other digits. Numbers beyond the safe integers
 * are returned inexact: they exceed every bound, and no row has such an identifier.
 */
function parseInteger(text: string): number | undefined {
  return CANONICAL_INTEGER.test(text) ? Number(text) : undefined
}

/** Stands for identifiers beyond the safe integers, which are well-formed; no row has it. */
const NOBODY = 0

export function parseId(text: string): number | undefined {
  const value = parseInteger(text)
  if (value === undefined || value < 1) return undefined
  return Number.isSafeInteger(value) ? value : NOBODY
}

/** Completes the message about a parameter that a query has twice, after its name. */
export const REPEATED_RULE = 'must not be given more than once'

/** Completes "query …" if the query has a name that is none of these. */
export function allowedNamesRule(names: readonly string[]): string {
  return names.length === 0 ? 'must be empty: there are no parameters here' : `may only have ${names.join(', ')}`
}

/** Stands for the account of the caller until that is known. */
export const CALLER = Symbol('caller')

interface Alias {
  readonly aliasOf: string
}

/** The parameters that name an account: `ownerId`, and the other name that clients use for it. */
function ownerParameters(description: string) {
  const ownerId: Parameter<number | 'me', number | typeof CALLER, undefined> = {
    schema: Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('me')]),
    description: `${description} \`me\` is the caller.`,
    rule: 'must be an integer of 1 or more, or me',
    parse: text => (text === 'me' ? CALLER : parseId(text)),
  }
  const targetUserId: Parameter<number | 'me', number | typeof CALLER, undefined> & Alias = {
    ...ownerId,
    description: 'A deprecated name of `ownerId`. Send only one of the two.',
    aliasOf: 'ownerId',
  }
  return { ownerId, targetUserId }
}

export const ownerFilter = ownerParameters(
  'Only records of this account: the caller, or an account that gave the caller access.',
)

export const ownerOrCaller = ownerParameters(
  'The account: the caller (the default), or an account that gave the caller access.',
)

export const id = (description: string): Parameter<number, number, undefined> => ({
  schema: Type.Integer({ minimum: 1 }),
  description,
  rule: 'must be an integer of 1 or more',
  parse: parseId,
})

export const integer = <const Default extends number | undefined>(
  description: string,
  bounds: { minimum: number; maximum: number; default?: number },
  defaultValue: Default,
): Parameter<number, number, Default> => ({
  defaultValue,
  schema: Type.Integer(bounds),
  description,
  rule: `must be an integer from ${bounds.minimum} to ${bounds.maximum}`,
  parse: text => {
    const value = parseInteger(text)
    return value !== undefined && value >= bounds.minimum && value <= bounds.maximum ? value : undefined
  },
})

export const flag = (description: string): Parameter<boolean, boolean, undefined> => ({
  schema: Type.Boolean(),
  description,
  rule: 'must be true or false',
  parse: text => (text === 'true' ? true : text === 'false' ? false : undefined),
})

export const text = (description: string): Parameter<string, string, undefined> => ({
  schema: Type.String({ minLength: 1 }),
  description,
  rule: 'must not be empty',
  parse: value => (value === '' ? undefined : value),
})

export const choice = <const Value extends string>(
  description: string,
  value: Value,
): Parameter<Value, Value, undefined> => ({
  schema: Type.Enum([value], { type: 'string' }),
  description,
  rule: `must be ${value}`,
  parse: sent => (sent === value ? value : undefined),
})

/** One of some values; the first is what a handler receives when nothing was sent. */
export const option = <const Value extends string>(
  description: string,
  values: readonly [Value, ...Value[]],
): Parameter<Value, Value, Value> => ({
  defaultValue: values[0],
  schema: Type.Enum([...values], { type: 'string', default: values[0] }),
  description,
  rule: `must be ${values.slice(0, -1).join(', ')} or ${values.at(-1)}`,
  parse: sent => values.find(value => value === sent),
})

/** A day of the calendar, as days since 1970-01-01. */
export const day = (description: string): Parameter<string, number, undefined> => ({
  schema: Type.String({ format: 'date', examples: ['2026-02-16'] }),
  description,
  rule: 'must be a date (YYYY-MM-DD) of the years 1 to 9998',
  parse: value => {
    const parsed = parseDate(value)
    // In every time zone, the day begins and ends in a year of four digits.
    return parsed !== undefined && /^(?!0000|9999)/.test(value) ? parsed : undefined
  },
})

export const zoneParameter: Parameter<string, string, undefined> = {
  schema: Type.String({ examples: ['Europe/Berlin'] }),
  description: 'The time zone of days and weeks. By default that of the caller in Settings, or UTC.',
  rule: 'must be the name of a time zone as the IANA data has it, such as Europe/Berlin',
  parse: value => (isTimeZone(value) ? value : undefined),
}

/** Where a range of time ends: the first instant after it, and whether a whole day was named. */
export interface End {
  readonly before: number
  readonly isDay: boolean
}

const moment = {
  schema: Type.String({ examples: ['2026-02-16', '2026-02-16T18:00:00Z'] }),
  rule: 'must be a date (YYYY-MM-DD) or an RFC 3339 date-time',
}

/** Where a range of time starts, inclusive; a day stands for its start. */
export const from: Parameter<string, number, undefined> = {
  ...moment,
  description: 'Only records from this instant or day on (inclusive). A day is a UTC day.',
  parse: value => parseDay(value) ?? parseTimestamp(value),
}

export const to: Parameter<string, End, undefined> = {
  ...moment,
  description: 'Only records before this instant, or up to the end of this day (UTC).',
  parse: value => {
    const day = parseDay(value)
    if (day !== undefined) return { before: day + DAY_MS, isDay: true }
    const before = parseTimestamp(value)
    return before === undefined ? undefined : { before, isDay: false }
  },
}

/** Where the next page of a list starts: empty for the first page, else the `nextCursor` of the page before. */
export const cursor = (description: string): Parameter<string, Position | 'start', undefined> => ({
  schema: Type.String(),
  description,
  rule: 'must be empty or a nextCursor of this path with these filters',
  parse: value => (value === '' ? 'start' : decodeCursor(value)),
})

const CANONICAL_INTEGER = /^(?:0|[1-9][0-9]*)$/
