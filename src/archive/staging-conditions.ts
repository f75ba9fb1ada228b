import type { Kind } from './kind.ts'

/** Conditions on a staged row, which is called incoming, in the SQL of both engines. */

export function isRemoved(column: string): string {
  return `exists (select 1 from removed_account as removed where removed.id = incoming.${column})`
}

export function isTaken(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and stored.owner_id <> incoming.owner_id)`
}

/** Whether a row has the same content, but newer extra fields or a newer `as_of`. */
export function refreshes({ columns }: Kind, incoming: string, stored: string): string {
  const extra = `${incoming}.extra is not null and ${incoming}.extra is distinct from ${stored}.extra`
  if (!columns.includes('as_of')) return `(${extra})`
  return `(${extra} or ${incoming}.as_of is not null and (${stored}.as_of is null or ${incoming}.as_of > ${stored}.as_of))`
}

/** The new value of a column: missing extra fields keep their stored value, and `as_of` never goes back. */
export function newValue({ table, fixed = [] }: Kind, column: string): string {
  if (fixed.includes(column)) return `${table}.${column}`
  if (column === 'extra') return `coalesce(excluded.extra, ${table}.extra)`
  if (column !== 'as_of') return `excluded.${column}`
  return `case when excluded.as_of is null or excluded.as_of <= ${table}.as_of then ${table}.as_of else excluded.as_of end`
}

export function hasUsername(accounts: string, condition = '1 = 1'): string {
  return `exists (select 1 from ${accounts} as someone
    where someone.username = incoming.username and someone.id <> incoming.id and ${condition})`
}

export function same({ key }: Kind, other: string): string {
  return key.map(column => `${other}.${column} = incoming.${column}`).join(' and ')
}

/** Whether a row is stored with the staged content, and was not skipped because of a conflict. */
export function isStoredAsStaged(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored
    where ${same(kind, 'stored')} and stored.owner_id = incoming.owner_id and stored.etag = incoming.etag)`
}

/** Whether a row differs from another with the same key. Rows that are only a key never differ. */
export function differs(kind: Kind, other: string): string {
  return ['1 = 0', ...contentOf(kind).map(column => `${other}.${column} is distinct from incoming.${column}`)].join(
    ' or ',
  )
}

/** The columns of what a record says. A damaged document has the hash of the whole one. */
export function contentOf({ identity, columns }: Kind): readonly string[] {
  return columns.includes('document') ? [...identity, 'document'] : identity
}

export function conflicts(kind: Kind): string {
  return `exists (select 1 from ${kind.table} as stored where ${same(kind, 'stored')} and (${differs(kind, 'stored')}))`
}
