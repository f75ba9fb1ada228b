import { sql } from 'kysely'
import { account, partnership } from './account-kinds.ts'
import type { Cell, Kind } from './kind.ts'
import { type KindReport, MAX_LISTED, type Outcome } from './report.ts'
import { noteChangedRecords } from './revisions.ts'
import { withLocalRecords } from '../store/distributed.ts'
import { compareLines, compareWithStore } from './staging-comparison.ts'
import { conflicts, contentOf, differs, isStoredAsStaged, newValue, refreshes, same } from './staging-conditions.ts'
import { StagingTables } from './staging-tables.ts'

/** What an import would do with the records of a kind. */
export interface KindPreview {
  readonly kind: string
  readonly added: number
  /** Records that would be replaced. */
  readonly changed: number
  readonly unchanged: number
  /** Records that conflict, with `onConflict: 'skip'`, and sessions that have not started or are not finished. */
  readonly skipped: number
  /** The times of the oldest and the newest record (milliseconds since 1970); null for kinds without a time. */
  readonly first: number | null
  readonly last: number | null
}

/** Compares staged rows and moves them into the store. The statements are the same on both engines. */
export class ImportStaging extends StagingTables {
  /** Runs work that compares the rows with the store, or moves them into it. */
  async inStore<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.options.engine === 'sqlite') return work()
    const records = [...this.batches.keys()].filter(({ isOwned }) => isOwned)
    const named = records.map(kind => ({ table: kind.table, ids: `select id from ${this.tableOf(kind)}` }))
    return withLocalRecords(this.db, named, work)
  }

  compareLines(): Promise<void> {
    return compareLines(this)
  }

  compareWithStore(): Promise<void> {
    return compareWithStore(this)
  }

  /** What moving into the store will do with each line. All lines must fit into memory. */
  async outcomes(): Promise<ReadonlyMap<number, Outcome | 'refreshed'>> {
    const outcomes = new Map<number, Outcome | 'refreshed'>()
    for (const [kind, { total }] of this.batches) {
      if (total === 0) continue
      const { rows } = await sql
        .raw<{ line: Cell; outcome: Outcome | 'refreshed' }>(
          `select incoming.line, case when stored.${kind.key[0]} is null then 'added' when ${differs(kind, 'stored')} then 'replaced'
            when ${refreshes(kind, 'incoming', 'stored')} then 'refreshed' else 'unchanged' end as outcome
            from ${this.tableOf(kind)} as incoming left join ${kind.table} as stored on ${same(kind, 'stored')}`,
        )
        .execute(this.db)
      for (const { line, outcome } of rows) outcomes.set(Number(line), outcome)
    }
    return outcomes
  }

  /** What moving into the store would do. The rows must have been compared. */
  async preview(): Promise<KindPreview[]> {
    const previews: KindPreview[] = []
    for (const [kind, { total, skipped }] of this.batches) {
      if (total + skipped === 0) continue
      const at = kind.columns.includes('at') ? 'incoming.at' : 'null'
      const { rows } = await sql
        .raw<Record<'total' | 'added' | 'changed' | 'first' | 'last', Cell>>(
          `select count(*) as total, count(case when stored.${kind.key[0]} is null then 1 end) as added,
            count(case when stored.${kind.key[0]} is not null and (${differs(kind, 'stored')}) then 1 end) as changed,
            min(${at}) as first, max(${at}) as last
            from ${this.tableOf(kind)} as incoming left join ${kind.table} as stored on ${same(kind, 'stored')}`,
        )
        .execute(this.db)
      const [counts] = rows
      const [added, conflicting] = [Number(counts?.added ?? 0), Number(counts?.changed ?? 0)]
      const unchanged = Number(counts?.total ?? 0) - added - conflicting
      const changed = this.options.onConflict === 'skip' ? 0 : conflicting
      const [first, last] = [counts?.first ?? null, counts?.last ?? null].map(cell =>
        cell === null ? null : Number(cell),
      )
      previews.push({
        kind: kind.name,
        added,
        changed,
        unchanged,
        skipped: skipped + conflicting - changed,
        first: first ?? null,
        last: last ?? null,
      })
    }
    return previews
  }

  /** Access that is open in the archive and ended in the store; the first MAX_LISTED of it. */
  async endedAccess(): Promise<{ ownerId: number; partnerId: number }[]> {
    const { rows } = await sql<{ owner_id: Cell; partner_id: Cell }>`
      select incoming.owner_id, incoming.partner_id from ${sql.table(this.tableOf(partnership))} as incoming
      join partnership as stored on stored.owner_id = incoming.owner_id and stored.partner_id = incoming.partner_id
      where incoming.ended_at is null and stored.ended_at is not null
      order by incoming.line limit ${MAX_LISTED}`.execute(this.db)
    return rows.map(row => ({ ownerId: Number(row.owner_id), partnerId: Number(row.partner_id) }))
  }

  /** Finds access that the archive gives and the store does not have. */
  async findGivenAccess() {
    if (!this.batches.has(partnership)) return
    await this.run('drop table if exists given_access')
    await this.run(
      `create temporary table given_access as
        select incoming.owner_id, incoming.partner_id from ${this.tableOf(partnership)} as incoming
        left join partnership as stored on stored.owner_id = incoming.owner_id and stored.partner_id = incoming.partner_id
        where stored.owner_id is null and incoming.ended_at is null`,
    )
  }

  /** Adds the access that was found to the events of its owners. It must have been stored. */
  async recordGivenAccess(now: number) {
    if (!this.batches.has(partnership)) return
    await sql`insert into account_event (account_id, at, kind, actor, subject, subject_id, network, browser, times)
      select owner_id, ${now}, 'access-given', 'operator', account.username, 0, '', '', 1
      from given_access join account on account.id = partner_id`.execute(this.db)
    await this.run('drop table given_access')
  }

  /** Moves the rows into the store. They must have been compared. */
  async moveIntoStore(): Promise<KindReport[]> {
    if (this.options.onConflict === 'replace') {
      // Accounts may swap names, so each first gets a name that no account can have.
      await this.run(
        `update account set username = '\u0001' || id where id in (
          select incoming.id from ${this.tableOf(account)} as incoming join account as stored on stored.id = incoming.id
          where incoming.username <> stored.username)`,
      )
    }
    const reports: KindReport[] = []
    for (const [kind, { total, rejected, skipped }] of this.batches) {
      const report = await this.#move(kind, total - rejected)
      reports.push({ ...report, skipped: report.skipped + skipped })
    }
    return reports
  }

  /** Sets `as_of` of accounts whose lines have none to the newest instants of their staged records. */
  async updateAsOf() {
    const records = [...this.batches.keys()]
      .filter(({ staged }) => 'newest' in staged)
      .map(kind => {
        const isStored = this.options.onConflict === 'skip' ? isStoredAsStaged(kind) : '1 = 1'
        return `select owner_id, newest from ${this.tableOf(kind)} as incoming where newest is not null and ${isStored}`
      })
    const newest = `select account.id, max(newest) as newest
      from (${records.join(' union all ')}) as known join account on account.id = known.owner_id
      where (account.as_of is null or account.as_of < newest)
      and not exists (select 1 from ${this.tableOf(account)} as given where given.id = account.id and given.as_of is not null)
      group by account.id`
    await this.run(
      // Citus: an update of a reference table cannot read a temporary table.
      `insert into account (id, username, document, etag, as_of)
        select stored.id, username, document, etag, newest from (${newest}) as known join account as stored on stored.id = known.id
        where true
        on conflict (id) do update set as_of = excluded.as_of`,
    )
  }

  async #move(kind: Kind, total: number): Promise<KindReport> {
    if (total === 0) return { kind: kind.name, added: 0, replaced: 0, skipped: 0, unchanged: 0 }
    const { onConflict, engine } = this.options
    const { table, columns, key, isOwned } = kind
    const { conflicting, refreshed } = await this.#countStored(kind)
    const replaced = onConflict === 'replace' ? conflicting : 0
    if (replaced > 0 && isOwned) {
      // PostgreSQL: the owner is part of the primary key, so an update cannot change it.
      const moved = `from ${table} as stored where exists (select 1 from ${this.tableOf(kind)} as incoming
          where ${same(kind, 'stored')} and stored.owner_id <> incoming.owner_id)`
      await noteChangedRecords(this.db, table, sql.raw(`select stored.owner_id ${moved}`))
      await this.run(`delete ${moved}`)
    }
    const primaryKey = isOwned && engine === 'postgres' ? ['owner_id', ...key] : key
    const rest = columns.filter(column => !primaryKey.includes(column))
    const updates = [
      ...contentOf(kind).map(column => `${table}.${column} is distinct from excluded.${column}`),
      refreshes(kind, 'excluded', table),
    ]
    const written = await this.run(
      `insert into ${table} (${columns.join(', ')})
        select ${columns.join(', ')} from ${this.tableOf(kind)} as incoming
        where ${conflicting > replaced ? `not ${conflicts(kind)}` : '1 = 1'} and ${this.#isWritten(kind)} order by ${key.join(', ')}
        on conflict (${primaryKey.join(', ')}) do ${
          replaced + refreshed === 0
            ? 'nothing'
            : `update set ${rest.map(column => `${column} = ${newValue(kind, column)}`).join(', ')} where ${updates.join(' or ')}`
        }`,
    )
    if (written > 0 && isOwned)
      await noteChangedRecords(this.db, table, sql.raw(`select owner_id from ${this.tableOf(kind)}`))
    const added = written - replaced - refreshed
    return { kind: kind.name, added, replaced, skipped: conflicting - replaced, unchanged: total - added - conflicting }
  }

  /** With Citus, rows of a reference table count as written even if nothing changes, so unchanged ones are left out. */
  #isWritten(kind: Kind): string {
    if (kind.isOwned) return '1 = 1'
    return `not exists (select 1 from ${kind.table} as stored
      where ${same(kind, 'stored')} and not (${differs(kind, 'stored')} or ${refreshes(kind, 'incoming', 'stored')}))`
  }

  /** How many rows are stored with other content, and how many with the same content but older extra fields or `as_of`. */
  async #countStored(kind: Kind): Promise<{ conflicting: number; refreshed: number }> {
    const { rows } = await sql
      .raw<{ conflicting: Cell; refreshed: Cell }>(
        `select count(case when ${differs(kind, 'stored')} then 1 end) as conflicting,
          count(case when not (${differs(kind, 'stored')}) and ${refreshes(kind, 'incoming', 'stored')} then 1 end) as refreshed
          from ${this.tableOf(kind)} as incoming join ${kind.table} as stored on ${same(kind, 'stored')}`,
      )
      .execute(this.db)
    return { conflicting: Number(rows[0]?.conflicting ?? 0), refreshed: Number(rows[0]?.refreshed ?? 0) }
  }
}
