import { existsSync, statSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { issuerProblem, readOidcSettings } from '../accounts/oidc.ts'
import { readSecretFile } from '../accounts/secret-files.ts'
import { readBackupFacts } from '../backup/facts.ts'
import { type Config, MIN_FREE_BYTES, publicPath, pullDatabaseProblem, settings } from '../config.ts'
import { isLoopbackHost } from '../contract/address.ts'
import { DAY_MS } from '../contract/time.ts'
import { databaseNow } from '../jobs/jobs.ts'
import { TLS_ERROR } from '../pull/source.ts'
import { listSources } from '../pull/state.ts'
import { messageOf, serverVersion, type Store } from '../store/index.ts'
import { currentVersion, schemaVersion } from '../store/migrations.ts'
import type { Machine } from './doctor-machine.ts'
import { errorCode } from './terminal.ts'

export type Environment = Readonly<Record<string, string | undefined>>

export interface Patient {
  readonly environment: Environment
  /** The settings; defaults in place of invalid ones. */
  readonly config: Config
  readonly invalid: readonly string[]
  /** Undefined if the database cannot be opened. */
  readonly store: Store | undefined
  readonly failure: Error | undefined
  /** The file of an SQLite database. */
  readonly file: string | undefined
  readonly machine: Machine
}

/** What is checked: a row of the table in docs/troubleshooting.md. */
export interface Check {
  readonly name: string
  /** What is true if nothing is wrong. */
  readonly holds: string
  readonly advice: string
  /** Says what is wrong; undefined if there is nothing to check. Whatever it throws is wrong. */
  readonly examine: (patient: Patient) => Promise<readonly string[] | undefined> | readonly string[] | undefined
  /** What to know although nothing is wrong. */
  readonly note?: (patient: Patient) => string | undefined
}

const MEGABYTE = 1024 * 1024
const MIN_OPEN_FILES = 1024
const MIN_MEMORY_MB = 256
const MAX_CLOCK_SECONDS = 5

/** Everything that `doctor` checks, in this order. `npm run docs` writes the table of docs/troubleshooting.md from it. */
export const checks: readonly Check[] = [
  {
    name: 'settings',
    holds:
      'Every setting is known, has a valid value, and contradicts no other. An OpenID Connect issuer responds, and is called as it is set.',
    advice: 'Correct the settings that are named, and restart the service.',
    async examine({ config, environment, invalid }) {
      const oidc = readOidcSettings(config)
      const problem = oidc && (await issuerProblem(oidc))
      const named = problem === undefined ? [] : [`${settings.oidcIssuer.env}: ${problem}`]
      const pulled = pullDatabaseProblem(config) ?? []
      return [...invalid, ...contradictionsIn(config, environment), pulled, ...named].flat()
    },
  },
  {
    name: 'database',
    holds: 'The database can be opened and read.',
    advice: 'Run the command as the user of the service, with its settings. Otherwise the message says what to do.',
    examine: ({ failure }) => (failure === undefined ? [] : [failure.message]),
  },
  {
    name: 'schema',
    holds: 'The schema of the database is that of this version.',
    advice:
      'If it is older, back it up with the version that wrote it. Then start the service, or run `lockstep migrate`. If it is newer, upgrade, or restore a backup.',
    examine: ({ store }) => (store === undefined ? undefined : oldSchema(store)),
  },
  {
    name: 'files',
    holds:
      'The files of an SQLite database, and files with secrets, belong to the user who runs the command. Nobody else can read them, or write the folder of the database.',
    advice:
      'Run `chown lockstep:` and `chmod 600` for the files that are named, `chmod 600` alone for files of settings, and `chmod 700` for the folder.',
    examine: patient => [...problemsOfDatabase(patient), ...problemsOfSecrets(patient)],
  },
  {
    name: 'space',
    holds:
      'An SQLite database is on a disk of this machine with room for a second copy of it, which deleting and upgrading need.',
    advice: 'Make room on the disk, or move the database to a larger one. On a network, locks of SQLite are not safe.',
    examine: ({ file, machine }) =>
      file === undefined || !existsSync(file) ? undefined : problemsOfDisk(file, machine),
  },
  {
    name: 'backup',
    holds: 'The last backup is less than two days old, and one has passed its check in the last eight days.',
    advice: 'Run `lockstep backup --to FOLDER --check`, and let it run every day.',
    examine: ({ store, machine }) =>
      ifFilled(store, async filled => {
        const { madeAt, checkedAt } = await readBackupFacts(filled)
        const made = late(madeAt, machine.now(), 2).map(since => `made: ${since}`)
        return [...made, ...late(checkedAt, machine.now(), 8).map(since => `checked: ${since}`)]
      }),
  },
  {
    name: 'pull',
    holds: 'Every source was pulled completely in the last day.',
    advice: 'See the page Source, or run `lockstep pull` to see what is wrong.',
    examine: ({ store, machine }) =>
      ifFilled(store, async filled => {
        const sources = await listSources(filled)
        if (sources.length === 0) return undefined
        return sources.flatMap(({ username, origin, completedAt }) =>
          late(completedAt ?? undefined, machine.now(), 1).map(since => `${origin} for ${username}: ${since}`),
        )
      }),
  },
  {
    name: 'address',
    holds: `The service answers at ${settings.publicUrl.env}, which begins with https: without it there are no passkeys.`,
    advice: 'Start the service, and see that name, certificate and proxy lead there, as operating.md shows.',
    async examine({ config: { publicUrl } }) {
      const address = URL.parse(publicUrl)
      if (address === null) return undefined
      const isEncrypted = address.protocol === 'https:' || isLoopbackHost(address.hostname)
      return [...(isEncrypted ? [] : [`${settings.publicUrl.env} is ${publicUrl}`]), ...(await unreachable(publicUrl))]
    },
    note({ config: { publicUrl } }) {
      if (publicPath(publicUrl) === '') return undefined
      const { host } = new URL(publicUrl)
      return `every program on ${host} is trusted: browsers do not separate the paths of a host`
    },
  },
  {
    name: 'proxy',
    holds: 'The proxy in front of the service is trusted, and nobody else.',
    advice: `Set ${settings.trustedProxies.env} to the address from which the proxy connects, and let the proxy send \`X-Forwarded-For\`.`,
    examine({ config: { publicUrl, trustedProxies } }) {
      if (trustedProxies.check('192.0.2.1')) return ['every address is trusted, so callers can say any address']
      const isTrusting = trustedProxies.rules.length > 0 || !publicUrl.startsWith('https:')
      return isTrusting ? [] : ['no proxy is trusted, so all callers count as one']
    },
  },
  {
    name: 'clock',
    holds: 'The clock agrees with that of the database.',
    advice: 'Set the clock of the machine, for example with `timedatectl set-ntp true`.',
    examine: ({ store, machine }) =>
      ifFilled(store, async ({ reads, engine }) => {
        const { time } = await reads.selectNoFrom(databaseNow(engine).as('time')).executeTakeFirstOrThrow()
        const seconds = Math.round((machine.now() - time) / 1000)
        const isRight = Math.abs(seconds) <= MAX_CLOCK_SECONDS
        return isRight ? [] : [`the clock differs from that of the database by ${seconds} seconds`]
      }),
  },
  {
    name: 'limits',
    holds: `The service may open ${MIN_OPEN_FILES} files, which connections need, and use ${MIN_MEMORY_MB} MB of memory.`,
    advice: 'Raise `LimitNOFILE` or `MemoryMax` of the unit, the limits of the container, or `ulimit -n`.',
    examine({ machine }) {
      const openFiles = machine.openFiles()
      const memoryBytes = machine.memoryBytes()
      return [
        ...(openFiles >= MIN_OPEN_FILES ? [] : [`${openFiles} files may be open`]),
        ...(memoryBytes >= MIN_MEMORY_MB * MEGABYTE ? [] : [`there are ${megabytes(memoryBytes)} of memory`]),
      ]
    },
  },
  {
    name: 'version',
    holds: 'PostgreSQL has version 14 or later.',
    advice: 'Upgrade PostgreSQL.',
    async examine({ store }) {
      if (store?.engine !== 'postgres') return undefined
      return oldServer(await serverVersion(store))
    },
  },
]

/** What is wrong with a server of this `server_version_num`. */
export function oldServer(version: number): string[] {
  return version >= 14_00_00 ? [] : [`it has version ${Math.floor(version / 10_000)}`]
}

function contradictionsIn(config: Config, environment: Environment): string[] {
  const isSet = (name: keyof Config) => (environment[settings[name].env] ?? '') !== ''
  const { publicUrl, allowedHosts, host, dashboard, insecureHttp } = config
  const hostname = URL.parse(publicUrl)?.hostname
  const lacksHost = hostname !== undefined && allowedHosts.length > 0 && !allowedHosts.includes(hostname)
  const isUnreachable = publicUrl === '' && !insecureHttp && !isLoopbackHost(host) && host !== '::1'
  const { publicUrl: url, sourceToken, sourceTokenFile } = settings
  return [
    lacksHost && `${settings.allowedHosts.env} lacks the host of ${url.env}`,
    isSet('sourceToken') && isSet('sourceTokenFile') && `both ${sourceToken.env} and ${sourceTokenFile.env} are set`,
    isSet('oidcIssuer') && !dashboard && `${settings.oidcIssuer.env} is set, and ${settings.dashboard.env} is off`,
    insecureHttp && publicUrl.startsWith('https:') && `${settings.insecureHttp.env} is on, and ${url.env} is https`,
    dashboard &&
      isUnreachable &&
      `${settings.host.env} is ${host}, and ${url.env} is not set: nobody can sign in from another machine`,
  ].filter(problem => problem !== false)
}

async function oldSchema(store: Store): Promise<string[]> {
  const version = await schemaVersion({ db: store.reads, engine: store.engine })
  return version === currentVersion ? [] : [`the database has schema ${version}, this version has ${currentVersion}`]
}

/** What is found in a database whose schema is current; undefined for any other. */
async function ifFilled(
  store: Store | undefined,
  look: (store: Store) => Promise<readonly string[] | undefined>,
): Promise<readonly string[] | undefined> {
  const isReadable = store !== undefined && (await oldSchema(store).catch(() => ['unknown'])).length === 0
  return isReadable ? look(store) : undefined
}

function problemsOfDatabase({ file }: Patient): string[] {
  if (file === undefined || !existsSync(file)) return []
  const files = ['', '-wal', '-shm'].map(ending => file + ending).filter(path => existsSync(path))
  return [...files.flatMap(problemsOfOwner), ...problemsOfFolder(dirname(resolve(file)))]
}

function problemsOfOwner(path: string): string[] {
  const { mode, uid } = statSync(path)
  if (process.platform === 'win32') return []
  if (uid !== process.getuid?.()) return [`${path} belongs to another user (${uid})`]
  return (mode & 0o077) === 0 ? [] : [`others can read ${path}`]
}

/** Whoever writes the folder can replace the database, unless the folder says that only owners of files can. */
function problemsOfFolder(folder: string): string[] {
  const { mode } = statSync(folder)
  const isOpen = process.platform !== 'win32' && (mode & 0o002) !== 0 && (mode & 0o1000) === 0
  return isOpen ? [`others can write ${folder}`] : []
}

function problemsOfSecrets({ config, file, machine }: Patient): string[] {
  const made = config.secretFile === '' && file !== undefined && existsSync(`${file}.secret`) ? `${file}.secret` : ''
  const secrets = [config.sourceTokenFile, config.oidcClientSecretFile, config.secretFile, made].filter(
    name => name !== '',
  )
  const open = machine.settingsFiles().filter(name => (statSync(name).mode & 0o007) !== 0)
  return [...secrets.flatMap(problemsOfSecret), ...open.map(name => `others can read ${name}`)]
}

function problemsOfSecret(file: string): string[] {
  try {
    readSecretFile(file)
    return problemsOfOwner(file)
  } catch (error) {
    return [messageOf(error)]
  }
}

async function problemsOfDisk(file: string, machine: Machine): Promise<string[]> {
  const { type, freeBytes } = await machine.fileSystem(dirname(resolve(file)))
  const needed = statSync(file).size + MIN_FREE_BYTES
  return [
    ...(NETWORK_FILE_SYSTEMS.includes(type) ? [`${file} is on the file system of a network`] : []),
    ...(freeBytes >= needed ? [] : [`${megabytes(freeBytes)} are free, and ${megabytes(needed)} are needed`]),
  ]
}

function late(at: number | undefined, now: number, days: number): string[] {
  if (at === undefined) return ['never']
  const age = Math.floor((now - at) / DAY_MS)
  return now - at <= days * DAY_MS ? [] : [`last ${age === 1 ? '1 day' : `${age} days`} ago`]
}

async function unreachable(publicUrl: string): Promise<string[]> {
  try {
    const { status } = await fetch(`${publicUrl}/healthz`, { redirect: 'manual', signal: AbortSignal.timeout(5000) })
    return status === 200 ? [] : [`${publicUrl}/healthz answers with status ${status}`]
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error
    const isUnencrypted = TLS_ERROR.test(errorCode(cause) ?? '')
    const reason = isUnencrypted ? 'what listens there does not speak https' : messageOf(cause)
    return [`${publicUrl} cannot be reached: ${reason}`]
  }
}

function megabytes(bytes: number): string {
  return `${Math.round(bytes / MEGABYTE)} MB`
}

/** The numbers of `statfs` for NFS, SMB, Ceph, AFS, 9p and FUSE, which is a network for most. */
const NETWORK_FILE_SYSTEMS = [0x6969, 0x517b, 0xff534d42, 0xfe534d42, 0x00c36400, 0x5346414f, 0x01021997, 0x65735546]
