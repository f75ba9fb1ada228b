import { accessSync, constants, readFileSync } from 'node:fs'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readSecretFile } from '../accounts/secret-files.ts'
import { makeClient } from '../client.ts'
import { readConfig, settings } from '../config.ts'
import { isHost } from '../contract/address.ts'
import { isLoopbackHost } from '../contract/loopback.ts'
import { serviceFailure } from '../homeassistant/errors.ts'
import { version } from '../version.ts'
import { parseSpan } from './instants.ts'
import { startProgress } from './progress.ts'
import { say, stopSignals, withOptions } from './terminal.ts'
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
    new Option('--prefix <topic>', 'the discovery prefix of Home Assistant').default('homeassistant'),
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
  readonly prefix: string
  readonly every: number
  readonly maxAge: number
  readonly texts?: boolean
  readonly remove?: boolean
}

async function entities(flags: EntitiesFlags) {
  const { username, passwordFile, ca, id, prefix, every, maxAge } = flags
  const broker = brokerAddress(flags.broker)
  if (broker.protocol === 'mqtt:') warnUnencrypted(broker, 'the broker', 'states and password', 'mqtts://')
  if (ca !== undefined && broker.protocol !== 'mqtts:') throw new Refusal('usage', '--ca is only used with mqtts://')
  const connection = {
    url: broker.href,
    username,
    password: passwordFile === undefined ? undefined : firstLine(passwordFile),
    ca: ca === undefined ? undefined : readNamed(ca, file => readFileSync(file, 'utf8')),
  }
  const outcome = flags.remove === true ? NOT_REMOVED : ENTITIES_STOPPED
  const stop = stopSignals(outcome)
  // Loaded only here, so that other commands start faster.
  const { publishEntities, removeEntities } = await import('../homeassistant/publish.ts')
  const { publicUrl, url } = readConfig(process.env, ['publicUrl', 'url'])
  const device = { id, name: nameOf(id), prefix, address: publicUrl === '' ? url : publicUrl, version }
  try {
    if (flags.remove === true) {
      await removeEntities({ broker: connection, device, signal: stop.signal, say })
      return say(`removed the entities of ${id}`)
    }
    const client = serviceClient()
    const name = flags.texts === true ? `${device.name} ${await usernameOf(client)}` : device.name
    await publishEntities({
      client,
      broker: connection,
      device: { ...device, name },
      every,
      maxAge,
      signal: stop.signal,
      say,
    })
  } catch (error) {
    if (!stop.signal.aborted) throw error
  }
  if (stop.isInterrupted()) throw new Refusal('interrupted', outcome)
  say(outcome)
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
  const url = serverAddress(server)
  if (url.protocol === 'ws:') warnUnencrypted(url, 'Home Assistant', 'statistics and token', 'wss://')
  const stop = stopSignals(HISTORY_STOPPED)
  const shown = startProgress()
  const { writeHistory, writeRepeatedly } = await import('../homeassistant/history.ts')
  const options = {
    client: serviceClient(),
    server: url.href,
    token: firstLine(tokenFile),
    id,
    name: nameOf(id),
    signal: stop.signal,
    progress: (title: string, done: number, of: number) => shown?.show(title, done, of, `${done} of ${of}`),
  }
  const sayAlone = (line: string) => {
    shown?.end()
    say(line)
  }
  try {
    if (every === undefined) return sayAlone(await writeHistory(options))
    await writeRepeatedly(options, every, sayAlone)
  } catch (error) {
    shown?.end()
    if (!stop.signal.aborted) throw error
  }
  if (stop.isInterrupted()) throw new Refusal('interrupted', HISTORY_STOPPED)
  say(HISTORY_STOPPED)
}

const HISTORY_STOPPED = 'stopped: the next run writes what is missing'

function serverAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['ws:', 'wss:'].includes(url.protocol) || url.username !== '' || !isHost(url.hostname)) {
    throw new Refusal('usage', '--server must be an address such as ws://homeassistant.local:8123')
  }
  if (url.pathname === '/') url.pathname = '/api/websocket'
  return url
}

function warnUnencrypted({ hostname }: URL, what: string, secrets: string, better: string) {
  if (isLoopbackHost(hostname)) return
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

/** Errors do not repeat the address, because it could have a password. */
function brokerAddress(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (url === undefined || !['mqtt:', 'mqtts:'].includes(url.protocol) || !isHost(url.hostname.toLowerCase())) {
    throw new Refusal('usage', '--broker must be the address of an MQTT broker, such as mqtts://broker.example:8883')
  }
  if (url.username !== '' || url.password !== '') {
    throw new Refusal('usage', 'others can see what --broker says: use --username and --password-file')
  }
  return url
}

function parseId(text: string): string {
  if (/^[a-z0-9]+(_[a-z0-9]+)*$/.test(text) && text.length <= 40) return text
  throw new InvalidArgumentError('It must have up to 40 lower-case letters and digits, with single _ between them.')
}
