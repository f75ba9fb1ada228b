import { parseInstant } from '../contract/time.ts'
import { type Faults, InvalidError } from './faults.ts'
import type { Notes } from './notes.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Checks for an integer within bounds that is exact in JSON. `path` is where it occurs. Throws InvalidError. */
export function checkInteger(
  value: unknown,
  { minimum = MIN_INTEGER, maximum = MAX_INTEGER }: Bounds = {},
  path = '',
): number {
  if (typeof value === 'number' && Number.isInteger(value) && value >= minimum && value <= maximum) return value
  if (typeof value === 'number' && Math.abs(value) > MAX_INTEGER) throw new InvalidError(TOO_LARGE, path)
  const bounds =
    maximum < MAX_INTEGER ? ` from ${minimum} to ${maximum}` : minimum > MIN_INTEGER ? ` of ${minimum} or more` : ''
  throw new InvalidError(`must be an integer${bounds}`, path)
}

interface Bounds {
  readonly minimum?: number | undefined
  readonly maximum?: number | undefined
}

const MIN_INTEGER = Number.MIN_SAFE_INTEGER
export const MAX_INTEGER = Number.MAX_SAFE_INTEGER
export const TOO_LARGE = `must be from -${MAX_INTEGER} to ${MAX_INTEGER}, because larger numbers are not exact in JSON`

export function roundHalfAway(value: number): number {
  return Math.sign(value) * Math.round(Math.abs(value))
}

/** Parses an instant, also with digits beyond milliseconds, or without a zone, which means UTC. Throws InvalidError. */
export function readInstant(value: unknown, notes?: Notes): number {
  const parsed = typeof value === 'string' ? parseInstant(value) : undefined
  if (parsed === undefined) throw new InvalidError('must be an existing RFC 3339 date-time')
  if (!parsed.hasZone) notes?.leniencies.push('no-zone')
  if (parsed.isCut) notes?.leniencies.push('beyond-milliseconds')
  return parsed.instant
}

/** Refuses text that not every reader can store. */
export function checkText(text: string): string {
  if (text.includes('\0')) throw new InvalidError('must not contain NUL')
  if (!text.isWellFormed()) throw new InvalidError('must not contain lone surrogates')
  return text
}

/** Notes fields that the schema does not have, after checking their names and values. */
export function noteUnknown(value: JsonObject, known: ReadonlySet<string>, notes: Notes, faults: Faults, depth = 2) {
  for (const [name, item] of Object.entries(value)) {
    if (known.has(name)) continue
    faults.collect(() => {
      checkUnknown(name, item, depth + 1)
      notes.addUnknown(name, item)
    })
  }
}

/** Refuses names and values, at any depth, that not every reader can parse or store. Throws InvalidError. */
export function checkUnknown(name: string, value: unknown, depth: number) {
  if (name === '__proto__') throw new InvalidError('must not have a field named __proto__')
  checkText(name)
  if (typeof value === 'string') checkText(value)
  else if (typeof value === 'number' && Math.abs(value) > MAX_INTEGER)
    throw new InvalidError(`has a number that ${TOO_LARGE}`)
  else if (typeof value === 'object' && value !== null) {
    if (depth > MAX_DEPTH) throw new InvalidError(`must not be nested more than ${MAX_DEPTH} deep`)
    for (const [key, item] of Object.entries(value)) checkUnknown(key, item, depth + 1)
  }
}

const MAX_DEPTH = 32
