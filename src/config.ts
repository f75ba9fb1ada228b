import { BlockList, isIP } from 'node:net'
import { isBlockedPort, isHost, parseAddress, parseKey, isLoopbackHost, isPrivateAddress } from './contract/address.ts'
import { isDigits, isName } from './contract/names.ts'
import { Refusal } from './contract/refusal.ts'

/** A setting of the service: its default, its meaning and its syntax. */
interface Setting<Value> {
  readonly fallback: string
  readonly help: string
  /** Throws an Error whose message completes "<env> …". */
  readonly parse: (text: string) => Value
  /** The name of the setting without which it has no effect. */
  readonly needs?: string | undefined
}

/** All settings; `publicUrl` is the environment variable `LOCKSTEP_PUBLIC_URL`. `npm run docs` writes them to docs/settings.md. */
export const settings = withNames({
  databaseUrl: setting(
    'sqlite:./data/lockstep.db',
    '`sqlite:<path>` or `postgres://user@host:port/database`.',
    databaseUrl,
  ),
  host: setting('127.0.0.1', 'The address to listen on.', hostName),
  port: setting('5625', 'The port to listen on; 0 for any free one.', port),
  publicUrl: setting(
    '',
    'The address that people and programs use, if it is not the one that the service listens on. Links in responses begin with it. With a path, everything is below that path.',
    publicAddress,
  ),
  hsts: setting(
    'on',
    'Whether browsers use only https (`Strict-Transport-Security`) if the public address is https.',
    onOff,
  ),
  allowedHosts: setting('', 'Host names that requests may use, separated by commas; any if empty.', names),
  trustedProxies: setting('', 'Proxies (addresses, CIDRs) whose `X-Forwarded-For` is used; none if empty.', networks),
  corsOrigins: setting('', 'Origins whose pages may read the API, separated by commas; none if empty.', origins),
  rateLimit: setting('600', 'Requests with one API key in 60 seconds; 0 for no limit.', count),
  concurrencyLimit: setting('32', 'Concurrent requests with one API key; 0 for no limit.', count),
  failureLimit: setting('30', 'Requests with a wrong API key from one address in 60 seconds; 0 for no limit.', count),
  addressConnections: setting(
    '128',
    'Open connections of one address, except of trusted proxies; 0 for no limit.',
    count,
  ),
  pageLimit: setting('600', 'Pages of the dashboard in one browser session in 60 seconds; 0 for no limit.', count),
  addressPageLimit: setting('6000', 'Pages before the sign-in for one address in 60 seconds; 0 for no limit.', count),
  headersTimeout: setting('10', 'Seconds within which the headers of a request must arrive.', someSeconds),
  requestTimeout: setting(
    '15',
    'Seconds within which a form must arrive after its headers, and for which a client may stop reading a response.',
    someSeconds,
  ),
  uploadMax: setting(
    '256',
    'Megabytes that the files of one upload may have together; 0 allows no uploads.',
    megabytes,
  ),
  keepAlive: setting('5', 'Seconds for which an idle connection stays open. Use 65 behind a proxy.', someSeconds),
  drainDelay: setting('0', 'Seconds to listen on after SIGTERM, while `/readyz` answers 503.', seconds),
  overloadLag: setting(
    '500',
    'Milliseconds of delay of the event loop above which requests get 503 while more than 100 are in work; 0 for no limit.',
    count,
  ),
  dashboard: setting('on', 'Whether the dashboard is served: `on` or `off`.', onOff),
  insecureHttp: setting('off', 'Whether people may sign in over plain HTTP from other machines: `on` or `off`.', onOff),
  oidcIssuer: setting('', 'The OpenID Connect issuer with which people may sign in; none if empty.', issuer),
  oidcClientId: setting('', 'The client id of Lockstep at the OpenID Connect issuer.', clientId, 'oidcIssuer'),
  oidcClientSecretFile: setting(
    '',
    'A file, readable by its owner only, with the secret of Lockstep at the OpenID Connect issuer; no secret if empty.',
    filePath,
    'oidcIssuer',
  ),
  oidcAuth: setting(
    '',
    'How this secret is sent, `basic` (in a header) or `post` (in the form); as the issuer prefers if empty.',
    oidcAuth,
    'oidcClientSecretFile',
  ),
  oidcName: setting('your organisation', 'The name of the OpenID Connect issuer on pages.', shownName, 'oidcIssuer'),
  accessLog: setting('on', 'Whether each request is logged: `on` or `off`.', onOff),
  readsDays: setting('1095', 'Days after which entries of the log of reads are removed.', days),
  metricsHost: setting('127.0.0.1', 'The address of metrics, or its host name.', hostName, 'metricsPort'),
  metricsPort: setting('', 'The port to serve Prometheus metrics on, at `/metrics`; none if empty.', value =>
    value === '' ? undefined : port(value),
  ),
  sourceUrl: setting(
    '',
    'The server that `pull` reads records from, unless `--from` names another. Without either, `pull` goes on with the only source that it knows.',
    // The command looks whether an address without TLS is listed.
    unlessEmpty(text => parseAddress(text, [URL.parse(text)?.origin ?? ''])),
  ),
  sourceAccount: setting(
    '',
    'The id or username of the account that `pull` stores records under, unless `--account` names another.',
    unlessEmpty(accountName),
  ),
  sourceToken: setting('', 'The API key that `pull` sends to that server. It is never stored.', unlessEmpty(parseKey)),
  sourceTokenFile: setting(
    '',
    'A file, readable by its owner only, with the API key that `pull` sends unless `LOCKSTEP_SOURCE_TOKEN` is set.',
    filePath,
  ),
  pullRate: setting('50', 'Requests that `pull` sends in a minute; 0 for no limit.', count),
  pull: setting('on', 'Whether `serve` pulls from the sources that people connect: `on` or `off`.', onOff),
  pullDatabaseUrl: setting(
    '',
    'The database, for a role that may write records; for the processes that pull, read uploads and remove records. If empty, they use the role of the service.',
    unlessEmpty(databaseUrl),
  ),
  sourceOrigins: setting(
    '',
    'Servers of a private network (origins, separated by commas) that records may be copied from, such as http://192.168.1.10:5625. All that are public and have https need no entry.',
    sourceOrigins,
  ),
  secretFile: setting(
    '',
    'The file with the secret that encrypts the API keys of sources. On SQLite it is made next to the database if this is empty; on PostgreSQL keys are stored for a single pull only then, until the service restarts.',
    filePath,
  ),
  maxRecords: setting(
    '2000000',
    'Records of an account, including rejected ones, beyond which people cannot bring in more on the page; 0 for no limit.',
    count,
  ),
  maxBytes: setting(
    '4000000000',
    'Bytes of these records, beyond which people cannot bring in more on the page; 0 for no limit.',
    bytes,
  ),
  url: setting(
    'http://127.0.0.1:5625',
    'The address of the service that `lockstep mcp`, `lockstep homeassistant` and the programs in `examples/` read.',
    url,
  ),
  token: setting(
    '',
    'The API key that `lockstep mcp`, `lockstep homeassistant` and the programs in `examples/` send.',
    unlessEmpty(parseKey),
  ),
})

export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['parse']> }

/** Reads settings from the environment: all, or those that are named. Throws Refusal that lists all problems. */
export function readConfig<Name extends keyof Config = keyof Config>(
  environment: Readonly<Record<string, string | undefined>>,
  names?: readonly Name[],
): Pick<Config, Name> {
  const injected = injectedNames(environment)
  const given = (env: string) => (injected.includes(env) ? '' : (environment[env] ?? ''))
  const config: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, { fallback, parse, needs }] of Object.entries<Setting<unknown>>(settings)) {
    if (names?.some(known => known === name) === false) continue
    const env = environmentName(name)
    const value = given(env)
    try {
      config[name] = parse(value === '' ? fallback : value)
      if (value !== '' && needs !== undefined && given(environmentName(needs)) === '')
        throw new Error(`has no effect without ${environmentName(needs)}`)
    } catch (error) {
      problems.push(`${env} ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('LOCKSTEP_') && !isSetting(name) && !injected.includes(name)) {
      problems.push(`${name} is not a setting: see settings.md`)
    }
  }
  if (problems.length > 0) throw new Refusal('usage', problems.join('\n'))
  // Each name of the table was parsed by its own setting.
  return Object.freeze(config) as Pick<Config, Name>
}

/** What is wrong if pulls would write into another database than the service reads; SQLite has no roles that need another address. */
export function pullDatabaseProblem({ databaseUrl, pullDatabaseUrl }: Config): string | undefined {
  const isMeant = [databaseUrl, ''].includes(pullDatabaseUrl)
  if (isMeant || ![databaseUrl, pullDatabaseUrl].some(url => url.startsWith('sqlite:'))) return undefined
  return `${settings.pullDatabaseUrl.env} must name the database of the service, as another role of PostgreSQL`
}

/**
 * What a platform tells about services or containers whose names begin with `lockstep`, in variables that look like settings: Kubernetes
 * for each service, Docker for linked containers. One of them is always an address such as `LOCKSTEP_DB_PORT=tcp://10.0.0.7:5432` or,
 * where the deployment sets `LOCKSTEP_PORT` itself, `LOCKSTEP_PORT_5625_TCP=tcp://10.0.0.7:5625`.
 */
export function injectedNames(environment: Readonly<Record<string, string | undefined>>): readonly string[] {
  const own = Object.keys(environment).filter(name => name.startsWith('LOCKSTEP_'))
  const serviceOf = (name: string) =>
    /^(tcp|udp|sctp):\/\//.test(environment[name] ?? '') ? /^(.*_)PORT(_\d+_[A-Z]+)?$/.exec(name)?.[1] : undefined
  const services = own.flatMap(name => serviceOf(name) ?? [])
  const isInjected = (name: string) =>
    services.some(service => name.startsWith(service) && INJECTED.test(name.slice(service.length)))
  return own.filter(name => serviceOf(name) !== undefined || (!isSetting(name) && isInjected(name)))
}

const INJECTED = /^(SERVICE_HOST$|SERVICE_PORT(_|$)|PORT_\d+_|NAME$|ENV_)/

function isSetting(name: string): boolean {
  return Object.values(settings).some(({ env }) => env === name)
}

/** What records and files that people bring in by pages leave free on the disk; for records, SQLite only. */
export const MIN_FREE_BYTES = 256 * 1024 * 1024

/** How often an account may have a source checked in an hour. */
export const MAX_CHECKS_PER_HOUR = 10

function setting<Value>(
  fallback: string,
  help: string,
  parse: (text: string) => Value,
  needs?: string,
): Setting<Value> {
  return { fallback, help, parse, needs }
}

function withNames<Table extends Readonly<Record<string, Setting<unknown>>>>(table: Table) {
  const named = Object.entries(table).map(([name, one]) => [name, { ...one, env: environmentName(name) }])
  // Each name has its own setting.
  return Object.fromEntries(named) as { readonly [Name in keyof Table]: Table[Name] & { readonly env: string } }
}

function environmentName(name: string): string {
  return `LOCKSTEP_${name.replaceAll(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`
}

function unlessEmpty(parse: (value: string) => string): (value: string) => string {
  return value => (value === '' ? '' : parse(value))
}

/** As the standard has them. */
function clientId(value: string): string {
  if (!/^[\x20-\x7e]*$/.test(value) || isQuoted(value)) {
    throw new Error('must be one line of printable characters, without quotes and spaces around it')
  }
  return value
}

function shownName(value: string): string {
  if (!isName(value) || isQuoted(value)) {
    throw new Error('must be a name of up to 64 characters, without quotes and spaces around it')
  }
  return value
}

function accountName(value: string): string {
  const isId = isDigits(value) && /^[1-9]/.test(value) && Number.isSafeInteger(Number(value))
  if (isDigits(value) ? !isId : !isName(value.trim())) throw new Error('must be an id of 1 or more, or a username')
  return value
}

function filePath(value: string): string {
  if (value !== '' && !isFilePath(value)) throw new Error(`must be ${FILE_PATH}`)
  return value
}

/** Throws an error without the value, which may have a password. */
export function databaseUrl(value: string): string {
  const [, path] = /^sqlite:(.+)/s.exec(value) ?? []
  // What other programs read in an address would be a part of the name of the file.
  const isFile = path !== undefined && isFilePath(path) && !/\?|^(\/\/|file:|:)/.test(path)
  if (isFile || (/^postgres(ql)?:\/\//.test(value) && !isQuoted(value))) return value
  throw new Error(
    `must be sqlite:<path> or postgres://user@host:port/database; <path> must be ${FILE_PATH}, without //, file: and options`,
  )
}

/** A shell would expand the start, but not here; a slash at the end is that of a folder. */
function isFilePath(path: string): boolean {
  return !isQuoted(path) && !/^[~$]|\/$/.test(path)
}

const FILE_PATH = 'the whole path of a file, without quotes, spaces around it, ~ and variables'

function isQuoted(value: string): boolean {
  return /^["'\s]|["'\s]$/.test(value)
}

function port(value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw new Error('must be a port from 0 to 65535')
  return Number(value)
}

function count(value: string): number {
  return whole(value, 9, 'a whole number of 0 or more')
}

function bytes(value: string): number {
  return whole(value, 15, 'a number of bytes, such as 4000000000')
}

/** Parses megabytes; returns bytes. */
function megabytes(value: string): number {
  return whole(value, 6, 'megabytes, such as 256') * 1024 * 1024
}

function whole(value: string, maxDigits: number, what: string): number {
  if (!/^\d+$/.test(value) || value.length > maxDigits) throw new Error(`must be ${what}`)
  return Number(value)
}

/** Parses seconds; returns milliseconds. */
function seconds(value: string): number {
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(value)) throw new Error('must be seconds, such as 5 or 0.5')
  return Math.round(Number(value) * 1000)
}

/** The same without 0, which would switch the timeout off. */
function someSeconds(value: string): number {
  const ms = seconds(value)
  if (ms === 0) throw new Error('must be seconds of more than 0, such as 5 or 0.5')
  return ms
}

/** Earlier versions had 1 and 0 for one of the settings. */
function onOff(value: string): boolean {
  if (!['on', 'off', '1', '0'].includes(value)) throw new Error('must be on or off')
  return value === 'on' || value === '1'
}

/** As the `Host` header has them, but for the port. */
function names(value: string): readonly string[] {
  const found = list(value).map(name => name.toLowerCase())
  if (found.some(name => !isHost(name) || URL.parse(`http://${name}`)?.hostname !== name)) {
    throw new Error(
      'must be host names without scheme, port, path and wildcard, separated by commas, such as history.example, [::1]',
    )
  }
  return found
}

function hostName(value: string): string {
  if (isIP(value) === 0 && (value.startsWith('[') || !isHost(value.toLowerCase()))) {
    throw new Error('must be an address or a name without scheme, port and brackets, such as 0.0.0.0 or ::1')
  }
  return value
}

function days(value: string): number {
  if (count(value) === 0) throw new Error('must be a number of days of 1 or more')
  return count(value)
}

/** Whether browsers and `fetch` can open an address: wildcards match nothing. */
function canMatch({ protocol, hostname, port }: URL): boolean {
  return /^https?:$/.test(protocol) && isHost(hostname) && !isBlockedPort(port)
}

function origins(value: string): readonly string[] {
  for (const origin of list(value)) {
    const parsed = URL.parse(origin)
    if (parsed === null || parsed.origin !== origin || !canMatch(parsed)) {
      throw new Error('must be origins separated by commas, such as https://charts.example')
    }
  }
  return list(value)
}

/** An API key is sent to them: of names the addresses are checked when they are known. */
function sourceOrigins(value: string): readonly string[] {
  for (const origin of origins(value)) {
    const { protocol, hostname } = new URL(origin)
    const address = hostname.replace(/^\[(.*)\]$/, '$1')
    if (protocol === 'http:' && isIP(address) !== 0 && !isPrivateAddress(address)) {
      throw new Error('must be https origins, such as https://history.example, or http origins of a private network')
    }
  }
  return list(value)
}

function networks(value: string): BlockList {
  const blocks = new BlockList()
  for (const part of list(value)) {
    const [address = '', prefix, more] = part.split('/')
    const version = isIP(address)
    // Connections of IPv4 count as such, however the system names them.
    if (/^::ffff:/i.test(address)) throw new Error('must have IPv4 addresses as such, such as 10.0.0.0/8')
    const bits = prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix)
    if (more !== undefined || version === 0 || !/^\d{1,3}$/.test(prefix ?? '0') || bits > (version === 4 ? 32 : 128)) {
      throw new Error('must be addresses or CIDRs separated by commas, such as 10.0.0.0/8, ::1')
    }
    blocks.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6')
  }
  return blocks
}

function list(value: string): string[] {
  const items = value
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
  if (value !== '' && items.length === 0) throw new Error('must have at least one item between its commas, or be empty')
  return items
}

/** The identifier of an issuer, without a slash at its end. Without TLS it must be on this machine. */
function issuer(value: string): string {
  if (value === '') return ''
  const { protocol, hostname = '' } = webAddress(value) ?? {}
  if (protocol !== 'https:' && !isLoopbackHost(hostname)) {
    throw new Error('must be an https address, such as https://id.example')
  }
  return value.replace(/\/$/, '')
}

function oidcAuth(value: string): 'basic' | 'post' | undefined {
  if (value === '') return undefined
  if (value !== 'basic' && value !== 'post') throw new Error('must be basic or post')
  return value
}

/** An address without a trailing slash; empty if not set. */
function url(value: string): string {
  if (value === '') return ''
  const parsed = webAddress(value)
  if (parsed === undefined) {
    throw new Error(
      'must be an http or https address without username, password and query, such as https://history.example',
    )
  }
  return parsed.href.replace(/\/$/, '')
}

/** An address without username, password, query and fragment. */
function webAddress(value: string): URL | undefined {
  const parsed = URL.parse(value)
  if (parsed === null || !canMatch(parsed)) return undefined
  return [parsed.search, parsed.hash, parsed.username, parsed.password].every(part => part === '') ? parsed : undefined
}

/** The same where the service is served: a path has only characters that need no encoding, which programs write differently. */
function publicAddress(value: string): string {
  const address = url(value)
  if (!/^(\/[A-Za-z0-9._~-]+)*$/.test(publicPath(address))) {
    throw new Error(
      'must have a path of letters, digits, dots, hyphens and underscores, such as https://home.example/lockstep',
    )
  }
  return address
}

/** The path below which the service is served, as `/lockstep`; empty at the root of a host. */
export function publicPath(publicUrl: string): string {
  return publicUrl === '' ? '' : new URL(publicUrl).pathname.replace(/\/$/, '')
}
