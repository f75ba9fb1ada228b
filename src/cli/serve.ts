import closeWithGrace from 'close-with-grace'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { fillColumns } from '../archive/fill-columns.ts'
import { importArchive } from '../archive/import.ts'
import { findAccount, hasAccounts } from '../accounts/accounts.ts'
import { type Config, readConfig, settings } from '../config.ts'
import { scopes } from '../contract/endpoint.ts'
import type { SampleAccount } from '../dashboard/options.ts'
import { makeLog, writeToStderr } from '../http/log.ts'
import type { Metrics, MetricsListener } from '../http/metrics.ts'
import { type Service, urlOf } from '../http/server.ts'
import type { Store } from '../store/index.ts'
import { migrate, schemaVersion } from '../store/migrations.ts'
import { setPassword } from '../accounts/passwords.ts'
import { RefusedError } from '../accounts/errors.ts'
import { createToken, listTokens, revokeToken } from '../accounts/tokens.ts'
import { type FullServiceOptions, startService } from './service.ts'
import {
  databaseOption,
  openStore,
  print,
  say,
  sourceOf,
  type StoreOptions,
  UsageError,
  withOptions,
  withStore,
} from './terminal.ts'
import { endingOnFailure, isWorker, onRetirement, supervise } from './workers.ts'

interface ServeFlags extends StoreOptions {
  readonly host?: string
  readonly port?: number
  readonly workers?: number
  readonly migrate?: boolean
}

export function addServeCommands(program: Command) {
  withOptions(
    program.command('serve'),
    new Option('--host <address>', `address to listen on (${sourceOf(settings.host)})`),
    portOption(),
    new Option('--workers <count>', 'processes that serve together; SIGHUP exchanges them one by one').argParser(
      workerCount,
    ),
    databaseOption(),
    new Option('--no-migrate', 'refuse to start on an old schema instead of bringing it up to date'),
  )
    .summary('run the service')
    .description('Runs the service: brings the schema up to date, then listens.')
    .action(serve)

  withOptions(program.command('migrate'), databaseOption())
    .summary('bring the schema of the database up to date')
    .description('Brings the schema of the database up to date and says what it did.')
    .action(async (flags: StoreOptions) => {
      await withStore(
        flags,
        async store => {
          const steps = await migrate(store, Date.now(), fillColumns)
          for (const step of steps) print(`applied: ${step}`)
          print(`the schema has version ${await schemaVersion(store)}${steps.length === 0 ? ', as before' : ''}`)
        },
        { create: true, schema: 'any' },
      )
    })

  withOptions(
    program.command('demo'),
    new Option('--reset', 'make the sample data anew'),
    portOption(),
    new Option('--database <url>', 'where the sample is kept').default(DEMO_DATABASE),
  )
    .summary('run the service on sample data')
    .description('Runs the service on its own sample database, for this machine only, and prints how to use it.')
    .action(demo)
}

async function serve(flags: ServeFlags) {
  const environment = readConfig(process.env)
  const config = { ...environment, host: flags.host ?? environment.host, port: flags.port ?? environment.port }
  const mayMigrate = flags.migrate !== false
  const openServed = () =>
    openStore(flags.database ?? config.databaseUrl, {
      busyTimeoutMs: SERVER_BUSY_TIMEOUT_MS,
      statementTimeoutMs: STATEMENT_TIMEOUT,
      readUrls: config.databaseReadUrls,
      create: mayMigrate,
      schema: mayMigrate ? 'migrate' : 'current',
    })
  if (isWorker) {
    await endingOnFailure(async () => start(await openServed(), config))
    return
  }
  const store = await openServed()
  if (flags.workers === undefined) {
    const { url } = await start(store, config)
    await welcome(store, url, flags)
    return
  }
  const log = makeLog(writeToStderr, false)
  // First, because an error from here on would leave processes behind.
  try {
    await listenForMetrics(async () => (await loadMetrics()).makeClusterMetrics(), config)
  } catch (error) {
    await store.close()
    throw error
  }
  const address = await supervise({
    count: flags.workers,
    longestDrain: config.drainDelay + MAX_CLOSE_MS,
    logFailure: error => log.failure(error, undefined),
  })
  await welcome(store, urlOf(config.host, address.port), flags)
  await store.close()
}

async function welcome(store: Store, url: string, { database }: ServeFlags) {
  print(`Listening on ${url}`)
  if (!(await hasAccounts(store))) say(firstSteps(database))
}

async function demo(flags: { reset?: boolean; port?: number; database: string }) {
  const config = readConfig(process.env)
  const store = await openStore(flags.database, { busyTimeoutMs: SERVER_BUSY_TIMEOUT_MS })
  try {
    await makeSample(store, flags.reset ?? false)
  } catch (error) {
    await store.close()
    throw error
  }
  const token = await demoToken(store)
  const service = await start(
    store,
    {
      ...config,
      host: '127.0.0.1',
      port: flags.port ?? config.port,
      // On a terminal that shows what to try, a line for each request would be in the way.
      accessLog: process.env[settings.accessLog.env] === 'on',
      allowedHosts: ['localhost', '127.0.0.1', '[::1]'],
      // Links and the cookie belong to this machine, whatever the settings of another service say.
      publicUrl: '',
    },
    { sample: { username: DEMO_USER, password: DEMO_PASSWORD }, tries: PORTS_TO_TRY },
  )
  print(`Lockstep with sample data: ${service.url}
Reference and console:     ${service.url}/docs
Sign-in:                   ${DEMO_USER} / ${DEMO_PASSWORD}
Token:                     ${token}

Try:
  curl -H 'Authorization: Bearer ${token}' '${service.url}/api/v1/lkbx/templates?limit=1'`)
}

/** Listens, on the next free port where that is allowed, until it is told to stop. */
async function start(
  store: Store,
  config: Config,
  { sample, tries = 1 }: { sample?: SampleAccount; tries?: number } = {},
): Promise<Service> {
  const log = makeLog(writeToStderr, config.accessLog)
  const metrics = config.metricsPort === undefined ? undefined : (await loadMetrics()).makeMetrics()
  let listener: MetricsListener | undefined
  let service: Service
  try {
    // Of several processes, the one that supervises them serves their figures.
    if (metrics !== undefined && !isWorker) listener = await listenForMetrics(() => metrics, config)
    service = await listen({ store, config, log, metrics, sample }, tries)
  } catch (error) {
    // What is left open would keep the process alive.
    await listener?.close()
    await store.close()
    throw error
  }
  const stop = async () => {
    await service.close()
    await (isWorker ? metrics?.handOver() : listener?.close())
    await store.close()
    log.flush()
  }
  if (isWorker) onRetirement(stop)
  else {
    closeWithGrace({ delay: config.drainDelay + MAX_CLOSE_MS, logger: false }, async ({ err }) => {
      if (err !== undefined) log.failure(err, undefined)
      await stop()
    })
  }
  return service
}

async function listen(options: FullServiceOptions, tries: number): Promise<Service> {
  const { config } = options
  try {
    return await startService(options)
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE' && tries > 1) {
      return listen({ ...options, config: { ...config, port: config.port + 1 } }, tries - 1)
    }
    throw cannotListen(error, config.host, config.port, 'choose others with --host and --port')
  }
}

/** Loaded only where they are asked for. */
const loadMetrics = () => import('../http/metrics.ts')

async function listenForMetrics(
  make: () => Pick<Metrics, 'text'> | Promise<Pick<Metrics, 'text'>>,
  { metricsHost, metricsPort }: Config,
): Promise<MetricsListener | undefined> {
  if (metricsPort === undefined) return undefined
  const metrics = await make()
  const { serveMetrics } = await loadMetrics()
  try {
    return await serveMetrics(metrics, metricsHost, metricsPort)
  } catch (error) {
    const { metricsHost: host, metricsPort: port } = settings
    throw cannotListen(error, metricsHost, metricsPort, `choose others for metrics with ${host.env} and ${port.env}`)
  }
}

function cannotListen(error: unknown, host: string, port: number, instead: string): unknown {
  const code = codeOf(error)
  if (code === undefined) return error
  return new UsageError(
    code === 'EADDRINUSE'
      ? `port ${port} on ${host} is taken: ${instead}`
      : `cannot listen on ${host}, port ${port} (${code}): ${instead}`,
  )
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined
}

/** Makes the sample when it is not of today. Throws UsageError for a database that holds anything else. */
async function makeSample(store: Store, reset: boolean) {
  const now = Date.now()
  const today = new Date(now).toISOString().slice(0, 10)
  const made = await store.db.selectFrom('note').select('value').where('name', '=', SAMPLE).executeTakeFirst()
  if (made?.value === today && !reset) return
  if (made === undefined && (await hasAccounts(store))) {
    throw new UsageError('this database holds records that are no sample: name another one with --database')
  }
  // Noted first: a sample that was interrupted is still a sample.
  await noteSample(store, 'unfinished')
  await store.db.deleteFrom('account').execute()
  await importArchive(store, sampleChunks(now))
  await setPassword(store, (await findAccount(store, DEMO_USER)).id, DEMO_PASSWORD)
  await noteSample(store, today)
}

async function* sampleChunks(now: number): AsyncGenerator<Buffer> {
  // Only the demo needs it.
  const { sampleArchive } = await import('../demo/sample.ts')
  for (const line of sampleArchive(now)) yield Buffer.from(`${line}\n`)
}

async function noteSample(store: Store, value: string) {
  await store.db
    .insertInto('note')
    .values({ name: SAMPLE, value })
    .onConflict(conflict => conflict.column('name').doUpdateSet({ value }))
    .execute()
}

/** A fresh token for the sample account; the one before it is revoked. */
async function demoToken(store: Store): Promise<string> {
  const now = Date.now()
  const { id } = await findAccount(store, DEMO_USER).catch((error: unknown) => {
    throw error instanceof RefusedError ? new UsageError('the sample is damaged: make it anew with --reset') : error
  })
  for (const token of await listTokens(store, id)) {
    if (token.name === DEMO_TOKEN && token.revoked_at === null) await revokeToken(store, token.id, now)
  }
  return createToken(store, { accountId: id, name: DEMO_TOKEN, scopes, expiresAt: null }, now)
}

function workerCount(text: string): number {
  if (!/^[1-9][0-9]?$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 99.')
  return Number(text)
}

function portOption(): Option {
  return new Option('--port <port>', `port to listen on (${sourceOf(settings.port)})`).argParser(text => {
    try {
      return settings.port.parse(text)
    } catch {
      throw new InvalidArgumentError('It must be a port from 0 to 65535.')
    }
  })
}

/** Milliseconds; an answer is due within five seconds. */
const SERVER_BUSY_TIMEOUT_MS = 4000
const STATEMENT_TIMEOUT = 4000
const MAX_CLOSE_MS = 10_000
const PORTS_TO_TRY = 50
const DEMO_DATABASE = 'sqlite:./data/demo.db'
const DEMO_USER = 'alex'
const DEMO_PASSWORD = 'sample data only'
const DEMO_TOKEN = 'Demo'
const SAMPLE = 'sample'

function firstSteps(database: string | undefined): string {
  const where = database === undefined ? '' : ` --database '${database}'`
  return `
There are no accounts yet. An archive brings its own; in another terminal, with one of their names for alex:
  ./lockstep import records.ndjson${where}
  ./lockstep account list${where}
  ./lockstep token create --account alex --name 'First script'${where}
An account without a tier gets one before its token:
  ./lockstep account set-tier --account alex --tier ultra${where}
Where no line is of kind account, it comes before the import, with the id that the records name as their owner:
  ./lockstep account add --username alex --id 4711${where}`
}
