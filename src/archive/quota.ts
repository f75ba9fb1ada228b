import { statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { type Kysely, sql } from 'kysely'
import { type Config, MIN_FREE_BYTES, settings } from '../config.ts'
import { type Engine, sqliteFile, type Store, StoreFullError } from '../store/index.ts'
import { recordTables, type Tables } from '../store/tables.ts'
import type { Cell } from './kind.ts'
import { Refusal } from '../contract/refusal.ts'

/** What bounds the records that people bring in by pages. The operator's commands have no such bounds. */
export type QuotaConfig = Pick<Config, 'databaseUrl' | 'maxRecords' | 'maxBytes'>

export type Quota = ReturnType<typeof makeQuota>

/** The room that an account has. Its records are counted at first, and then as they are stored: all of them again only if they seem to be too many. */
export function makeQuota(store: Store, config: QuotaConfig, accountId: number) {
  const { maxRecords, maxBytes } = config
  let usage: Usage | undefined
  const isOver = ({ records, bytes }: Usage) =>
    (maxRecords > 0 && records > maxRecords) || (maxBytes > 0 && bytes > maxBytes)
  const count = (db: Kysely<Tables>) => usageOf(db, store.engine, accountId)
  return {
    /** Called before a transaction with `add`, in which counting would keep other writers waiting. Throws StoreFullError. */
    async prepare(): Promise<void> {
      if (isDiskFull(config)) throw new StoreFullError('there is not enough free space on the disk of this service')
      usage ??= await count(store.reads)
    },
    /** Counts what is stored in this transaction: at most so many records and bytes. Throws Refusal. */
    async add(db: Kysely<Tables>, records: number, bytes: () => number): Promise<void> {
      if (records === 0) return
      const before = usage ?? (await count(db))
      usage = { records: before.records + records, bytes: before.bytes + bytes() }
      if (!isOver(usage)) return
      // Some may have replaced others, and most take less.
      usage = await count(db)
      if (!isOver(usage)) return
      throw new Refusal(
        'full',
        usage.records > maxRecords && maxRecords > 0
          ? `the account would have more than ${maxRecords.toLocaleString('en')} records (${settings.maxRecords.env})`
          : `the records of the account would have more than ${maxBytes.toLocaleString('en')} bytes (${settings.maxBytes.env})`,
      )
    },
  }
}

/** Whether the disk of an SQLite database has too little room for more records. */
export function isDiskFull({ databaseUrl }: Pick<QuotaConfig, 'databaseUrl'>): boolean {
  const file = sqliteFile(databaseUrl)
  if (file === undefined) return false
  const { bavail, bsize } = statfsSync(dirname(file))
  return bavail * bsize < MIN_FREE_BYTES
}

type Usage = Awaited<ReturnType<typeof usageOf>>

/** What an account has: its records, its rejected rows, or the rows that are known of its sources if those are more. */
async function usageOf(db: Kysely<Tables>, engine: Engine, accountId: number) {
  const length = (column: string) =>
    engine === 'sqlite' ? `coalesce(octet_length(${column}), 0)` : `coalesce(pg_column_size(${column}), 0)`
  const countOf = (table: string, owner: string, columns: readonly string[]) => sql`
    select count(*) as records, sum(${sql.raw(columns.map(length).join(' + '))}) as bytes
    from ${sql.table(table)} where ${sql.ref(owner)} = ${accountId}`
  const ofRecords = recordTables.map(table => countOf(table, 'owner_id', ['document', 'extra']))
  const parts = [...ofRecords, countOf('set_aside', 'account_id', ['raw'])]
  const { rows } = await sql<Record<'records' | 'bytes' | 'known', Cell>>`
    select sum(records) as records, coalesce(sum(bytes), 0) as bytes,
      (select count(*) from pull_row where source_id in (select id from pull_source where account_id = ${accountId})) as known
    from (${sql.join(parts, sql` union all `)}) as part`.execute(db)
  const [{ records, bytes, known } = { records: 0, bytes: 0, known: 0 }] = rows
  return { records: Math.max(Number(records), Number(known)), bytes: Number(bytes) }
}
