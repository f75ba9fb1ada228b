import { hash } from 'node:crypto'

/** A record as the source shows it, in a list or by itself. */
export type SourceData = Readonly<Record<string, unknown>>

export interface SourceRow {
  /** Undefined where the row has none that could be one. */
  readonly id: number | undefined
  readonly data: SourceData
  /** Tells whether two rows are the same, field by field. */
  readonly form: string
}

export function isObject(value: unknown): value is SourceData {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

export function rowOf(value: unknown): SourceRow {
  const data = isObject(value) ? value : {}
  return { id: idOf(data['id']), data, form: hash('sha256', JSON.stringify(value), 'base64url').slice(0, 22) }
}

export function idOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : undefined
}

/**
 * Milliseconds since 1970 of an instant as sources write it: with any number of digits, with or without a zone.
 * Undefined where it cannot be read.
 */
export function instantOf(value: unknown): number | undefined {
  if (typeof value !== 'string') return undefined
  const parts = INSTANT.exec(value)
  if (parts === null) return undefined
  const [, date, time, milliseconds = '', zone = 'Z'] = parts
  const instant = Date.parse(`${date}T${time}${milliseconds.slice(0, 4)}${zone}`)
  return Number.isNaN(instant) ? undefined : instant
}

const INSTANT = /^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d:\d\d)(\.\d+)?([Zz]|[+-]\d\d:\d\d)?$/
