import { sql } from '../vendor/kysely.js'
import { account, partnership } from './account-kinds.ts'
import type { Cell, Kind } from './kind.ts'
import { type KindReport, MAX_LISTED, type Outcome } from './report.ts'
import { noteChangedRecords } from './revisions.ts'
import { isDistributed, withLocalRecords } from '../store/distributed.ts'
import { compareLines, compareWithStore } from './staging-comparison.ts'
import { conflicts, differs, isSame, newValue, refreshes, same } from './staging-conditions.ts'
import { StagingTables } from './staging-tables.ts'
import { noteAdded, noteReplaced } from './unfinished-import.ts'

/** Compares staged rows and moves them into the store. The statements are the same on both engines. */
export class ImportStaging extends StagingTables {
  #isDistributed = false

  /** Runs work that compares the rows with the store, or moves them into it. */
  async inStore<Result>(work: () => Promise<Result>): Promise<Result> {
    if (this.options.engine === 'sqlite') return work()
    this.#isDistributed = await isDistributed(text => sql.raw(text).execute(this.db))
    if (!this.#isDistributed) return work()
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

  /** Access that is open in the archive and ended in the store; the first MAX_LISTED of it. */
  async endedAccess(): Promise<{ ownerId: number; partnerId: number }[]> {
    const { rows } = await sql<{ owner_id: Cell; partner_id: Cell }>`
      select incoming.owner_id, incoming.partner_id from ${sql.table(this.tableOf(partnership))} as incoming
      join partnership as stored on stored.owner_id = incoming.owner_id and stored.partner_id = incoming.partner_id
      where incoming.ended_at is null and stored.ended_at is not null
      order by incoming.line limit ${MAX_LISTED}`.execute(this.db)
    return rows.map(row => ({ ownerId: Number(row.owner_id), partnerId: Number(row.partner_id) }))
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

  /** The share of the records that are not yet stored with the same content. */
  async shareOfNew(): Promise<number> {
    let all = 0
    let added = 0
    for (const [kind, { total }] of this.batches) {
      if (!kind.isOwned || total === 0) continue
      all += total
      added += (await this.lines(kind, `not ${isSame(kind)}`)).count
    }
    return all === 0 ? 0 : added / all
  }

  /** Whether moving into the store will change usernames of stored accounts. */
  async changesNames(): Promise<boolean> {
    if (this.options.onConflict !== 'replace') return false
    const { rows } = await sql`select 1 from ${sql.table(this.tableOf(account))} as incoming
      join account as stored on stored.id = incoming.id
      where stored.username <> incoming.username limit 1`.execute(this.db)
    return rows.length > 0
  }

  /** Notes what moving into the store will add and replace, so that this part of an import can be undone. */
  async noteChanges(part: number) {
    const { onConflict } = this.options
    for (const [kind, { total }] of this.batches) {
      if (total === 0) continue
      const from = `${this.tableOf(kind)} as incoming`
      await noteAdded(this.db, part, kind, from)
      const isOther = `(${differs(kind, 'stored')})`
      const isRefreshed = `not ${isOther} and ${refreshes(kind, 'incoming', 'stored')}`
      const isReplaced = onConflict === 'replace' ? `${isOther} or ${isRefreshed}` : isRefreshed
      await noteReplaced(
        this.db,
        part,
        kind,
        `${from} join ${kind.table} as stored on ${same(kind, 'stored')} where ${isReplaced}`,
      )
    }
  }

  /** Finds accounts whose lines have no `as_of`, and the newest instants of their staged records. */
  async findNewest() {
    const newest = [...this.batches.keys()]
      .filter(({ staged }) => 'newest' in staged)
      .map(kind => {
        const isStored = this.options.onConflict === 'skip' ? isSame(kind) : '1 = 1'
        return `select owner_id, newest from ${this.tableOf(kind)} as incoming where newest is not null and ${isStored}`
      })
    await this.run('drop table if exists incoming_newest')
    await this.run(
      `create temporary table incoming_newest as
        select account.id, max(newest) as newest
        from (${newest.join(' union all ')}) as known join account on account.id = known.owner_id
        where (account.as_of is null or account.as_of < newest)
        and not exists (select 1 from ${this.tableOf(account)} as given where given.id = account.id and given.as_of is not null)
        group by account.id`,
    )
  }

  /** Sets `as_of` of the accounts that were found, `limit` of them at most; returns how many it set. */
  async updateAsOf(limit?: number, part?: number): Promise<number> {
    const some = `select id, newest from incoming_newest order by id${limit === undefined ? '' : ` limit ${limit}`}`
    if (part !== undefined) {
      await noteReplaced(
        this.db,
        part,
        account,
        `(${some}) as incoming join account as stored on stored.id = incoming.id`,
      )
    }
    await this.run(
      this.#isDistributed
        ? // Citus: an update of a reference table cannot read a temporary table.
          `insert into account (id, username, document, etag, as_of)
            select stored.id, username, document, etag, newest from (${some}) as known join account as stored on stored.id = known.id
            on conflict (id) do update set as_of = excluded.as_of`
        : `update account set as_of = known.newest from (${some}) as known where known.id = account.id`,
    )
    return this.run(`delete from incoming_newest where id in (select id from (${some}) as known)`)
  }

  async #move(kind: Kind, total: number): Promise<KindReport> {
    if (total === 0) return { kind: kind.name, added: 0, replaced: 0, skipped: 0, unchanged: 0 }
    const { onConflict, engine } = this.options
    const { table, columns, key, identity, isOwned } = kind
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
      ...identity.map(column => `${table}.${column} is distinct from excluded.${column}`),
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
    if (!this.#isDistributed || kind.isOwned) return '1 = 1'
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
