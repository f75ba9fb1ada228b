import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import pg from 'pg'
import { fill, type LoadRequest, requestsByShape } from './data.ts'
import { poll, quantile } from './poll.ts'
import { cpuOf, median, Programs } from './processes.ts'

/**
 * `npm run bench:databases -- <address>…`: the same requests through several PostgreSQL databases in turns, such as one server
 * and coordinators of Citus with one and two workers. The databases must have no accounts, and be on this machine, because
 * the CPU time of their servers is measured, too. The tables of a Citus database must be distributed.
 */
const { values: flags, positionals: addresses } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    connections: { type: 'string', default: '16' },
    accounts: { type: 'string', default: '500' },
    shapes: { type: 'string', default: 'S1 S5' },
  },
  allowPositionals: true,
})
const size = { accounts: Number(flags.accounts), sessions: 20, templates: 50 }

interface Database {
  readonly url: string
  /** The process ids of its servers. */
  readonly servers: readonly number[]
  readonly shapes: Readonly<Record<string, readonly LoadRequest[]>>
}

interface Measured {
  readonly rate: number
  /** Microseconds for each request. */
  readonly service: number
  readonly database: number
  readonly p50: number
  readonly p99: number
}

using programs = new Programs()
await measureAll()

async function measureAll() {
  const databases: Database[] = []
  for (const url of addresses) {
    const shapes = requestsByShape(await fill(url, size, size.accounts), size, 2000)
    databases.push({ url, servers: await serversOf(url), shapes })
  }
  print('| shape | database | requests/s | service, CPU µs | database, CPU µs | p50 ms | p99 ms |')
  print('| --- | --- | ---: | ---: | ---: | ---: | ---: |')
  for (const name of Object.keys(databases[0]?.shapes ?? {})) {
    if (!flags.shapes.split(' ').some(shape => name.startsWith(shape))) continue
    const rounds = new Map<Database, Measured[]>(databases.map(database => [database, []]))
    for (let round = 0; round < Number(flags.rounds); round += 1) {
      for (const [database, measured] of rounds) measured.push(await measure(database, database.shapes[name] ?? []))
    }
    for (const [{ url }, measured] of rounds) {
      const of = (figure: keyof Measured, digits: number) => median(measured.map(one => one[figure])).toFixed(digits)
      const figures = [of('rate', 0), of('service', 1), of('database', 1), of('p50', 2), of('p99', 2)]
      print(`| ${[name, new URL(url).pathname.slice(1), ...figures].join(' | ')} |`)
    }
  }
}

async function measure({ url, servers }: Database, requests: readonly LoadRequest[]): Promise<Measured> {
  // Records of a distributed database are never cached, so those of others must not be cached either.
  const service = await programs.service(url, [])
  const connections = Number(flags.connections)
  const load = (seconds: number) => poll(service.url, Iterator.from(repeated(requests)), { seconds, connections })
  // Warms up: every connection of the service prepares its statements.
  await load(2)
  const cpu = () => [cpuOf(service.process.pid ?? 0), servers.reduce((sum, pid) => sum + cpuOf(pid), 0)] as const
  const before = cpu()
  const { requests: count, seconds, latencies, statuses } = await load(Number(flags.seconds))
  const after = cpu()
  await programs.stop(service.process)
  if (statuses.get(200) !== count) throw new Error(`statuses of ${url}: ${JSON.stringify([...statuses])}`)
  return {
    rate: count / seconds,
    service: ((after[0] - before[0]) * 1e6) / count,
    database: ((after[1] - before[1]) * 1e6) / count,
    p50: quantile(latencies, 0.5),
    p99: quantile(latencies, 0.99),
  }
}

function* repeated(requests: readonly LoadRequest[]): Generator<LoadRequest, undefined> {
  for (;;) yield* requests
}

/** The process of the server, and those of the workers if it coordinates some. */
async function serversOf(url: string): Promise<number[]> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    const servers = rows.map(({ pid }) =>
      Number(/^PPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]),
    )
    const { rowCount: hasWorkers } = await client.query(`select 1 from pg_extension where extname = 'citus'`)
    if (hasWorkers !== 1) return servers
    const { rows: workers } = await client.query<{ host: string; port: string }>(
      'select node_name as host, node_port::text as port from citus_get_active_worker_nodes()',
    )
    const others = workers.map(({ host, port }) =>
      serversOf(Object.assign(new URL(url), { hostname: host, port, pathname: '/template1' }).href),
    )
    return [...servers, ...(await Promise.all(others)).flat()]
  } finally {
    await client.end()
  }
}

function print(text: string) {
  process.stdout.write(`${text}\n`)
}
