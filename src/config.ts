/** A setting of the service: where it comes from, what it is without, and what may stand there. */
interface Setting<Value> {
  readonly env: string
  readonly fallback: string
  readonly help: string
  /** Throws an Error whose message completes "<env> …". */
  readonly parse: (text: string) => Value
}

/** Every setting. The reference in the docs is made from this table. */
export const settings = {
  databaseUrl: setting(
    'LOCKSTEP_DATABASE_URL',
    'sqlite:./data/lockstep.db',
    'Where the records are: `sqlite:<path>`.',
    text,
  ),
  host: setting('LOCKSTEP_HOST', '127.0.0.1', 'The address to listen on.', text),
  port: setting('LOCKSTEP_PORT', '5625', 'The port to listen on; 0 takes any that is free.', port),
  publicUrl: setting(
    'LOCKSTEP_PUBLIC_URL',
    '',
    'Where callers reach the service, when that is not where it listens: links to further pages start with it.',
    url,
  ),
  allowedHosts: setting(
    'LOCKSTEP_ALLOWED_HOSTS',
    '',
    'Host names the service answers for, separated by commas; any when empty.',
    names,
  ),
}

export type Config = { readonly [Name in keyof typeof settings]: ReturnType<(typeof settings)[Name]['parse']> }

/** Settings that cannot be used; the message lists all of them. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/** Reads every setting from the environment. Throws ConfigError, with every problem at once. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const config: Record<string, unknown> = {}
  const problems: string[] = []
  for (const [name, { env, fallback, parse }] of Object.entries<Setting<unknown>>(settings)) {
    const sent = environment[env]
    try {
      config[name] = parse(sent === undefined || sent === '' ? fallback : sent)
    } catch (error) {
      problems.push(`${env} ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  for (const name of Object.keys(environment)) {
    if (name.startsWith('LOCKSTEP_') && !Object.values(settings).some(({ env }) => env === name)) {
      problems.push(`${name} is not a setting`)
    }
  }
  if (problems.length > 0) throw new ConfigError(problems.join('\n'))
  // Each name of the table was parsed by its own setting.
  return Object.freeze(config) as Config
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

function names(value: string): readonly string[] {
  return value
    .split(',')
    .map(name => name.trim().toLowerCase())
    .filter(name => name !== '')
}

/** An address without a trailing slash; empty when there is none. */
function url(value: string): string {
  if (value === '') return ''
  const parsed = URL.parse(value)
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.search !== '' || parsed.hash !== '') {
    throw new Error('must be an http or https address, such as https://history.example')
  }
  return parsed.href.replace(/\/$/, '')
}
