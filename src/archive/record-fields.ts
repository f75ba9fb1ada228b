import { InvalidError } from './faults.ts'
import { checkInteger, type JsonObject, readInstant } from './values.ts'
import type { Notes } from './notes.ts'

export function identifier(data: JsonObject, field: string): number {
  if (data[field] === undefined) throw new InvalidError('is missing', field)
  return checkInteger(data[field], { minimum: 1 }, field)
}

export function optionalInteger(data: JsonObject, field: string): number | null {
  const value = data[field] ?? null
  return value === null ? null : checkInteger(value, {}, field)
}

export function optionalInstant(data: JsonObject, field: string, notes?: Notes): number | null {
  const value = data[field] ?? null
  if (value === null) return null
  try {
    return readInstant(value, notes)
  } catch (error) {
    throw error instanceof InvalidError ? new InvalidError('must be an RFC 3339 date-time or null', field) : error
  }
}

/** Fills in 0 for counts that the source does not know. */
export function zeroes(data: JsonObject, names: readonly string[]): JsonObject {
  return Object.fromEntries(names.map(name => [name, data[name] ?? 0]))
}

// The functions below read fields that a writer has checked.

export function whole(data: JsonObject, field: string): number {
  return Number(data[field])
}

export function instant(data: JsonObject, field: string): number {
  return readInstant(data[field])
}

export function text(data: JsonObject, field: string): string {
  const value = data[field]
  return typeof value === 'string' ? value : ''
}

export function flag(data: JsonObject, field: string): number {
  return data[field] === true ? 1 : 0
}

export function owned(data: JsonObject) {
  return { id: whole(data, 'id'), owner_id: whole(data, 'ownerId') }
}
