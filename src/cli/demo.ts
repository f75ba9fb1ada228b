import { Readable } from 'node:stream'
import { type Command, Option } from 'commander'
import { findAccount, hasAccounts } from '../accounts/accounts.ts'
import { OPERATOR } from '../accounts/events.ts'
import { setPassword } from '../accounts/passwords.ts'
import { createKey, isActive, listKeys, replaceKey } from '../accounts/api-keys.ts'
import { importArchive } from '../archive/import.ts'
import { readConfig, settings } from '../config.ts'
import { defaultScopes } from '../contract/endpoint.ts'
import { DAY_MS } from '../contract/time.ts'
import { sampleArchive } from '../demo/sample.ts'
import { sqliteFile, type Store } from '../store/index.ts'
import { readNote, writeNote } from '../store/notes.ts'
import { ownCommand } from '../version.ts'
import { portOption, runService, SERVER_BUSY_TIMEOUT_MS } from './listen.ts'
import { databaseOf, openStore } from './opening.ts'
import { withOptions } from './options.ts'
import { print, say } from './print.ts'
import { Refusal } from '../contract/refusal.ts'

export function addDemoCommand(program: Command) {
  withOptions(
    program.command('demo'),
    new Option('--reset', 'create the sample data again'),
    portOption(),
    new Option('--database <url>', 'the database of the sample').default(DEMO_DATABASE),
  )
    .summary('run the service on sample data')
    .description(
      `Runs the service on its own sample database, and prints how to use it. It is for this machine only. ${IGNORED.join(', ')} have no effect.`,
    )
    .action(demo)
}

async function demo(flags: { reset?: boolean; port?: number; database: string }) {
  const database = databaseOf('--database', flags.database)
  const ignored = IGNORED.filter(name => (process.env[name] ?? '') !== '')
  const config = readConfig({ ...process.env, ...Object.fromEntries(IGNORED.map(name => [name, undefined])) })
  const store = await openStore(database, { busyTimeoutMs: SERVER_BUSY_TIMEOUT_MS, writerThread: true })
  try {
    await makeSample(store, flags.reset ?? false)
  } catch (error) {
    await store.close()
    throw error
  }
  const key = await demoKey(store)
  const service = await runService(
    store,
    {
      ...config,
      databaseUrl: database,
      port: flags.port ?? config.port,
      // Log lines would hide the commands to try.
      accessLog: config.accessLog && (process.env[settings.accessLog.env] ?? '') !== '',
      allowedHosts: ['localhost', '127.0.0.1', '[::1]'],
    },
    { sample: { username: DEMO_USER, password: DEMO_PASSWORD }, ports: PORTS_TO_TRY },
  )
  const port = flags.port ?? config.port
  if (ignored.length > 0) say(`The demo ignores ${ignored.join(', ')}.`)
  if (port !== 0 && service.port !== port) say(`Port ${port} is taken: this uses ${service.port}.`)
  print(`Lockstep with sample data: ${service.url}
API reference:             ${service.url}/docs
Sign-in:                   ${DEMO_USERS.join(' or ')} / ${DEMO_PASSWORD}
API key:                   ${key}

Try:
  curl -H 'Authorization: Bearer ${key}' '${service.url}/api/v1/lkbx/templates?limit=1'

The API key works for a day. Ctrl+C stops the demo; its data stays in ${sqliteFile(database) ?? 'its database'}.
Your own records:
  ${ownCommand} help pull      copies them from another server
  ${ownCommand} help import    reads them from an archive`)
}

/** Settings of another service, which must not change the database, address, links and cookies of this one. */
const IGNORED = (['databaseUrl', 'pullDatabaseUrl', 'host', 'publicUrl', 'allowedHosts'] as const).map(
  name => settings[name].env,
)
const PORTS_TO_TRY = 50
const DEMO_DATABASE = 'sqlite:./data/demo.db'
const DEMO_USERS = ['alex', 'robin'] as const
const DEMO_USER = DEMO_USERS[0]
const DEMO_PASSWORD = 'sample data only'
const DEMO_KEY = 'Demo'
const SAMPLE = 'sample'

/** Creates the sample unless it was created today. Throws Refusal for a database with other records. */
async function makeSample(store: Store, reset: boolean) {
  const now = Date.now()
  const today = new Date(now).toISOString().slice(0, 10)
  const made = await readNote(store.db, SAMPLE)
  if (made === today && !reset) return
  if (made === undefined && (await hasAccounts(store))) {
    throw new Refusal('usage', 'this database has records that are not the sample: choose another one with --database')
  }
  // Recorded first, so that the next start recognises an incomplete sample and replaces it.
  await writeNote(store.db, SAMPLE, 'unfinished')
  await store.db.deleteFrom('account').execute()
  await importArchive(store, Readable.from([...sampleArchive(now)].map(line => Buffer.from(`${line}\n`))))
  for (const user of DEMO_USERS) {
    const { id: accountId } = await findAccount(store, user)
    await setPassword(store, { accountId, password: DEMO_PASSWORD }, now)
  }
  await writeNote(store.db, SAMPLE, today)
}

/** An API key for the sample account, in place of the last start's, which keeps working for its day. */
async function demoKey(store: Store): Promise<string> {
  const now = Date.now()
  const { id } = await findAccount(store, DEMO_USER)
  const last = (await listKeys(store, id)).findLast(key => key.name === DEMO_KEY && isActive(key, now))
  return last === undefined
    ? createKey(store, { accountId: id, name: DEMO_KEY, scopes: defaultScopes, expiresAt: now + DAY_MS }, now)
    : replaceKey(store, { accountId: id, id: last.id }, now, OPERATOR)
}
