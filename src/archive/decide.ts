import type { Kind, MergeOptions, Row } from './kind.ts'
import { ID_TAKEN, type OnConflict, reasonForOwner } from './report.ts'

/** What becomes of a row. One that repeats or contradicts an earlier line, or is invalid, is decided by the file alone. */
export type Decided =
  | (typeof WRITTEN)[number]
  | 'unchanged'
  | 'skipped'
  | 'deleted'
  | 'refused'
  | 'repeated'
  | 'contradicts'
  | 'invalid'

/** The decisions after which the row is written. A refreshed record has newer extra fields, or a newer `as_of`, and the same content. */
export const WRITTEN = ['added', 'replaced', 'refreshed'] as const

export interface Decision {
  readonly decided: Decided
  /** The row completed with values of the stored one, if its line lacks some. */
  readonly merged?: Row | undefined
  readonly reason?: string
}

export interface DecideOptions extends MergeOptions {
  readonly onConflict: OnConflict
  /** Rows are only stored for this account, whose reader is not told what others have. */
  readonly onlyAccount?: number | undefined
}

/** What is known of the accounts that a row names. */
export interface Names {
  /** Whether one of them was removed here. */
  readonly removed: boolean
  /** Whether its owner deleted the record that the row is. */
  readonly deleted: boolean
  /** The columns whose accounts neither the file nor the store has. */
  readonly unknown: readonly string[]
}

/** Decides what becomes of a row, given the stored row with the same key. */
export function decide(
  kind: Kind,
  incoming: Row,
  stored: Row | undefined,
  { names, ...options }: DecideOptions & { readonly names: Names },
): Decision {
  const { onConflict, isArchive, onlyAccount } = options
  if (names.removed) return refused(REMOVED)
  if (names.deleted) return { decided: 'deleted' }
  const mayMove = !kind.isOwned || (isArchive && onlyAccount === undefined)
  if (stored !== undefined && !mayMove && stored['owner_id'] !== incoming['owner_id']) {
    return refused(onlyAccount === undefined ? ID_TAKEN : reasonForOwner(ID_TAKEN))
  }
  if ((stored?.['made_here'] ?? null) !== null && (incoming['made_here'] ?? null) === null) return refused(MADE_HERE)
  const changes = stored === undefined ? {} : (kind.merge?.(incoming, stored, options) ?? {})
  const merged = Object.keys(changes).length === 0 ? undefined : { ...incoming, ...changes }
  const row = merged ?? incoming
  const isOther = stored !== undefined && differs(contentOf(kind), row, stored)
  const reasons = [...(isOther && onConflict === 'fail' ? [CONFLICTS] : []), ...names.unknown.map(nobody)]
  if (reasons.length > 0) return refused(reasons.join('; '))
  if (stored === undefined) return { decided: 'added' }
  if (isOther) return { decided: onConflict === 'skip' ? 'skipped' : 'replaced', merged }
  return { decided: isNewer(row, stored) ? 'refreshed' : 'unchanged', merged }
}

function refused(reason: string): Decision {
  return { decided: 'refused', reason }
}

/** The columns of what a record says. A damaged document has the hash of the whole one. */
function contentOf({ identity, columns }: Kind): readonly string[] {
  return columns.includes('document') ? [...identity, 'document'] : identity
}

export function differs(columns: readonly string[], row: Row, other: Row): boolean {
  return columns.some(column => (row[column] ?? null) !== (other[column] ?? null))
}

/** Whether a row with the same content has other extra fields or a newer `as_of`. */
function isNewer({ extra = null, as_of: asOf = null }: Row, stored: Row): boolean {
  if (extra !== null && extra !== stored['extra']) return true
  return asOf !== null && Number(asOf) > Number(stored['as_of'] ?? -Infinity)
}

const CONFLICTS = 'is a record that the store has with other content (see --on-conflict)'
const MADE_HERE = 'a record that was made here has this number'
const REMOVED = 'is of an account that was removed here: account add --id allows it to come back'

function nobody(column: string): string {
  return `${FIELDS[column] ?? column} is of no account in the file or here: add one with this id first (account add --id)`
}

/** The fields of a line, by their columns. */
const FIELDS: Readonly<Record<string, string>> = { owner_id: 'ownerId', partner_id: 'partnerId' }
