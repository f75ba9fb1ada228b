import { hash } from 'node:crypto'

/** A record as the source sends it, in a list or by itself. */
export type SourceData = Readonly<Record<string, unknown>>

export interface SourceRow {
  /** Undefined if the row has no valid id. */
  readonly id: number | undefined
  readonly data: SourceData
  /** A hash of the row as it was sent: rows with the same form are equal. */
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
 * Parses an instant into milliseconds since 1970, with any number of digits, with or without a zone. Undefined if it is
 * invalid.
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
