import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { open } from '../../src/store/index.ts'
import { runSql } from './postgres.ts'
import { distribution } from './distributed.ts'

/** The address of a database on a coordinator of Citus that has two workers or more; it is only read. */
const coordinator = process.env['LOCKSTEP_TEST_CITUS']
const why = 'LOCKSTEP_TEST_CITUS does not name a database on a coordinator of Citus'

/** A test that needs Citus. */
export function testOnCitus(title: string, work: Work, prepare: Prepare = migrate) {
  test(title, { skip: coordinator === undefined && why }, () => using(coordinator ?? '', work, prepare))
}

/** A database, empty unless a test fills it, whose tables are distributed as the docs say. */
interface Cluster {
  readonly url: string
  /** The same database on each worker. */
  readonly workers: readonly string[]
  /** Refuses connections to a worker and ends those that there are, until `bringBack`. */
  loseWorker(url: string): Promise<void>
  bringBack(url: string): Promise<void>
}

type Work = (cluster: Cluster) => Promise<void>
/** What happens before the tables are distributed. */
type Prepare = (url: string) => Promise<void>

async function migrate(url: string) {
  const store = await open(url, { busyTimeoutMs: 4000 })
  await store.close()
}

async function using(server: string, work: Work, prepare: Prepare) {
  const name = `test_${randomBytes(8).toString('hex')}`
  const nodes = await workersOf(server)
  const at = (url: string, database: string) => Object.assign(new URL(url), { pathname: `/${database}` }).href
  const servers = [server, ...nodes]
  const [url = '', ...workers] = servers.map(one => at(one, name))
  const outside = (worker: string) => at(worker, 'postgres')
  try {
    for (const one of servers) await runSql(at(one, 'postgres'), `create database ${name}`)
    for (const one of [url, ...workers]) await runSql(one, 'create extension citus')
    const { hostname, port } = new URL(server)
    await runSql(url, `select citus_set_coordinator_host('${hostname}', ${port})`)
    for (const worker of workers) {
      const node = new URL(worker)
      await runSql(url, `select citus_add_node('${node.hostname}', ${node.port})`)
    }
    await prepare(url)
    for (const statement of distribution) await runSql(url, statement)
    await work({
      url,
      workers,
      async loseWorker(worker) {
        await runSql(outside(worker), `alter database ${name} allow_connections false`)
        await runSql(
          outside(worker),
          `select pg_terminate_backend(pid, 2000) from pg_stat_activity where datname = '${name}'`,
        )
      },
      async bringBack(worker) {
        await runSql(outside(worker), `alter database ${name} allow_connections true`)
      },
    })
  } finally {
    for (const one of servers) await runSql(at(one, 'postgres'), `drop database if exists ${name} with (force)`)
  }
}

async function workersOf(server: string): Promise<string[]> {
  const rows = await runSql<{ host: string; port: string }>(
    server,
    `select node_name as host, node_port::text as port from citus_get_active_worker_nodes() order by node_port`,
  )
  return rows.map(({ host: hostname, port }) => Object.assign(new URL(server), { hostname, port }).href)
}
