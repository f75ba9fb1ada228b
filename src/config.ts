import { BlockList, isIP } from 'node:net'

/** A setting of the service: its environment variable, its default, its meaning and its syntax. */
interface Setting<Value> {
  readonly env: string
  readonly fallback: string
  readonly help: string
  /** Throws an Error whose message completes "<env> …". */
  readonly parse: (text: string) => Value
}

/** All settings. The page of the docs is generated from this table. */
export const settings = {
  databaseUrl: setting(
    'LOCKSTEP_DATABASE_URL',
    'sqlite:./data/lockstep.db',
    'The database: `sqlite:<path>` or `postgres://user:password@host:port/database`; of several hosts, separated by commas, the one that accepts writes.',
    text,
  ),
  databaseReadUrls: setting(
    'LOCKSTEP_DATABASE_READ_URLS',
    '',
    'PostgreSQL replicas, separated by commas. Records are read from one that is at most five seconds behind the primary.',
    list,
  ),
  primaryGrace: setting(
    'LOCKSTEP_PRIMARY_GRACE',
    '60',
    'Seconds for which known API keys keep working, and pages are read from a replica, while the primary is down.',
    seconds,
  ),
  host: setting('LOCKSTEP_HOST', '127.0.0.1', 'The address to listen on.', text),
  port: setting('LOCKSTEP_PORT', '5625', 'The port to listen on; 0 for any free one.', port),
  publicUrl: setting(
    'LOCKSTEP_PUBLIC_URL',
    '',
    'The address at which callers reach the service, if it is not the one it listens on. Links to other pages of a list start with it.',
    url,
  ),
  allowedHosts: setting(
    'LOCKSTEP_ALLOWED_HOSTS',
    '',
    'Host names that requests may use, separated by commas; any if empty.',
    names,
  ),
  trustedProxies: setting(
    'LOCKSTEP_TRUSTED_PROXIES',
    '',
    'Addresses and CIDRs of proxies whose `X-Forwarded-For` is used, separated by commas; none if empty.',
    networks,
  ),
  corsOrigins: setting(
    'LOCKSTEP_CORS_ORIGINS',
    '',
    'Origins whose pages may read responses in a browser, separated by commas; none if empty.',
    origins,
  ),
  rateLimit: setting('LOCKSTEP_RATE_LIMIT', '600', 'Requests with one API key in 60 seconds; 0 for no limit.', count),
  concurrencyLimit: setting(
    'LOCKSTEP_CONCURRENCY_LIMIT',
    '32',
    'Concurrent requests with one API key; 0 for no limit.',
    count,
  ),
  failureLimit: setting(
    'LOCKSTEP_FAILURE_LIMIT',
    '30',
    'Requests with a wrong API key from one address (IPv6: one /64) in 60 seconds; 0 for no limit.',
    count,
  ),
  headersTimeout: setting('LOCKSTEP_HEADERS_TIMEOUT', '10', 'Seconds within which the headers must arrive.', seconds),
  requestTimeout: setting(
    'LOCKSTEP_REQUEST_TIMEOUT',
    '15',
    'Seconds within which a request must arrive; also how long a client may stop reading a response.',
    seconds,
  ),
  keepAlive: setting(
    'LOCKSTEP_KEEP_ALIVE',
    '5',
    'Seconds an idle connection stays open; use 65 behind a proxy.',
    seconds,
  ),
  pageCache: setting(
    'LOCKSTEP_PAGE_CACHE',
    '16',
    'Megabytes of records and pages of lists that a process keeps in memory, for callers that ask again; 0 for none. Pages are compressed when there is no room for more.',
    count,
  ),
  drainDelay: setting(
    'LOCKSTEP_DRAIN_DELAY',
    '0',
    'Seconds the service keeps listening after SIGTERM, while `/readyz` answers 503.',
    seconds,
  ),
  overloadLag: setting(
    'LOCKSTEP_OVERLOAD_LAG',
    '500',
    'Milliseconds of event loop delay above which requests are refused with 503; 0 for no limit.',
    count,
  ),
  dashboard: setting('LOCKSTEP_DASHBOARD', 'on', 'Whether the dashboard is served: `on` or `off`.', onOff),
  insecureHttp: setting(
    'LOCKSTEP_INSECURE_HTTP',
    '0',
    'Whether people may sign in to the dashboard over plain HTTP from other machines: `1` or `0`.',
    oneOrZero,
  ),
  oidcIssuer: setting(
    'LOCKSTEP_OIDC_ISSUER',
    '',
    'An OpenID Connect issuer with which people may also sign in to the dashboard; none if empty.',
    issuer,
  ),
  oidcClientId: setting(
    'LOCKSTEP_OIDC_CLIENT_ID',
    '',
    'The identifier of this service as a client of the issuer.',
    text,
  ),
  oidcClientSecretFile: setting(
    'LOCKSTEP_OIDC_CLIENT_SECRET_FILE',
    '',
    'A file with the secret of that client, which only its owner can read; a client without a secret if empty.',
    text,
  ),
  oidcName: setting('LOCKSTEP_OIDC_NAME', 'your organisation', 'The name of the issuer on pages.', text),
  accessLog: setting('LOCKSTEP_ACCESS_LOG', 'on', 'Whether each request is logged: `on` or `off`.', onOff),
  readsDays: setting('LOCKSTEP_READS_DAYS', '1095', 'Days for which the log of who read whose records is kept.', count),
  metricsHost: setting('LOCKSTEP_METRICS_HOST', '127.0.0.1', 'The address to serve metrics on.', text),
  metricsPort: setting(
    'LOCKSTEP_METRICS_PORT',
    '',
    'The port to serve Prometheus metrics on, at `/metrics`; none if empty.',
    value => (value === '' ? undefined : port(value)),
  ),
  sourceUrl: setting(
    'LOCKSTEP_SOURCE_URL',
    '',
    'The server that `pull` reads records from, unless `--from` names another.',
    text,
  ),
  sourceToken: setting(
    'LOCKSTEP_SOURCE_TOKEN',
    '',
    'The API key that `pull` sends to that server. It is never stored.',
    text,
  ),
  sourceTokenFile: setting(
    'LOCKSTEP_SOURCE_TOKEN_FILE',
    '',
    'A file with that key, which only its owner can read.',
    text,
  ),
  url: setting(
    'LOCKSTEP_URL',
    'http://127.0.0.1:5625',
    'The service that `mcp` and the programs of `examples/` read.',
    url,
  ),
  token: setting('LOCKSTEP_TOKEN', '', 'The API key that they read it with.', text),
  pullRate: setting('LOCKSTEP_PULL_RATE', '50', 'Requests that `pull` sends in a minute; 0 for no limit.', count),
}

export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['parse']> }

/** Some settings are invalid; the message lists all of them. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Reads settings from the environment: all, or those that are named. Throws ConfigError that lists all problems. */
export function readConfig<Name extends keyof Config = keyof Config>(
  environment: Readonly<Record<string, string | undefined>>,
  names?: readonly Name[],
): Pick<Config, Name> {
  const config: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, { env, fallback, parse }] of Object.entries<Setting<unknown>>(settings)) {
    if (names?.some(known => known === name) === false) continue
    const value = environment[env]
    try {
      config[name] = parse(value === undefined || value === '' ? fallback : value)
    } catch (error) {
      problems.push(`${env} ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('LOCKSTEP_') && !Object.values(settings).some(({ env }) => env === name)) {
      problems.push(`${name} is not a setting: see docs/settings.md`)
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  // Each name of the table was parsed by its own setting.
  return Object.freeze(config) as Pick<Config, Name>
}

/** The page of the docs that lists every setting. */
export function settingsPage(): string {
  const rows = Object.values<Setting<unknown>>(settings).map(
    ({ env, fallback, help }) => `| \`${env}\` | ${fallback === '' ? '' : `\`${fallback}\``} | ${help} |`,
  )
  return `# Settings

Settings are environment variables. If a value is invalid or a name unknown, the program does not start and lists all of them.
Each process counts limits on its own.

| Setting | Default | Meaning |
| --- | --- | --- |
${rows.join('\n')}
`
}

function setting<Value>(env: string, fallback: string, help: string, parse: (text: string) => Value): Setting<Value> {
  return { env, fallback, help, parse }
}

function text(value: string): string {
  return value
}

function port(value: string): number {
  if (!/^\d{1,5}$/.test(value) || Number(value) > 65_535) throw new Error('must be a port from 0 to 65535')
  return Number(value)
}

function count(value: string): number {
  if (!/^\d{1,9}$/.test(value)) throw new Error('must be a whole number of 0 or more')
  return Number(value)
}

/** Parses seconds; returns milliseconds. */
function seconds(value: string): number {
  if (!/^\d{1,5}(\.\d{1,3})?$/.test(value)) throw new Error('must be seconds, such as 5 or 0.5')
  return Math.round(Number(value) * 1000)
}

function onOff(value: string): boolean {
  if (value !== 'on' && value !== 'off') throw new Error('must be on or off')
  return value === 'on'
}

function oneOrZero(value: string): boolean {
  if (value !== '1' && value !== '0') throw new Error('must be 1 or 0')
  return value === '1'
}

function names(value: string): readonly string[] {
  return list(value).map(name => name.toLowerCase())
}

function origins(value: string): readonly string[] {
  for (const origin of list(value)) {
    if (URL.parse(origin)?.origin !== origin) {
      throw new Error('must be origins separated by commas, such as https://charts.example')
    }
  }
  return list(value)
}

function networks(value: string): BlockList {
  const blocks = new BlockList()
  for (const part of list(value)) {
    const [address = '', prefix, more] = part.split('/')
    const version = isIP(address)
    const bits = prefix === undefined ? (version === 4 ? 32 : 128) : Number(prefix)
    if (more !== undefined || version === 0 || !/^\d{1,3}$/.test(prefix ?? '0') || bits > (version === 4 ? 32 : 128)) {
      throw new Error('must be addresses or CIDRs separated by commas, such as 10.0.0.0/8, ::1')
    }
    blocks.addSubnet(address, bits, version === 4 ? 'ipv4' : 'ipv6')
  }
  return blocks
}

function list(value: string): string[] {
  return value
    .split(',')
    .map(item => item.trim())
    .filter(item => item !== '')
}

/** The identifier of an issuer, as it writes it itself. Without TLS it must be on this machine. */
function issuer(value: string): string {
  if (value === '') return ''
  const parsed = URL.parse(value)
  const isLocal = parsed !== null && /^(localhost|127(\.\d+){3}|\[::1\])$/.test(parsed.hostname)
  if (
    parsed === null ||
    parsed.search !== '' ||
    parsed.hash !== '' ||
    !(parsed.protocol === 'https:' || (parsed.protocol === 'http:' && isLocal))
  ) {
    throw new Error('must be an https address, such as https://id.example')
  }
  return value
}

/** An address without a trailing slash; empty if not set. */
function url(value: string): string {
  if (value === '') return ''
  const parsed = URL.parse(value)
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.search !== '' || parsed.hash !== '') {
    throw new Error('must be an http or https address, such as https://history.example')
  }
  return parsed.href.replace(/\/$/, '')
}
