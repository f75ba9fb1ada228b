import { createSecureContext } from 'node:tls'
import type pg from 'pg'
import { parse, toClientConfig } from 'pg-connection-string'
import { Refusal } from '../contract/refusal.ts'

/**
 * What the driver needs to connect to `postgres://user@host:port/database?sslmode=…`, which means what it means to libpq. What is wrong in
 * an address would otherwise end the process when it connects. Throws Refusal.
 */
export function parseAddress(address: string): pg.ClientConfig {
  const { searchParams = new URLSearchParams() } = URL.parse(address.replace('@/', '@localhost/')) ?? {}
  if ([...searchParams.keys()].some(name => !PARAMETERS.includes(name)))
    throw new Refusal('usage', `the address of the database may have ${PARAMETERS.join(', ')} after the question mark`)
  const mode = searchParams.get('sslmode')
  if (mode !== null && !MODES.includes(mode))
    throw new Refusal('usage', `sslmode of the database must be one of ${MODES.join(', ')}`)
  try {
    const config = toClientConfig(parse(address, { useLibpqCompat: true }))
    const { host = '', port = 1, ssl } = config
    if (/[,*]/.test(host)) throw new Error('it names several hosts')
    if (port < 1 || port > 0xffff) throw new Error('the port is not a number from 1 to 65535')
    if (typeof ssl === 'object') createSecureContext(ssl)
    // Sockets have no TLS.
    return host.startsWith('/') ? { ...config, ssl: false } : config
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'it is not understood'
    throw new Refusal('usage', `the address of the database cannot be used: ${reason}`)
  }
}

/** The driver would ignore others, such as `connect_timeout`, or read other bytes because of them. */
const PARAMETERS = [
  'host',
  'port',
  'user',
  'password',
  'sslmode',
  'sslrootcert',
  'sslcert',
  'sslkey',
  'options',
  'application_name',
  'fallback_application_name',
]

/** `allow` and `prefer` protect from nobody: whoever can read the connection can also say that the server has no TLS. */
const MODES = ['disable', 'require', 'verify-ca', 'verify-full']
