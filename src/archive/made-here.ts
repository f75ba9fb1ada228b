import { hash } from 'node:crypto'
import { type Kysely, sql } from 'kysely'
import { MINUTE_MS } from '../contract/time.ts'
import type { Tables } from '../store/tables.ts'
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

export type TypedSession = Awaited<ReturnType<typeof listTyped>>[number]

/** The first sessions that somebody typed although the servers of the account seem to have them, the newest first. */
export async function listTyped(db: Kysely<Tables>, accountId: number, limit: number) {
  const lists = await Promise.all(
    (['training-session', 'lock-session'] as const).map(async kind => {
      // `copied` is the one of a server, which began within BESIDE_MINUTES of it.
      const table = sql.table(kind.replace('-', '_'))
      const { rows } = await sql<{ id: number; at: number; copied: number }>`
        select typed.id, typed.at, min(copied.id) as copied
        from ${table} as typed
        join ${table} as copied on copied.owner_id = typed.owner_id and copied.made_here is null
          and copied.at between typed.at - ${BESIDE_MINUTES * MINUTE_MS} and typed.at + ${BESIDE_MINUTES * MINUTE_MS}
        where typed.owner_id = ${accountId} and typed.made_here is not null and exists (
          select 1 from pull_source join pull_row on pull_row.source_id = pull_source.id
          where pull_source.account_id = ${accountId} and pull_row.kind = ${kind} and pull_row.id = copied.id)
        group by typed.id, typed.at order by typed.at desc limit ${limit}`.execute(db)
      return rows.map(row => ({ ...row, kind }))
    }),
  )
  return lists
    .flat()
    .toSorted((a, b) => b.at - a.at)
    .slice(0, limit)
}
