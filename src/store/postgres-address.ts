import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type pg from 'pg'
import { Refusal } from '../contract/refusal.ts'

type Tls = Exclude<pg.ClientConfig['ssl'], undefined>

/**
 * What the driver needs to connect to `postgres://user@host:port/database?sslmode=…`. The driver reads addresses and variables such as
 * `PGPORT` itself, but its `sslmode` means something else than libpq's, and what is wrong in one ends the process. Throws Refusal.
 */
export function parseAddress(address: string): pg.ClientConfig {
  const named = URL.parse(address)
  // A user without a host is no URL, but the usual way to name a socket.
  const url = named ?? URL.parse(address.replace('@/', '@localhost/'))
  if (url === null && Number(PORT_OF_ADDRESS.exec(address)?.[1]) > 0xffff) throw new Refusal('usage', WRONG_PORT)
  if (url === null || url.searchParams.has('target_session_attrs')) throw new Refusal('usage', ONE_HOST)
  const {
    host = named === null ? '' : decoded(url.hostname).replace(/^\[(.*)\]$/, '$1'),
    port = url.port || variable('PGPORT'),
    user = decoded(url.username),
    password = decoded(url.password),
    ssl,
    sslmode = ssl === undefined ? variable('PGSSLMODE') : undefined,
    sslrootcert = sslmode && variable('PGSSLROOTCERT'),
    sslcert = sslmode && variable('PGSSLCERT'),
    sslkey = sslmode && variable('PGSSLKEY'),
    uselibpqcompat: _,
    ...others
  } = Object.fromEntries(url.searchParams)
  if (/[,*]/.test(host)) throw new Refusal('usage', ONE_HOST)
  if (port !== undefined && !(/^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) <= 0xffff)) {
    throw new Refusal('usage', WRONG_PORT)
  }
  if (Object.keys(others).some(name => !OTHERS.includes(name))) {
    throw new Refusal(
      'usage',
      `the address of the database may have host, port, user, password, sslmode, sslrootcert, sslcert, sslkey, ${OTHERS.join(', ')} after the question mark, and nothing else`,
    )
  }
  const files = { ca: sslrootcert, cert: sslcert, key: sslkey }
  return {
    ...others,
    ...given({ host, user, password, database: decoded(url.pathname.slice(1)) }),
    ...(port === undefined ? {} : { port: Number(port) }),
    // Sockets have no TLS.
    ...(host.startsWith('/') ? { ssl: false } : tlsOf(sslmode ?? modeWithout(ssl, files), files)),
  }
}

const ONE_HOST = 'the database must be named as postgres://user@host:port/database, with one host'
const WRONG_PORT = 'the port of the database must be a number from 1 to 65535'
const PORT_OF_ADDRESS = /^\w+:\/\/[^/?#]*:(\d+)(?:[/?#]|$)/

/** What the driver takes as it is. It would ignore others, such as `connect_timeout`, or read other bytes because of them. */
const OTHERS = ['options', 'application_name', 'fallback_application_name']

/** Whether a connection failed because the server has no TLS, which `sslmode=prefer` does not need. */
export function lacksPreferredTls(error: unknown, address: string): boolean {
  const isWithoutTls = error instanceof Error && error.message === 'The server does not support SSL connections'
  return isWithoutTls && PREFERRED.has(URL.parse(address)?.searchParams.get('sslmode') ?? variable('PGSSLMODE') ?? '')
}

const PREFERRED = new Set(['allow', 'prefer'])
const MODES = ['disable', ...PREFERRED, 'require', 'verify-ca', 'verify-full', 'no-verify']

type Files = Readonly<Record<'ca' | 'cert' | 'key', string | undefined>>

/** Without a mode, certificates are checked if the address has any. */
function modeWithout(ssl: string | undefined, { ca, cert, key }: Files): string | undefined {
  if (ssl === '0' || ssl === 'false') return 'disable'
  return (ssl ?? ca ?? cert ?? key) === undefined ? undefined : 'verify-full'
}

/** The value of an environment variable; undefined if it is empty. */
function variable(name: string): string | undefined {
  const value = process.env[name]
  return value === '' ? undefined : value
}

function tlsOf(mode: string | undefined, { ca, cert, key }: Files): { ssl?: Tls } {
  if (mode === undefined) return {}
  if (!MODES.includes(mode)) throw new Refusal('usage', `sslmode of the database must be one of ${MODES.join(', ')}`)
  if (mode === 'disable') return { ssl: false }
  const isSystem = ca === 'system'
  if (isSystem && mode !== 'verify-full') {
    throw new Refusal('usage', 'sslrootcert=system of the database needs sslmode=verify-full')
  }
  if (mode === 'verify-ca' && ca === undefined) {
    throw new Refusal('usage', 'sslmode=verify-ca of the database needs sslrootcert')
  }
  const files = given({
    ca: isSystem ? '' : contentOf('sslrootcert', ca),
    cert: contentOf('sslcert', cert),
    key: contentOf('sslkey', key),
  })
  try {
    if (Object.values(files).includes('none')) throw new Error('no PEM')
    createSecureContext(files)
  } catch {
    throw new Refusal('usage', 'sslrootcert, sslcert and sslkey of the database must be certificates and their key')
  }
  if (mode === 'verify-full') return { ssl: files }
  // As libpq: whoever names authorities with `require` has the certificate checked, but not its name.
  const isChecked = mode === 'verify-ca' || (mode === 'require' && ca !== undefined)
  return {
    ssl: { ...files, ...(isChecked ? { checkServerIdentity: () => undefined } : { rejectUnauthorized: false }) },
  }
}

function contentOf(name: string, path: string | undefined): string {
  if (path === undefined) return ''
  try {
    // Node.js ignores authorities that are none.
    const content = readFileSync(path, 'utf8')
    return content.includes('-----BEGIN ') ? content : 'none'
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown'
    throw new Refusal('usage', `the file that ${name} of the database names cannot be read (${code})`)
  }
}

/** Only what is not empty: the driver has environment variables and defaults for the rest. */
function given<Name extends string>(values: Readonly<Record<Name, string>>): Partial<Record<Name, string>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== '')) as Partial<Record<Name, string>>
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Refusal(
      'usage',
      'the address of the database must have % only as part of an encoded character, such as %40',
    )
  }
}
