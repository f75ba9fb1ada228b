import { sql } from '../vendor/kysely.js'
import type { LockSession } from '../contract/lock-sessions.ts'
import type { LockTemplate } from '../contract/lock-templates.ts'
import type { Store } from '../store/index.ts'
import {
  type Access,
  ANY_OWNERS,
  ANY_SESSIONS,
  isReadable,
  isReadableById,
  type OwnerAccess,
} from '../accounts/access.ts'
import { query } from '../store/query.ts'
import {
  type LockInterval,
  lockIntervals,
  type LockEvent,
  lockEnd,
  type LockRules,
  parseEvents,
  plannedEnd,
} from './intervals.ts'
import { lockSessions, ruleColumns, rulesOf } from './lock-queries.ts'

/** A lock session with its record. */
export interface LockDetails {
  readonly owner: number
  readonly template: number | null
  readonly record: LockSession
  /** The record as it is stored. */
  readonly document: string
  readonly events: readonly LockEvent[]
  /** Undefined if its template is not known. */
  readonly rules: LockRules | undefined
  /** When it ended, null while it runs. */
  readonly endAt: number | null
  /** When it is planned to end; null if it does not run, or that is not known. */
  readonly plannedEnd: number | null
  readonly intervals: readonly LockInterval[]
}

/** One lock session of some accounts; undefined when they have none with this identifier. */
export async function lockSession(
  store: Store,
  access: Access,
  id: number,
  now: number,
): Promise<LockDetails | undefined> {
  const [row] = await store.read(sessionById, { ...access, id })
  if (row === undefined) return undefined
  const events = parseEvents(row.events)
  const endAt = lockEnd(row, events)
  return {
    owner: row.owner_id,
    template: row.template_id,
    // The archive wrote it in the form of the contract.
    record: JSON.parse(row.document) as LockSession,
    document: row.document,
    events,
    rules: rulesOf(row),
    endAt,
    plannedEnd: plannedEnd(row),
    intervals: lockIntervals(events, endAt, now),
  }
}

/** Records of lock sessions as they are stored, by identifier. */
export async function lockRecords(
  store: Store,
  access: OwnerAccess,
  ids: readonly number[],
): Promise<Map<number, string>> {
  const rows = await store.read(sessionRecords, { ...access, ids })
  return new Map(rows.map(({ id, document }) => [id, document]))
}

/** A lock template, its record as stored, and how often it was used. */
export interface TemplateUse {
  readonly owner: number
  readonly record: LockTemplate
  readonly document: string
  readonly sessions: number
  /** When a session with it began last; null when there was none. */
  readonly last: number | null
}

/** How many lock templates some accounts have. */
export async function countLockTemplates(store: Store, access: Access): Promise<number> {
  const [row] = await store.read(templateCount, access)
  return row?.count ?? 0
}

/** The lock templates of some accounts, or a part of them, the newest first, with how often sessions that may be read used them. */
export async function lockTemplates(
  store: Store,
  templates: Access,
  sessions: Access,
  part = { limit: Number.MAX_SAFE_INTEGER, offset: 0 },
): Promise<TemplateUse[]> {
  const [rows, uses] = await Promise.all([
    store.read(templatesOf, { ...templates, ...part }),
    store.read(usesByTemplate, sessions),
  ])
  const byTemplate = new Map(uses.map(use => [use.template, use]))
  return rows.map(({ id, owner_id, document }) => {
    const use = byTemplate.get(id)
    return {
      owner: owner_id,
      // The archive wrote it in the form of the contract.
      record: JSON.parse(document) as LockTemplate,
      document,
      sessions: use?.sessions ?? 0,
      last: use?.last ?? null,
    }
  })
}

/** A lock template; undefined if the access has none with this identifier. */
export async function lockTemplate(store: Store, access: Access, id: number) {
  const [row] = await store.read(templateById, { ...access, id })
  // The archive wrote it in the form of the contract.
  return row && { owner: row.owner_id, record: JSON.parse(row.document) as LockTemplate, document: row.document }
}

/** Milliseconds locked and not locked over all intervals, and those of the longest locked one. */
export function totalsOf(intervals: readonly LockInterval[]): { locked: number; open: number; longest: number } {
  let locked = 0
  let open = 0
  let longest = 0
  for (const { start, end, locked: isLocked } of intervals) {
    if (isLocked) {
      locked += end - start
      longest = Math.max(longest, end - start)
    } else open += end - start
  }
  return { locked, open, longest }
}

interface SessionRow {
  readonly owner_id: number
  readonly at: number
  readonly template_id: number | null
  readonly is_test_lock: number | null
  readonly is_time_displayed: number | null
  readonly is_active: number
  readonly ended_at: number | null
  readonly events: string
  readonly document: string
}

const sessionById = query<Access & { id: number }, SessionRow>(
  param => sql`
    select owner_id, at, template_id, ${ruleColumns(param)}, is_active, ended_at, events, document
    from ${lockSessions(param, isReadable(param, ANY_SESSIONS))}
    where ${isReadable(param, ANY_SESSIONS)} and id = ${param('id')}`,
)

const sessionRecords = query<OwnerAccess & { ids: readonly number[] }, { id: number; document: string }>(
  param => sql`
    select id, document from lock_session
    where ${isReadableById(param)} and id in ${param.rows(values => values.ids)}`,
)

const templatesOf = query<
  Access & { limit: number; offset: number },
  { id: number; owner_id: number; document: string }
>(
  param => sql`
    select id, owner_id, document from lock_template
    where ${isReadable(param, ANY_OWNERS)}
    order by at desc, id desc limit ${param.count('limit')} offset ${param.count('offset')}`,
)

const templateCount = query<Access, { count: number }>(
  param => sql`select count(*) as count from lock_template where ${isReadable(param, ANY_OWNERS)}`,
)

const templateById = query<Access & { id: number }, { owner_id: number; document: string }>(
  param => sql`
    select owner_id, document from lock_template
    where ${isReadable(param, ANY_OWNERS)} and id = ${param('id')}`,
)

const usesByTemplate = query<Access, { template: number; sessions: number; last: number }>(
  param => sql`
    select template_id as template, count(*) as sessions, max(at) as last from lock_session
    where ${isReadable(param, ANY_SESSIONS)} and template_id is not null
    group by template_id`,
)
