import { existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { readSecretFile } from '../accounts/secret-files.ts'
import { OPERATOR } from '../accounts/events.ts'
import { eraseDeleted } from '../accounts/removal.ts'
import { OWNER_UNKNOWN } from '../archive/batch-importer.ts'
import { exportArchive } from '../archive/export.ts'
import { withUnfinished, withWorkFolder } from '../backup/files.ts'
import { type Config, readConfig, settings } from '../config.ts'
import { parseAddress, parseKey } from '../contract/address.ts'
import { foldedName } from '../contract/names.ts'
import { systemClock, Source, StoppedError } from '../pull/source.ts'
import { findGone, removeGone } from '../pull/gone.ts'
import { connectedStatus, type ConnectionStatus, MAX_NUMBERS, parseNumbers } from '../pull/connections.ts'
import type { PullReport, RejectedReason } from '../pull/report.ts'
import { pullRepeatedly, pullOnce, type RoundOptions } from '../pull/round.ts'
import { identify } from '../pull/whose.ts'
import { listSources } from '../pull/state.ts'
import { sqliteFile } from '../store/index.ts'
import { requireFolderOf, STDOUT, writeOutput } from './output-file.ts'
import { deviationLines } from './deviations.ts'
import { parseSpan } from './instants.ts'
import { hasNewAccounts, sayNextSteps } from './next-steps.ts'
import { overwriteLine, startProgress } from './progress.ts'
import { pullScheduled } from './scheduled.ts'
import { databaseUrlOf, openStore, type StoreOptions, withStore } from './opening.ts'
import { databaseOption, jsonOption, withOptions } from './options.ts'
import { print, printRows, say } from './print.ts'
import { requireConfirmation, stopSignals } from './terminal.ts'
import { Refusal, renamed } from '../contract/refusal.ts'

export function addPullCommands(program: Command) {
  const command = withOptions(
    program.command('pull'),
    new Option('--from <url>', `the server to read from (${settings.sourceUrl.env}, else the only one known)`),
    new Option(
      '--account <id|username>',
      `the account here that the records belong to (${settings.sourceAccount.env})`,
    ),
    new Option('--full', 'read all lists to their end, and every record again'),
    new Option('--mine', 'records whose owner the source does not tell are yours; remembered for the source'),
    new Option('--lock-session <numbers>', 'read lock sessions by number, such as 12,15-40').argParser(parseLocks),
    new Option('--every <span>', 'repeat after this time, such as 5m, until stopped').argParser(parseSpan),
    new Option('--scheduled').hideHelp(),
    new Option('--out <file>', 'write an archive to this file, which it replaces, instead of storing; - is stdout'),
    databaseOption(),
    jsonOption(),
  )
    // The subcommands have options of the same names.
    .enablePositionalOptions()
    .summary('read records from another server of this API')
    .description(
      `Reads the records of an account from another server of this API and stores what is new. The API key comes from ${settings.sourceToken.env} or ${settings.sourceTokenFile.env}.`,
    )
    .action(pull)

  withOptions(command.command('status'), databaseOption(), jsonOption())
    .summary('list sources, and what was pulled from them')
    .description(
      'Lists the sources that records were pulled from, the time of the last pull, and the number of rows of each kind.',
    )
    .action(showStatus)

  withOptions(
    command.command('prune'),
    new Option('--yes', 'do not ask'),
    new Option('--many', 'also remove more than a tenth of the records of a kind'),
    databaseOption(),
  )
    .summary('remove records that are gone at their source')
    .description('Removes records that are gone at the source they were pulled from.')
    .action(pruneGone)
}

interface PullFlags extends StoreOptions {
  readonly from?: string
  readonly account?: string
  readonly full?: boolean
  readonly mine?: boolean
  readonly lockSession?: readonly number[]
  readonly every?: number
  readonly out?: string
  readonly scheduled?: boolean
  readonly json?: boolean
}

const SETTINGS = [
  'databaseUrl',
  'sourceUrl',
  'sourceOrigins',
  'sourceAccount',
  'sourceToken',
  'sourceTokenFile',
  'pullRate',
] as const
type PullConfig = Pick<Config, (typeof SETTINGS)[number]>

async function pull(given: PullFlags) {
  if (given.scheduled === true) return pullScheduled()
  const config = readConfig(withoutReplaced(given), SETTINGS)
  const key = sourceKey(config)
  const flags = await withSource(given, config)
  const address = sourceAddress(flags, config)
  if (flags.out !== undefined && flags.every !== undefined) throw new Refusal('usage', 'use either --out or --every')
  if (flags.out === STDOUT && flags.json === true)
    throw new Refusal('usage', 'use either --out - or --json: both write to stdout')
  const whatStays =
    flags.out === undefined ? 'what was read is stored, and the next pull continues' : 'nothing was written'
  const interrupted = `interrupted: ${whatStays}`
  const stop = stopSignals(interrupted)
  const onFailure = (failure: string, waitMs: number) => {
    // A line with the progress may stand there.
    if (process.stderr.isTTY) overwriteLine('')
    say(`${failure}; trying again ${waitMs === 0 ? 'now' : `in ${waitMs / 1000} s`}`)
  }
  const source = new Source({ address, key, rate: config.pullRate, clock: systemClock, stop: stop.signal, onFailure })
  try {
    if (flags.out !== undefined) await pullToFile(source, flags, flags.out)
    else await pullIntoStore(source, flags, config)
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error
    if (stop.isInterrupted()) throw new Refusal('interrupted', interrupted)
    say(`stopped: ${whatStays}`)
  }
}

async function pullIntoStore(source: Source, flags: PullFlags, config: PullConfig) {
  const url = flags.database ?? config.databaseUrl
  const storeRound = async () => {
    // Asked first, so that no database is created if the source does not respond.
    if (isMissingFile(url)) await identify(source)
    return withStore(flags, store => round({ store, source, ...flags, lockSessions: flags.lockSession }), {
      create: true,
    })
  }
  if (flags.every === undefined) {
    const report = await storeRound()
    printReport(report, flags.json)
    if (flags.json !== true && hasNewAccounts(report.kinds))
      await withStore(flags, store => sayNextSteps(store, flags, report.accountId))
    if (report.setAside.newCount > 0) process.exitCode = ROWS_REJECTED
    return
  }
  await pullRepeatedly({
    every: flags.every,
    source,
    round: storeRound,
    onReport: report => printRound(report, flags.json),
    onFailure: (error, waitMs) => say(`lockstep: ${error.message}; trying again in ${Math.round(waitMs / 1000)} s`),
  })
}

/** The pull is complete, but new rows were rejected. */
const ROWS_REJECTED = 1

/** Pulls into a temporary database, so that the archive has each record once and in order. */
async function pullToFile(source: Source, flags: PullFlags, out: string) {
  const work = async (path: string) => {
    await using store = await openStore(`sqlite:${path}`, { busyTimeoutMs: 60_000 })
    const report = await round({ store, source, ...flags, lockSessions: flags.lockSession, full: true })
    await writeOutput(out, tmpdir(), write => exportArchive(store, write, report.accountId))
    if (flags.json === true) print(JSON.stringify(report))
    else for (const line of summaryOf(report, out)) say(line)
    if (report.setAside.newCount > 0) process.exitCode = ROWS_REJECTED
  }
  if (out === STDOUT) return withWorkFolder(tmpdir(), folder => work(join(folder, 'pulled.db')))
  requireFolderOf(out)
  // Where the file will be: that disk has room for it.
  return withUnfinished(`${out}.db`, tmpdir(), work)
}

async function round(options: RoundOptions): Promise<PullReport> {
  using shown = startProgress()
  return await pullOnce({
    ...options,
    progress: ({ title, rows, expected }) => shown?.show(title, rows, expected),
  })
}

/** The environment without the settings that options replace. */
function withoutReplaced({ from, account }: PullFlags) {
  return {
    ...process.env,
    ...(from === undefined ? {} : { [settings.sourceUrl.env]: undefined }),
    ...(account === undefined ? {} : { [settings.sourceAccount.env]: undefined }),
  }
}

/**
 * The options with the account that a setting names and, if neither option nor setting names a server, with the only known source.
 * Throws Refusal if there is none, or more than one.
 */
async function withSource(given: PullFlags, { databaseUrl, sourceUrl, sourceAccount }: PullConfig): Promise<PullFlags> {
  const flags = given.account === undefined && sourceAccount !== '' ? { ...given, account: sourceAccount } : given
  const isNew = isMissingFile(flags.database ?? databaseUrl)
  if (flags.from !== undefined || sourceUrl !== '' || isNew) return flags
  const { account } = flags
  const sources = (await withStore(flags, listSources, { create: true })).filter(
    ({ accountId, username }) =>
      account === undefined || foldedName(account) === foldedName(username) || account === String(accountId),
  )
  const [source, ...others] = sources
  if (source === undefined) return flags
  if (others.length === 0) return { ...flags, from: source.origin, account: String(source.accountId) }
  const choices = sources.map(
    ({ origin, accountId, username }) => `  --from ${origin} --account ${accountId} (${username})`,
  )
  throw new Refusal('usage', `there are several sources; say which one:\n${choices.join('\n')}`)
}

function isMissingFile(databaseUrl: string): boolean {
  const file = sqliteFile(databaseUrl)
  return file !== undefined && !existsSync(file)
}

function sourceAddress({ from }: PullFlags, { sourceUrl, sourceOrigins }: PullConfig): string {
  const [name, text] = from === undefined ? [settings.sourceUrl.env, sourceUrl] : ['--from', from]
  if (from === undefined && text === '')
    throw new Refusal('usage', `the address of the source is missing: set --from or ${name}`)
  return renamed(name, ['usage', 'usage'], () => parseAddress(text, sourceOrigins))
}

function sourceKey({ sourceToken: key, sourceTokenFile: file }: PullConfig): string {
  if (key !== '') return key
  const name = settings.sourceTokenFile.env
  if (file === '')
    throw new Refusal('usage', `the API key of the source is missing: set ${settings.sourceToken.env} or ${name}`)
  const secret = renamed(`${name}:`, ['refused', 'usage'], () => readSecretFile(file))
  return renamed(name, ['usage', 'usage'], () => parseKey(secret))
}

/** One line for a round that changed something, none for another. */
function printRound(report: PullReport, json: boolean | undefined) {
  if (json === true) return print(JSON.stringify(report))
  const changes = report.kinds.flatMap(({ kind, added, replaced, setAside }) => {
    const counts = Object.entries({ added, replaced, rejected: setAside }).filter(([, count]) => count > 0)
    return counts.length === 0 ? [] : [`${kind} ${counts.map(([name, count]) => `${count} ${name}`).join(', ')}`]
  })
  if (report.gone > 0) changes.push(`${report.gone} gone at the source`)
  if (changes.length > 0) print(`${new Date().toISOString()} ${report.username}: ${changes.join('; ')}`)
}

function printReport(report: PullReport, json: boolean | undefined) {
  if (json === true) return print(JSON.stringify(report))
  const rows = report.kinds.map(({ setAside: rejected, ...row }) => ({ ...row, rejected }))
  printRows(rows, false, ['kind', 'added', 'replaced', 'unchanged', 'skipped', 'rejected', 'ofOthers'])
  for (const line of summaryOf(report)) say(line)
}

/** `out` is the file that was written instead of storing. */
function summaryOf(report: PullReport, out?: string): string[] {
  const { accountId, username, kinds, setAside, missingLists, notFound, gone, claimed, notes, requests } = report
  const account = `account ${accountId} (${username})`
  const records = kinds.reduce((sum, { added }) => sum + added, 0)
  const done =
    out === undefined
      ? `pulled into ${account}`
      : `wrote ${records} records of ${account} to ${out === STDOUT ? 'stdout' : out}`
  return [
    `${done} with ${requests} requests`,
    ...notes,
    ...missingLists.map(title => `the source has no list of ${title}: skipped`),
    ...(notFound.length === 0 ? [] : [`the source has no lock sessions ${notFound.join(', ')}`]),
    ...deviationLines(report),
    ...setAside.reasons.map(rejectedLine),
    ...(claimed > 0 ? [`${claimed} rows that were rejected before are stored now`] : []),
    ...(gone > 0 ? [`${gone} rows are gone at the source; they are kept (see pull prune)`] : []),
  ]
}

/** `rejected: training-session 12: …`, or with a count and an example. */
function rejectedLine({ kind, reason, count, example }: RejectedReason): string {
  const which = example === undefined ? '' : ` ${example}`
  const advice = reason === OWNER_UNKNOWN ? ' (if they are yours: pull --mine)' : ''
  return `rejected: ${count === 1 ? `${kind}${which}` : `${count} ${kind}, such as${which}`}: ${reason}${advice}`
}

function parseLocks(text: string): readonly number[] {
  const numbers = parseNumbers(text)
  if (numbers === undefined) throw new InvalidArgumentError(`It must be 1 to ${MAX_NUMBERS} numbers, such as 12,15-40.`)
  return numbers
}

async function showStatus(flags: StoreOptions & { readonly json?: boolean }) {
  await withStore(flags, async store => {
    const { secretFile } = readConfig(process.env, ['secretFile'])
    const sources = await connectedStatus(store, { databaseUrl: databaseUrlOf(flags), secretFile })
    if (flags.json === true) return print(JSON.stringify(sources, null, 2))
    if (sources.length === 0) say('nothing was pulled yet')
    for (const { accountId, username, origin, completedAt, rows, gone, setAside, connection } of sources) {
      print(`account ${accountId} (${username}) from ${origin}`)
      if (connection !== null) print(connectionLine(connection))
      print(`last complete pull: ${completedAt ?? 'none yet'}; rejected: ${setAside}`)
      printRows(Object.entries(rows).map(([kind, count]) => ({ kind, rows: count, gone: gone[kind] ?? 0 })))
    }
  })
}

function connectionLine({ state, everyMinutes, nextAt, failure, failingSince, needsKey }: ConnectionStatus): string {
  return [
    `connected: ${state}`,
    everyMinutes === 0 ? 'once' : `every ${everyMinutes} minutes`,
    ...(nextAt === null ? [] : [`next round ${nextAt}`]),
    ...(failingSince === null ? [] : [`failing since ${failingSince}`]),
    ...(failure === null ? [] : [`last failure: ${failure}`]),
    ...(needsKey ? ['its key must be given again, because it was stored with another secret'] : []),
  ].join('; ')
}

async function pruneGone(flags: StoreOptions & { readonly yes?: boolean; readonly many?: boolean }) {
  await withStore(flags, async store => {
    const kinds = await findGone(store)
    if (kinds.length === 0) return say('nothing is gone at its source')
    const list = kinds.map(({ count, kind, username }) => `${count} ${kind} of ${username}`).join(', ')
    say(`gone: ${list}`)
    const many = kinds.find(({ count, total }) => count > total * MAX_SHARE)
    if (many !== undefined && flags.many !== true) {
      throw new Refusal(
        'usage',
        `that is more than a tenth of the ${many.kind} records of ${many.username}: add --many if that is right`,
      )
    }
    await requireConfirmation(flags, `Remove these records? They cannot be pulled again.`)
    say(`removed ${await removeGone(store, kinds, { actor: OPERATOR, now: Date.now() })} records`)
    await eraseDeleted(store)
  })
}

/** A prune of more than this share of a kind needs --many. */
const MAX_SHARE = 0.1
