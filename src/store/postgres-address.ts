import { StoreError } from './store.ts'

/** The address of a database on one server, or on several of which one is the primary. */
export interface PostgresAddress {
  /** The address on each server, in order. */
  readonly servers: readonly string[]
  /** Whether the server that accepts writes has to be found among them. */
  readonly isLocated: boolean
}

/** Parses `postgres://user@one:5432,two:5432/database?target_session_attrs=read-write`. Throws StoreError. */
export function parseAddress(address: string): PostgresAddress {
  const [, start = '', hosts = '', end = ''] = FORM.exec(address) ?? []
  const servers = hosts.split(',').map(host => URL.parse(start + host + end))
  const attributes = servers[0]?.searchParams.get('target_session_attrs') ?? undefined
  if (attributes !== undefined && !PRIMARY.has(attributes)) {
    throw new StoreError('target_session_attrs of the database must be read-write')
  }
  const urls = servers.map(server => {
    if (server === null || (servers.length > 1 && server.hostname === '')) {
      throw new StoreError('the database must be named as postgres://user@host:port/database')
    }
    server.searchParams.delete('target_session_attrs')
    return server.href
  })
  return { servers: urls, isLocated: attributes !== undefined || urls.length > 1 }
}

const FORM = /^([^:]+:\/\/(?:[^@/?#]*@)?)([^/?#]*)(.*)$/s

const PRIMARY = new Set(['read-write', 'primary'])
