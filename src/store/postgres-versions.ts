import pg from 'pg'
import { lacksPreferredTls, parseAddress } from './postgres-address.ts'

/** What runs at an address of a database. */
export interface PostgresVersions {
  /** As `server_version_num` has it. */
  readonly server: number
  /** Undefined without a pooler; its details are undefined if it does not tell them to this role. */
  readonly pooler: { readonly version: string | undefined; readonly preparedStatements: number | undefined } | undefined
}

/** Asks the server for its version, and a PgBouncer in front of it for its own. */
export async function readPostgresVersions(url: string): Promise<PostgresVersions> {
  const address = parseAddress(url)
  const server = await ask(address, 'show server_version_num').catch((error: unknown) => {
    if (!lacksPreferredTls(error, url)) throw error
    address.ssl = false
    return ask(address, 'show server_version_num')
  })
  return { server: Number(server[0]?.['server_version_num']), pooler: await readPooler(address) }
}

/** PgBouncer answers for a database of its own name, which a server does not have. */
async function readPooler(address: pg.ClientConfig): Promise<PostgresVersions['pooler']> {
  const { options: _, ...pooler } = { ...address, database: 'pgbouncer' }
  try {
    const [row] = await ask(pooler, 'show version')
    const config = await ask(pooler, 'show config')
    const prepared = config.find(({ key }) => key === 'max_prepared_statements')?.['value']
    return {
      version: /\d+\.\d+/.exec(String(row?.['version']))?.[0],
      preparedStatements: prepared === undefined ? undefined : Number(prepared),
    }
  } catch (error) {
    const message = error instanceof Error ? error.message : ''
    // It names its own database if it refuses the role there.
    return /not allowed|no such user/.test(message) ? { version: undefined, preparedStatements: undefined } : undefined
  }
}

async function ask(address: pg.ClientConfig, statement: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ ...address, connectionTimeoutMillis: 2000, query_timeout: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.end().catch(() => {})
  }
}
