import pg from 'pg'

/** What runs at an address of a database. */
export interface PostgresVersions {
  /** As `server_version_num` has it. */
  readonly server: number
  /** Undefined without a pooler; its details are undefined if it does not tell them to this role. */
  readonly pooler: { readonly version: string | undefined; readonly preparedStatements: number | undefined } | undefined
}

/** Asks the server for its version, and a PgBouncer in front of it for its own. */
export async function readPostgresVersions(url: string): Promise<PostgresVersions> {
  const server = await ask(url, 'show server_version_num')
  return { server: Number(server[0]?.['server_version_num']), pooler: await readPooler(url) }
}

/** PgBouncer answers for a database of its own name, which a server does not have. */
async function readPooler(url: string): Promise<PostgresVersions['pooler']> {
  const address = new URL(url)
  address.pathname = '/pgbouncer'
  address.search = ''
  try {
    const [row] = await ask(address.href, 'show version')
    const config = await ask(address.href, 'show config')
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

async function ask(connectionString: string, statement: string): Promise<readonly Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 2000, query_timeout: 2000 })
  client.on('error', () => {})
  try {
    await client.connect()
    const { rows } = await client.query<Record<string, unknown>>(statement)
    return rows
  } finally {
    await client.end().catch(() => {})
  }
}
