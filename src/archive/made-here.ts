import { hash } from 'node:crypto'
import { InvalidError } from './faults.ts'
import type { Cell } from './kind.ts'
import { isObject, type JsonObject } from './values.ts'

/** What is kept beside a record that a table made. */
export interface MadeHere {
  /** In which it began, as the table writes it. */
  readonly minute: string
  /** The name of its program, if no program has it. */
  readonly program?: string
}

/** The mark of a record that a table made, as JSON; null for other records. Throws InvalidError. */
export function madeHereText({ madeHere = null }: JsonObject): string | null {
  if (madeHere === null) return null
  const { minute, program, ...others } = isObject(madeHere) ? madeHere : {}
  const isKnown = isMinute(minute) && Object.keys(others).length === 0
  const isNamed = program === undefined || (typeof program === 'string' && isProgramName(program))
  if (!isKnown || !isNamed) throw new InvalidError('must have a minute, and may have a program', 'madeHere')
  return JSON.stringify({ minute, program })
}

/** Within so many minutes a session that a table made, and one that none made, may be the same. */
export const BESIDE_MINUTES = 15

export function isMinute(text: unknown): text is string {
  return typeof text === 'string' && MINUTE.test(text)
}

const MINUTE = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?:Z|[+-]\d\d:\d\d)?$/

/** What `madeHereText` wrote. */
export function parseMadeHere(text: Cell = null): MadeHere | undefined {
  return text === null ? undefined : (JSON.parse(String(text)) as MadeHere)
}

export function isProgramName(name: string): boolean {
  return name !== '' && name.length <= MAX_PROGRAM_NAME && !name.includes('\0') && name.isWellFormed()
}

export const MAX_PROGRAM_NAME = 200

/** What names of programs have in common that mean the same one. */
export function programKey(name: string): string {
  return name.trim().normalize('NFC').toLowerCase()
}

/** Stands for the number of a program of which only the name is known, so that its sessions can be found. No server gives such numbers. */
export function numberOfName(name: string): number {
  return MOST_NUMBER_OF_NAME - hash('sha256', programKey(name), 'buffer').readUIntBE(0, 5)
}

export const MOST_NUMBER_OF_NAME = -1e12
