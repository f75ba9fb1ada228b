import { type Command, InvalidArgumentError, Option } from 'commander'
import { migrate } from '../archive/migrate.ts'
import { retryRejected } from '../archive/retry-rejected.ts'
import { makeFirstAccountLink } from '../accounts/first-account.ts'
import { INVITATION_PATH } from '../accounts/invitations.ts'
import { firstPullCommands } from '../accounts/first-steps.ts'
import { hasAccounts } from '../accounts/accounts.ts'
import { issuerProblem, type OidcSettings, readOidcSettings } from '../accounts/oidc.ts'
import { type Config, injectedNames, pullDatabaseProblem, readConfig, settings } from '../config.ts'
import { STATEMENT_TIMEOUT_MS } from '../contract/responses.ts'
import { makeLog, writeToStderr } from '../http/log.ts'
import { onConnectionChange } from '../pull/connections.ts'
import { openSecret, passingSecret, setPassingSecret } from '../pull/stored-key.ts'
import type { Store } from '../store/index.ts'
import { schemaVersion } from '../store/migrations.ts'
import { ownCommand } from '../version.ts'
import { listenForMetrics, loadMetrics, maxStopMs, portOption, runService, SERVER_BUSY_TIMEOUT_MS } from './listen.ts'
import { startScheduler } from './scheduled.ts'
import { serviceAddress } from './next-steps.ts'
import { databaseUrlOf, openStore, saySaved, type StoreOptions, withStore } from './opening.ts'
import { databaseOption, sourceOf, withOptions } from './options.ts'
import { print, say } from './print.ts'
import { isWorker, onPullDue, onSecret, supervise, tellPullDue } from './workers.ts'
import { Refusal, renamed } from '../contract/refusal.ts'

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
    new Option('--workers <count>', 'processes that serve together; SIGHUP restarts them one by one').argParser(
      text => {
        if (!/^[1-9][0-9]?$/.test(text)) throw new InvalidArgumentError('It must be a number from 1 to 99.')
        return Number(text)
      },
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
          const steps = await migrate(store, Date.now(), { url: databaseUrlOf(flags), onSaved: saySaved })
          for (const step of steps) print(`applied: ${step}`)
          print(`the schema has version ${await schemaVersion(store)}${steps.length === 0 ? ', as before' : ''}`)
          const { tried, stored } = await retryRejected(store)
          if (tried > 0) print(`${stored} of ${tried} rejected rows are stored now`)
        },
        { create: true, schema: 'any' },
      )
    })
}

/** What would otherwise show only when somebody connects a source, or in a database that nobody reads. Throws Refusal. */
function checkPullSettings(config: Config) {
  const problem = pullDatabaseProblem(config)
  if (problem !== undefined) throw new Refusal('usage', problem)
  if (!config.pull || config.secretFile === '') return
  renamed(`${settings.secretFile.env}:`, ['refused', 'usage'], () => openSecret(config))
}

async function serve(flags: ServeFlags) {
  const { host, port, ...environment } = readConfig(process.env)
  const options = { host: flags.host ?? host, port: flags.port ?? port, databaseUrl: databaseUrlOf(flags) }
  const config = { ...environment, ...options }
  // Read at the start, because a mistake would otherwise show only when somebody signs in.
  const oidc = readOidcSettings(config)
  checkPullSettings(config)
  const injected = injectedNames(process.env)
  if (injected.length > 0 && !isWorker)
    say(`Ignored, because the platform set them and they are no settings: ${injected.join(', ')}`)
  const mayMigrate = flags.migrate !== false
  const log = makeLog(writeToStderr, { accessLog: false })
  const report = (problem: unknown) => log.failure(problem, undefined)
  const { databaseUrl } = config
  const openServed = () =>
    openStore(databaseUrl, {
      busyTimeoutMs: SERVER_BUSY_TIMEOUT_MS,
      writerThread: true,
      statementTimeoutMs: STATEMENT_TIMEOUT_MS,
      create: mayMigrate,
      ...(mayMigrate ? {} : { schema: 'current' }),
    })
  const startPulls = (pulled: Store) => {
    const scheduler = startScheduler(pulled, config, report)
    onConnectionChange(() => void scheduler.look())
    return scheduler
  }
  if (isWorker) {
    onConnectionChange(tellPullDue)
    onSecret(setPassingSecret)
    await runService(await openServed(), config)
    return
  }
  const secret = passingSecret()
  const store = await openServed()
  if (flags.workers === undefined) {
    const service = await runService(store, config, config.pull ? { startPulls } : {})
    await welcome(store, { ...config, port: service.port }, flags)
    await sayIssuerProblem(oidc)
    return
  }
  // Before the workers start, because an error later would leave them running.
  try {
    if (config.metricsPort !== undefined) await listenForMetrics((await loadMetrics()).makeClusterMetrics(), config)
  } catch (error) {
    await store.close()
    throw error
  }
  const bound = await supervise({ count: flags.workers, maxStopMs: maxStopMs(config), logFailure: report, secret })
  await welcome(store, { ...config, port: bound }, flags)
  await sayIssuerProblem(oidc)
  if (!config.pull) return store.close()
  const scheduler = startScheduler(store, config, report)
  onPullDue(() => void scheduler.look())
}

/** The service runs also while the issuer cannot be used: other sign-in methods work. */
async function sayIssuerProblem(oidc: OidcSettings | undefined) {
  const problem = oidc && (await issuerProblem(oidc))
  if (problem !== undefined) say(`Nobody can sign in with ${oidc?.name} now: ${problem}`)
}

/** `config` has the port that is bound. */
async function welcome(store: Store, config: Config, flags: ServeFlags) {
  const { urlOf } = await import('../http/server.ts')
  print(`Listening on ${urlOf(config.host, config.port)}`)
  if (await hasAccounts(store)) return
  const secret = await makeFirstAccountLink(store, Date.now())
  if (secret !== undefined) {
    say(
      `\nThere are no accounts yet. Open this link within an hour to create the first one:\n  ${serviceAddress(config)}${INVITATION_PATH}${secret}`,
    )
  }
  say(firstSteps(flags.database))
}

function firstSteps(database: string | undefined): string {
  const where = database === undefined ? '' : ` --database '${database}'`
  return `
To copy your history from another server with a command, with an API key of that server, run in another terminal:
${firstPullCommands(where)
  .map(command => `  ${command}`)
  .join('\n')}
To import an archive, which contains its accounts:
  ${ownCommand} import records.ndjson${where}`
}
