import { type RawBuilder, sql } from 'kysely'
import { isArea } from '../contract/areas.ts'
import { readTypes, readWays } from '../contract/reads.ts'
import type { Store } from '../store/index.ts'
import { inParts } from '../store/parts.ts'
import type { Params } from '../store/query.ts'
import type { ReadRow } from '../store/tables.ts'
import { readChecked, recordQuery } from './access.ts'
import type { RowRange } from './events.ts'

/** Who read the records of an account, as its owner may see it. */

/** Which reads, and which part of them, the newest hour first, then by identifier, the highest first. */
export interface ReadsRange extends RowRange {
  readonly readerId?: number | undefined
  readonly from?: number | undefined
  readonly beforeAt?: number | undefined
  readonly beforeId?: number
}

/** Shown instead of the name of a reader whose account was removed. */
const REMOVED_READER = 'removed account'

export async function listReads(store: Store, ownerId: number, range: ReadsRange) {
  const { readerId, from = Number.MIN_SAFE_INTEGER, limit, offset = 0 } = range
  const { beforeAt = Number.MAX_SAFE_INTEGER, beforeId = 0 } = range
  const values = { owner: ownerId, from, beforeAt, beforeId, limit, offset }
  const rows = await (readerId === undefined
    ? readChecked(store, readsOfOwner, values)
    : readChecked(store, readsOfReader, { ...values, reader: readerId }))
  return rows.map(row => entryOf(row, ownerId))
}

/** All reads in a range, in the same order. */
export async function* allReads(
  store: Store,
  ownerId: number,
  range: Omit<ReadsRange, 'limit' | 'offset' | 'beforeId'> = {},
): AsyncGenerator<ReadEntry> {
  const read = (before: Pick<ReadsRange, 'beforeAt' | 'beforeId'>) =>
    listReads(store, ownerId, { ...range, ...before, limit: MAX_BATCH_ROWS })
  const positionOf = ({ hour, id }: ReadEntry) => ({ beforeAt: hour, beforeId: id })
  for await (const entries of inParts(MAX_BATCH_ROWS, {}, read, positionOf)) yield* entries
}

const MAX_BATCH_ROWS = 500

/** Everybody whose reads of an account's records are in the log, by identifier; the account itself included. */
export async function listReaders(store: Store, ownerId: number): Promise<{ id: number; username: string }[]> {
  const rows = await store.reads
    .selectFrom('read_log')
    .leftJoin('account', 'account.id', 'read_log.reader_id')
    .select(['read_log.reader_id as id', 'account.username'])
    .distinct()
    .where('read_log.owner_id', '=', ownerId)
    .where('read_log.reader_id', '>', 0)
    .orderBy('read_log.reader_id')
    .execute()
  return rows.map(({ id, username }) => ({ id, username: username ?? REMOVED_READER }))
}

type NamedRead = Omit<ReadRow, 'owner_id'> & { readonly username: string | null }

/** How often somebody read in an hour, in one way, with the start of the hour. A gap has nothing but the count. */
export type ReadEntry = ReturnType<typeof entryOf>

function entryOf(row: NamedRead, ownerId: number) {
  const via = readWays.find(way => way === row.via) ?? null
  const isOperator = via === 'operator'
  return {
    id: row.id,
    hour: row.hour,
    readerId: via === null || isOperator ? null : row.reader_id,
    reader: via === null ? null : isOperator ? via : (row.username ?? REMOVED_READER),
    via,
    tokenName: via === 'token' && row.reader_id === ownerId ? row.token_name : null,
    area: isArea(row.area) ? row.area : null,
    kind: readTypes.find(kind => kind === row.kind) ?? null,
    count: row.reads,
  }
}

type RangeValues = Readonly<Record<'owner' | 'from' | 'beforeAt' | 'beforeId' | 'limit' | 'offset', number>>

const readsOfOwner = reads<RangeValues>('log of reads', () => sql``)
const readsOfReader = reads<RangeValues & { readonly reader: number }>(
  'log of reads of a reader',
  param => sql`and reader_id = ${param('reader')}`,
)

function reads<Values extends RangeValues>(name: string, filter: (param: Params<Values>) => RawBuilder<unknown>) {
  return recordQuery<Values, NamedRead>(
    name,
    (param, owned) => sql`
      select ${owned}, id, hour, reader_id, (select username from account where account.id = reader_id) as username,
        via, token_name, area, kind, reads
      from read_log
      where owner_id = ${param('owner')} ${filter(param)} and hour >= ${param('from')}
        and (hour, id) < (${param('beforeAt')}, ${param('beforeId')})
      order by hour desc, id desc limit ${param.count('limit')} offset ${param.count('offset')}`,
  )
}
