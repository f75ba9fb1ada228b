import { sql } from 'kysely'
import { account } from './account-kinds.ts'
import type { Cell, Kind, Merge, Row } from './kind.ts'
import { ID_TAKEN, LineErrors, reasonForOwner } from './report.ts'
import { ROWS_AT_ONCE } from './staging-batch.ts'
import { conflicts, hasUsername, isRemoved, isTaken, same } from './staging-conditions.ts'
import type { StagingTables } from './staging-tables.ts'

/** Rejects lines that contradict each other, and removes those that only repeat an earlier line. */
export async function compareLines(staging: StagingTables) {
  const stagedAccounts = staging.tableOf(account)
  for (const [kind, batch] of staging.batches) {
    const { key, identity, accounts } = kind
    const staged = staging.tableOf(kind)
    // The index has all columns that are compared, so that no comparison reads the documents.
    const compared = new Set([...key, 'line', ...identity, ...accounts])
    await staging.run(`create index if not exists ${staged}_key on ${staged} (${[...compared].join(', ')})`)
    const repeats = `exists (select 1 from ${staged} as other where ${same(kind, 'other')} and other.line < incoming.line)`
    if ((await staging.lines(kind, repeats)).count > 0) {
      const contradicts = `incoming.line in (${linesAfterOther(kind, staged)})`
      await reject(staging, kind, 'is the same record as an earlier line, with other content', contradicts)
      batch.repeated += await staging.run(`delete from ${staged} as incoming where ${repeats}`)
    }
  }
  await staging.run(`create index if not exists ${stagedAccounts}_name on ${stagedAccounts} (username, id)`)
  await reject(staging, account, 'has the username of another account in this archive', hasUsername(stagedAccounts))
}

/**
 * The lines before which the same record occurs with other content: those from the first on that differs from the first of its record. To
 * compare each with all others would take hours for a file that repeats one record.
 */
function linesAfterOther({ key, identity }: Kind, staged: string): string {
  const order = `(partition by ${key.join(', ')} order by line)`
  const isOther = [
    '1 = 0',
    ...identity.map(column => `${column} is distinct from first_value(${column}) over ${order}`),
  ]
  return `select line from (
      select line, max(is_other) over ${order} as is_after from (
        select line, ${key.join(', ')}, case when ${isOther.join(' or ')} then 1 else 0 end as is_other from ${staged}
      ) as compared
    ) as marked where is_after = 1`
}

/** Rejects lines that contradict the store. */
export async function compareWithStore(staging: StagingTables) {
  const { onConflict, isArchive, onlyAccount } = staging.options
  const stagedAccounts = staging.tableOf(account)
  for (const kind of staging.batches.keys()) {
    for (const column of kind === account ? ['id'] : kind.accounts)
      await reject(staging, kind, REMOVED, isRemoved(column))
  }
  for (const kind of staging.batches.keys()) {
    if (kind.isOwned && (!isArchive || onlyAccount !== undefined)) {
      const reason = onlyAccount === undefined ? ID_TAKEN : reasonForOwner(ID_TAKEN)
      await reject(staging, kind, reason, isTaken(kind))
    }
    if (kind.merge !== undefined) await mergeStored(staging, kind, kind.merge)
  }
  const keepsName =
    onConflict === 'replace'
      ? `not exists (select 1 from ${stagedAccounts} as renamed where renamed.id = someone.id)`
      : 'not exists (select 1 from account as stored where stored.id = incoming.id)'
  await reject(staging, account, USERNAME_TAKEN, hasUsername('account', keepsName))
  for (const kind of staging.batches.keys()) {
    if (onConflict === 'fail') {
      const reason = 'is a record that the store has with other content (see --on-conflict)'
      await reject(staging, kind, reason, conflicts(kind))
    }
    for (const column of kind.accounts) {
      const nobody = (accounts: string) =>
        `not exists (select 1 from ${accounts} as someone where someone.id = incoming.${column})`
      await reject(
        staging,
        kind,
        `${FIELDS[column] ?? column} names an account that neither the archive nor the store has: add it under this id first (account add --id)`,
        `${nobody(stagedAccounts)} and ${nobody('account')}`,
      )
    }
  }
}

/** Completes staged rows with values of the stored ones that their lines do not have. */
async function mergeStored(staging: StagingTables, kind: Kind, merge: Merge) {
  const { table, columns } = kind
  const staged = staging.batches.get(kind)?.columns ?? []
  const shown = [
    'incoming.line',
    ...staged.map(column => `incoming.${column} as incoming_${column}`),
    ...columns.map(column => `stored.${column} as stored_${column}`),
  ]
  let after = -1
  for (;;) {
    const { rows } = await sql
      .raw<Row>(
        `select ${shown.join(', ')} from ${staging.tableOf(kind)} as incoming
          join ${table} as stored on ${same(kind, 'stored')}
          where incoming.line > ${after} and (${merge.condition(staging.options)}) order by incoming.line limit ${ROWS_AT_ONCE}`,
      )
      .execute(staging.db)
    for (const row of rows) {
      const pick = (prefix: string, names: readonly string[]) =>
        Object.fromEntries(names.map(name => [name, row[`${prefix}_${name}`] ?? null]))
      const merged = merge.row(pick('incoming', staged), pick('stored', columns), staging.options)
      const changes = Object.entries(merged)
        .filter(([column]) => staged.includes(column))
        .map(([column, cell]) => sql`${sql.ref(column)} = ${cell}`)
      await sql`update ${sql.table(staging.tableOf(kind))} set ${sql.join(changes)} where line = ${row['line']}`.execute(
        staging.db,
      )
    }
    if (rows.length < ROWS_AT_ONCE) return
    after = Number(rows.at(-1)?.['line'])
  }
}

async function reject(staging: StagingTables, kind: Kind, reason: string, condition: string) {
  const { rejected, rawOf } = staging.options
  if (rejected instanceof LineErrors) {
    const { lines, count } = await staging.lines(kind, condition)
    return rejected.addAll(lines, count, reason)
  }
  const batch = staging.batches.get(kind)
  const rowsAtOnce = rawOf === undefined ? ROWS_AT_ONCE : ROWS_AT_ONCE_WITHOUT_TEXT
  for (;;) {
    const { rows } = await sql
      .raw<{ line: Cell; record_id: Cell; owner_id: Cell; raw: string | null }>(
        `select incoming.line, incoming.${kind.recordColumn} as record_id, incoming.${kind.ownerColumn} as owner_id,
          ${rawOf === undefined ? 'incoming.raw' : 'null as raw'}
          from ${staging.tableOf(kind)} as incoming where ${condition} order by incoming.line limit ${rowsAtOnce}`,
      )
      .execute(staging.db)
    if (rows.length === 0 || batch === undefined) return
    for (const row of rows) {
      const line = Number(row.line)
      rejected.add({
        line,
        kind: kind.name,
        recordId: Number(row.record_id),
        ownerId: Number(row.owner_id),
        reason,
        raw: rawOf === undefined ? (row.raw ?? undefined) : rawOf(line),
      })
    }
    batch.rejected += rows.length
    await staging.run(
      `delete from ${staging.tableOf(kind)} where line in (${rows.map(row => Number(row.line)).join(', ')})`,
    )
    await rejected.flushFull()
  }
}

/** Each of these queries reads all rows. */
const ROWS_AT_ONCE_WITHOUT_TEXT = 10_000

/** The fields of a line, by their columns. */
const FIELDS: Readonly<Record<string, string>> = { owner_id: 'ownerId', partner_id: 'partnerId' }

const USERNAME_TAKEN =
  'has the username of a stored account with another id: accounts are matched by id, so remove that one (account remove) or give this one another name'

const REMOVED = 'is of an account that was removed here: account add --id allows it to come back'
