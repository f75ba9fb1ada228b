import { accessSync, constants, readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readSecretFile } from '../accounts/secret-files.ts'
import { makeClient } from '../client.ts'
import { readConfig, settings } from '../config.ts'
import { isHost, isLoopbackHost } from '../contract/address.ts'
import { serviceFailure } from '../homeassistant/errors.ts'
import { writeHistory } from '../homeassistant/history.ts'
import { publishEntities, removeEntities } from '../homeassistant/publish.ts'
import { version } from '../version.ts'
import { parseSpan } from './instants.ts'
import { startProgress } from './progress.ts'
import { withOptions } from './options.ts'
import { say } from './print.ts'
import { stopSignals } from './terminal.ts'
import { Refusal } from '../contract/refusal.ts'

export function addHomeAssistantCommands(program: Command) {
  const command = program
    .command('homeassistant')
    .summary('show a running service in Home Assistant')
    .description(
      `Shows the service at ${settings.url.env} in Home Assistant, with the API key ${settings.token.env}; the scope status:read is enough.`,
    )
  withOptions(
    command.command('entities'),
    new Option('--broker <url>', 'the MQTT broker of Home Assistant, mqtt:// or mqtts://').makeOptionMandatory(),
    new Option('--username <name>', 'the user name at the broker'),
    new Option('--password-file <file>', 'a file with the password at the broker'),
    new Option(
      '--ca <file>',
      'the certificate (PEM) that signed that of an mqtts:// broker, if the system does not know it',
    ),
    new Option('--id <name>', 'names the device and its topics, for a second account or service')
      .argParser(parseId)
      .default('lockstep'),
    new Option('--every <span>', 'how often to ask the service').argParser(parseSpan).default(60_000, '1m'),
    new Option('--max-age <span>', 'entities are unavailable while the records are known up to longer ago')
      .argParser(parseSpan)
      .default(86_400_000, '1d'),
    new Option('--texts', 'name the device after the account'),
    new Option('--remove', 'remove the entities instead'),
  )
    .summary('entities by MQTT discovery')
    .description('Publishes entities by MQTT discovery, and their states as they change, until stopped.')
    .action(entities)
  withOptions(
    command.command('history'),
    new Option(
      '--server <url>',
      'the address of Home Assistant, such as ws://homeassistant.local:8123',
    ).makeOptionMandatory(),
    new Option(
      '--token-file <file>',
      'a file with a long-lived access token of an administrator',
    ).makeOptionMandatory(),
    new Option('--id <name>', 'names the statistics, for a second account or service')
      .argParser(parseId)
      .default('lockstep'),
    new Option('--every <span>', 'repeat after this time, such as 1h, until stopped').argParser(parseSpan),
  )
    .summary('the past as long-term statistics')
    .description(
      'Writes the whole history as long-term statistics, by hours. A later run writes what is new or was corrected.',
    )
    .action(history)
}

interface EntitiesFlags {
  readonly broker: string
  readonly username?: string
  readonly passwordFile?: string
  readonly ca?: string
  readonly id: string
  readonly every: number
  readonly maxAge: number
  readonly texts?: boolean
  readonly remove?: boolean
}

async function entities(flags: EntitiesFlags) {
  const { username, passwordFile, ca, id, every, maxAge } = flags
  const url = addressOf('--broker', flags.broker, ['mqtts:', 'mqtt:'])
  warnUnencrypted(url, 'the broker', 'states and password')
  if (ca !== undefined && url.protocol !== 'mqtts:') throw new Refusal('usage', '--ca is only used with mqtts://')
  const broker = {
    url: url.href,
    username,
    password: passwordFile === undefined ? undefined : firstLine(passwordFile),
    ca: ca === undefined ? undefined : readNamed(ca, file => readFileSync(file, 'utf8')),
  }
  const config = readConfig(process.env, ['publicUrl', 'url'])
  const device = { id, name: nameOf(id), address: config.publicUrl || config.url, version }
  if (flags.remove === true) {
    return untilStopped(NOT_REMOVED, async signal => {
      await removeEntities({ broker, device, signal, say })
      return `removed the entities of ${id}`
    })
  }
  await untilStopped(ENTITIES_STOPPED, async signal => {
    const client = serviceClient()
    const name = flags.texts === true ? `${device.name} ${await usernameOf(client)}` : device.name
    await publishEntities({ client, broker, device: { ...device, name }, every, maxAge, signal, say })
    return ENTITIES_STOPPED
  })
}

const ENTITIES_STOPPED = 'stopped: the entities are unavailable until the next start'
const NOT_REMOVED = 'stopped: the entities are still there'

interface HistoryFlags {
  readonly server: string
  readonly tokenFile: string
  readonly id: string
  readonly every?: number
}

async function history({ server, tokenFile, id, every }: HistoryFlags) {
  const url = addressOf('--server', server, ['wss:', 'ws:'])
  if (url.pathname === '/') url.pathname = '/api/websocket'
  warnUnencrypted(url, 'Home Assistant', 'statistics and token')
  using shown = startProgress()
  const sayAlone = (line: string) => {
    shown?.end()
    say(line)
  }
  await untilStopped(HISTORY_STOPPED, signal =>
    writeHistory({
      client: serviceClient(),
      server: url.href,
      token: firstLine(tokenFile),
      id,
      name: nameOf(id),
      signal,
      progress: (title: string, done: number, of: number) => shown?.show(title, done, of, `${done} of ${of}`),
      every,
      say: sayAlone,
    }),
  )
}

const HISTORY_STOPPED = 'stopped: the next run writes what is missing'

/** Runs work and says its outcome, or `stopped` after a signal. */
async function untilStopped(stopped: string, work: (signal: AbortSignal) => Promise<string>) {
  const stop = stopSignals(stopped)
  const outcome = await work(stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) throw error
    return stopped
  })
  if (stop.isInterrupted()) throw new Refusal('interrupted', stopped)
  say(outcome)
}

/** The address that an option names. Errors do not repeat it, because it could have a password. */
function addressOf(option: string, text: string, protocols: readonly [secure: string, plain: string]): URL {
  const url = URL.parse(text)
  // URLs of other protocols than that of the web keep the case of a host.
  if (url === null || !protocols.includes(url.protocol) || !isHost(url.hostname.toLowerCase())) {
    throw new Refusal('usage', `${option} must be an address such as ${protocols[0]}//homeassistant.local:8123`)
  }
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('usage', `others can see what ${option} says: leave out username and password`)
  }
  return url
}

function warnUnencrypted({ hostname, protocol }: URL, what: string, secrets: string) {
  if (['mqtts:', 'wss:'].includes(protocol) || isLoopbackHost(hostname)) return
  const better = protocol.replace(':', 's://')
  say(`warning: the connection to ${what} is not encrypted, so its network can read ${secrets}: use ${better}`)
}

function serviceClient() {
  const { url, token } = readConfig(process.env, ['url', 'token'])
  if (token === '') throw new Refusal('usage', `set ${settings.token.env} to an API key of the service at ${url}`)
  return makeClient({ baseUrl: url, token })
}

async function usernameOf(client: ReturnType<typeof makeClient>): Promise<string> {
  try {
    return (await client.get('/api/v1/me')).account.username
  } catch (error) {
    throw new Refusal('peer', serviceFailure(error))
  }
}

/** The name of a device, which begins the ids of its entities. */
function nameOf(id: string): string {
  return id === 'lockstep' ? 'Lockstep' : `Lockstep ${id}`
}

/** A secret from a file that only its owner can read. */
function firstLine(file: string): string {
  return readNamed(file, readSecretFile).split('\n')[0]?.trim() ?? ''
}

/** The text of a file that an option names. Throws Refusal if it cannot be read. */
function readNamed(file: string, read: (file: string) => string): string {
  try {
    accessSync(file, constants.R_OK)
  } catch (error) {
    throw new Refusal('usage', `${file} cannot be read`, { cause: error })
  }
  return read(file)
}

function parseId(text: string): string {
  if (/^[a-z0-9]+(_[a-z0-9]+)*$/.test(text) && text.length <= 40) return text
  throw new InvalidArgumentError('It must have up to 40 lower-case letters and digits, with single _ between them.')
}
