import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, PostgresDialect, sql } from 'kysely'
import type pg from 'pg'
import { allowDistributedPlans, detectDistribution, requireOneServer } from './distributed.ts'
import { checkVersion } from './migrations.ts'
import { isCancelled, translate } from './postgres-errors.ts'
import { APPLICATION_NAME, connect, guarded, lend, makePool, type PoolOptions } from './postgres-pool.ts'
import { keepConnected } from './postgres-presence.ts'
import { parseAddress } from './postgres-address.ts'
import { StatementNames } from './postgres-read-queue.ts'
import { makeReader, type Reader } from './postgres-reader.ts'
import { locatePrimary, type PrimaryLocator } from './primary-locator.ts'
import { watchPrimary } from './primary-health.ts'
import { watchReplicas } from './replicas.ts'
import { makeReplicaStore, snapshotOf } from './replica-store.ts'
import { type OpenOptions, type Store, StoreError, StoreUnavailableError } from './store.ts'
import type { Tables } from './tables.ts'
import { runTransaction } from './transaction.ts'
import { withFallback } from './fallback.ts'

/**
 * Opens a PostgreSQL database; connects with the first statement, unless the primary has to be found among several servers.
 * Records are read from a replica that is up and current, if there is one, else from the primary; everything else goes to the
 * primary.
 */
export async function openPostgres(address: string, options: OpenOptions): Promise<Store> {
  const { busyTimeoutMs, statementTimeoutMs, connectTimeoutMs, readUrls = [], exclusive = false } = options
  const names = new StatementNames(options.onProblem ?? (() => {}))
  const limits = {
    statementTimeoutMs,
    lockTimeoutMs: busyTimeoutMs,
    ...(connectTimeoutMs === undefined ? {} : { connectTimeoutMs }),
    applicationName: exclusive ? `${APPLICATION_NAME} alone` : APPLICATION_NAME,
  }
  const { servers, isLocated } = parseAddress(address)
  const locator = isLocated ? await locatePrimary(servers, url => makePool(url, MONITORING)) : undefined
  const url = locator ?? address
  const pool = makePool(url, { ...limits, minConnections: 1, maxConnections: 5, settings: NOTICING_DEATH })
  keepConnected(pool)
  const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool: guarded(pool) }) })
  const { pool: reading, read: readPrimary, close: closeReading } = openReader(db, url, limits, names)
  lend(pool, reading, options.onProblem ?? (() => {}))
  const replicas = openReplicas(db, { primary: url, locator, readUrls, limits, names })
  const primary = watchPrimary(makePool(url, MONITORING), options.onProblem)
  const readRecords = replicas === undefined ? readPrimary : readFrom(replicas, readPrimary)

  return {
    engine: 'postgres',
    db,
    reads: db,
    read: (query, values) => (query.mayUseReplica === true ? readRecords(query, values) : readPrimary(query, values)),
    async health() {
      const check = () => checkVersion({ read: readPrimary })
      if (replicas === undefined) return check()
      try {
        await withFallback(primary, check, reportDown)
      } catch (error) {
        if (replicas.current().length === 0) throw error
      }
    },
    snapshot: work => snapshotOf(db, work),
    locked: runLocked,
    tryLock: name => holdLock(pool, name),
    async requireAlone() {
      await requireOneServer(db)
      await requireAlone(db)
    },
    erase: undefined,
    primary,
    ...(replicas === undefined
      ? {}
      : {
          findReplica: async withinMs => ((await primary.checkIsDown()) ? replicas.findReplica(withinMs) : undefined),
        }),
    async close() {
      await Promise.all([replicas?.close(), primary.close(), closeReading(), locator?.close()])
      // Kysely ends only a pool that it has used.
      await db.destroy()
      if (!pool.ended) await pool.end()
    },
  }
}

/**
 * How the planner is to treat compiled reads. One plan is right for them whatever the tables hold: along an index, in
 * order. By default the planner sometimes sorts all rows of an account instead, because it misjudges new tables or a
 * limit that it does not know yet.
 */
export const planning = {
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  enable_sort: 'off',
}

/** Within a minute after a machine has died, the server ends its sessions, with their locks: by default it takes two hours. */
const NOTICING_DEATH = {
  tcp_keepalives_idle: '15',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '4',
  tcp_user_timeout: '35000',
}

const READING = { maxConnections: 10, settings: { ...planning, default_transaction_read_only: 'on' } }

// A quarter of the response time; the rest is left for the primary.
const ON_REPLICA = { statementTimeoutMs: 1200, lockTimeoutMs: 1200, connectTimeoutMs: 500 }

// A connection of its own, because a pool in full use would look like a server that is down.
const MONITORING = { statementTimeoutMs: 800, lockTimeoutMs: 800, connectTimeoutMs: 800, maxConnections: 1 }

function reportDown(): never {
  throw new StoreUnavailableError('the primary is down')
}

type Replicas = ReturnType<typeof watchReplicas>

/** Opens a reader with connections of its own. */
function openReader(db: Kysely<Tables>, server: string | PrimaryLocator, limits: ReadLimits, names: StatementNames) {
  const servers = detectDistribution(() => connect(pool))
  const prepare = (client: pg.ClientBase) => allowDistributedPlans(client, servers)
  const pool = makePool(server, { ...limits, ...READING, prepare })
  return { pool, read: makeReader(db, pool, servers, names), close: () => pool.end() }
}

type ReadLimits = Pick<PoolOptions, 'statementTimeoutMs' | 'lockTimeoutMs' | 'connectTimeoutMs' | 'applicationName'>

interface ReplicaServers {
  readonly primary: string | PrimaryLocator
  readonly locator: PrimaryLocator | undefined
  readonly readUrls: readonly string[]
  /** The limits of reads from a replica in place of the primary. */
  readonly limits: ReadLimits
  readonly names: StatementNames
}

function openReplicas(
  db: Kysely<Tables>,
  { primary, locator, readUrls, limits, names }: ReplicaServers,
): Replicas | undefined {
  if (readUrls.length === 0) return undefined
  const replicas = readUrls.map(readUrl => {
    const { read, close } = openReader(db, readUrl, ON_REPLICA, names)
    // It connects when it is used.
    const replica = openReader(db, readUrl, limits, names)
    return {
      monitor: makePool(readUrl, MONITORING),
      read,
      openReplicaStore: () => makeReplicaStore(replica),
      close: async () => void (await Promise.all([close(), replica.close()])),
    }
  })
  return watchReplicas(makePool(primary, MONITORING), replicas, timeline => locator?.isCurrent(timeline) ?? true)
}

/** Reads from replicas while one can answer, else from the primary. */
function readFrom(replicas: Replicas, readPrimary: Reader): Reader {
  return async (query, values) => {
    for (const replica of replicas.current()) {
      try {
        return await replica.read(query, values)
      } catch (error) {
        // A query that took too long does not mean that the replica is down.
        if (!isCancelled(error)) replica.fail()
      }
    }
    return readPrimary(query, values)
  }
}

/** The lock belongs to a transaction that stays open on a connection of its own. */
async function holdLock(pool: pg.Pool, name: string): Promise<(() => Promise<void>) | undefined> {
  const client = await connect(pool)
  try {
    // A lock of the session would stay behind where a pooler gives its connection to others.
    await client.query('begin')
    await client.query('set local idle_in_transaction_session_timeout = 0')
    const { rows } = await client.query<{ held: boolean }>(
      'select pg_try_advisory_xact_lock(hashtextextended($1, 0)) as held',
      [`lockstep ${name}`],
    )
    if (rows[0]?.held === true) return () => endTransaction(client)
  } catch (error) {
    client.release(true)
    throw translate(error)
  }
  await endTransaction(client)
  return undefined
}

/** A connection that is lost has released its locks already. */
async function endTransaction(client: pg.PoolClient) {
  const isLost = await client.query('rollback').then(
    () => false,
    () => true,
  )
  client.release(isLost)
}

/** Throws StoreError if another process of this program uses the database. Other programs, such as a monitor, do not matter. */
async function requireAlone(db: Kysely<Tables>) {
  // The server notices a little later that a process has ended.
  const deadline = performance.now() + 2000
  for (;;) {
    const { rows } = await sql`select pid from pg_stat_activity
      where datname = current_database() and application_name = ${APPLICATION_NAME}`.execute(db)
    if (rows.length === 0) return
    if (performance.now() > deadline) {
      throw new StoreError('another process has the database open: stop it first')
    }
    await sleep(50)
  }
}

const WRITE_LOCK = 5625_002

/** Runs work in a transaction; one at a time in all processes, while ordinary writers continue. */
async function runLocked<Result>(connection: Kysely<Tables>, work: () => Promise<Result>): Promise<Result> {
  // Whatever the default of the database: changes committed while this waits for the lock must be seen.
  return runTransaction(connection, sql`begin isolation level read committed`, async () => {
    await sql`select pg_advisory_xact_lock(${WRITE_LOCK})`.execute(connection)
    return work()
  })
}
