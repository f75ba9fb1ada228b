import { hash } from 'node:crypto'
import { isObject } from '../archive/values.ts'
import { parseInstant } from '../contract/time.ts'

/** A record as the source sends it, in a list or by itself. */
export type SourceData = Readonly<Record<string, unknown>>

export interface SourceRow {
  /** Undefined if the row has no valid id. */
  readonly id: number | undefined
  readonly data: SourceData
  /** A hash of the row as it was sent: rows with the same form are equal. */
  readonly form: string
}

export function sourceRow(value: unknown): SourceRow {
  const data = isObject(value) ? value : {}
  return { id: idOf(data['id']), data, form: hash('sha256', JSON.stringify(value), 'base64url').slice(0, 22) }
}

export function idOf(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 1 ? value : undefined
}

/** An instant in milliseconds since 1970; undefined if there is none. */
export function instantOf(value: unknown): number | undefined {
  return typeof value === 'string' ? parseInstant(value)?.instant : undefined
}
