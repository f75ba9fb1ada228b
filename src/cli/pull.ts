import { existsSync } from 'node:fs'
import { open as openFile, rename } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { type Command, Option } from 'commander'
import { RefusedError } from '../accounts/errors.ts'
import { readSecretFile } from '../accounts/secret-files.ts'
import { eraseDeleted } from '../accounts/removal.ts'
import { exportArchive } from '../archive/export.ts'
import { withWorkFolder } from '../backup/files.ts'
import { type Config, readConfig, settings } from '../config.ts'
import { AddressError, parseAddress, parseToken } from '../pull/address.ts'
import { systemClock } from '../pull/clock.ts'
import { findPrunable, prune } from '../pull/prune.ts'
import type { PullReport } from '../pull/report.ts'
import { pullRepeatedly } from '../pull/repeat.ts'
import { findIdentity, pullOnce, type RoundOptions } from '../pull/round.ts'
import { Source, StoppedError } from '../pull/source.ts'
import { pullStatus } from '../pull/status.ts'
import type { Store } from '../store/index.ts'
import { deviationLines } from './deviations.ts'
import { parseSpan } from './instants.ts'
import { startPullProgress } from './pull-progress.ts'
import {
  requireConfirmation,
  databaseOption,
  InterruptedError,
  jsonOption,
  openStore,
  print,
  printRows,
  say,
  stopSignals,
  type StoreOptions,
  UsageError,
  withOptions,
  withStore,
  writeToStdout,
} from './terminal.ts'

export function addPullCommands(program: Command) {
  const command = withOptions(
    program.command('pull'),
    new Option('--from <url>', `the server to read from (${settings.sourceUrl.env})`),
    new Option('--account <id|username>', 'the account here that the records belong to'),
    new Option('--partners', 'also pull records of others that the API key may read'),
    new Option('--full', 'read all lists to their end, and every record again'),
    new Option('--every <span>', 'repeat after this time, such as 5m, until stopped').argParser(parseSpan),
    new Option('--out <file>', 'write an archive instead of storing; - is stdout'),
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
    .description(
      'Removes records that are gone at the source they were pulled from, and those of partners who ended access.',
    )
    .action(pruneGone)
}

interface PullFlags extends StoreOptions {
  readonly from?: string
  readonly account?: string
  readonly partners?: boolean
  readonly full?: boolean
  readonly every?: number
  readonly out?: string
  readonly json?: boolean
}

async function pull(flags: PullFlags) {
  const config = readConfig(process.env)
  const address = sourceAddress(flags, config)
  const token = sourceToken(config)
  if (flags.out !== undefined && flags.every !== undefined) throw new UsageError('--out and --every exclude each other')
  if (flags.out === '-' && flags.json === true) throw new UsageError('--out - and --json exclude each other')
  const stop = stopSignals(INTERRUPTED)
  const source = new Source({ address, token, rate: config.pullRate, clock: systemClock, stop: stop.signal })
  try {
    if (flags.out !== undefined) await pullToFile(source, flags, flags.out)
    else await pullIntoStore(source, flags, config)
  } catch (error) {
    if (!(error instanceof StoppedError)) throw error
    if (stop.isInterrupted()) throw new InterruptedError(INTERRUPTED)
    say('stopped: what was read is stored, and the next pull continues')
  }
}

const INTERRUPTED = 'interrupted: what was read is stored, and the next pull continues'

async function pullIntoStore(source: Source, flags: PullFlags, config: Config) {
  const url = flags.database ?? config.databaseUrl
  const storeRound = async () => {
    // Asked first, so that no database is created if the source does not respond.
    if (url.startsWith('sqlite:') && !existsSync(url.slice('sqlite:'.length))) await findIdentity(source)
    return withStore(flags, store => round({ store, source, ...flags }), { create: true })
  }
  if (flags.every === undefined) {
    const report = await storeRound()
    printReport(report, flags.json)
    if (report.setAside.newCount > 0) process.exitCode = SET_ASIDE
    return
  }
  await pullRepeatedly({
    every: flags.every,
    source,
    round: storeRound,
    onReport: report => printReport(report, flags.json, true),
    onFailure: (error, waitMs) => say(`lockstep: ${error.message}; trying again in ${Math.round(waitMs / 1000)} s`),
  })
}

/** The pull is complete, but new rows were set aside. */
const SET_ASIDE = 1

/** Pulls into a temporary database, so that the archive has each record once and in order. */
async function pullToFile(source: Source, flags: PullFlags, out: string) {
  const isStdout = out === '-'
  const parent = isStdout ? tmpdir() : dirname(resolve(out))
  if (!existsSync(parent)) throw new UsageError(`there is no folder ${parent}`)
  const purpose = `pull ${isStdout ? `${source.address} in ${process.cwd()}` : resolve(out)}`
  await withWorkFolder({ parent, purpose }, async folder => {
    const store = await openStore(`sqlite:${join(folder, 'pulled.db')}`, { busyTimeoutMs: 60_000 })
    let report: PullReport
    try {
      report = await round({ store, source, ...flags, full: true })
      const account = flags.partners === true ? undefined : report.accountId
      if (isStdout) await exportArchive(store, writeToStdout, account)
      else await exportToFile(store, join(folder, 'archive'), account)
    } finally {
      await store.close()
    }
    if (!isStdout) await rename(join(folder, 'archive'), out)
    if (flags.json === true) print(JSON.stringify(report))
    else for (const line of summaryOf(report)) say(line)
    if (report.setAside.newCount > 0) process.exitCode = SET_ASIDE
  })
}

async function exportToFile(store: Store, path: string, account: number | undefined) {
  const file = await openFile(path, 'wx', 0o600)
  try {
    await exportArchive(store, async text => void (await file.write(text)), account)
    await file.sync()
  } finally {
    await file.close()
  }
}

async function round(options: RoundOptions): Promise<PullReport> {
  const shown = startPullProgress()
  try {
    return await pullOnce({ ...options, ...(shown === undefined ? {} : { progress: shown.show }) })
  } finally {
    shown?.end()
  }
}

function sourceAddress({ from }: PullFlags, { sourceUrl }: Config): string {
  const text = from ?? sourceUrl
  if (text === '') throw new UsageError(`the address of the source is missing: set --from or ${settings.sourceUrl.env}`)
  return orUsageError(from === undefined ? settings.sourceUrl.env : '--from', () => parseAddress(text))
}

function sourceToken({ sourceToken: token, sourceTokenFile: file }: Config): string {
  if (token !== '') return orUsageError(settings.sourceToken.env, () => parseToken(token))
  const name = settings.sourceTokenFile.env
  if (file === '')
    throw new UsageError(`the API key of the source is missing: set ${settings.sourceToken.env} or ${name}`)
  return orUsageError(name, () => parseToken(secretIn(name, file)))
}

function secretIn(name: string, file: string): string {
  try {
    return readSecretFile(file)
  } catch (error) {
    throw error instanceof RefusedError ? new UsageError(`${name}: ${error.message}`) : error
  }
}

function orUsageError<Value>(name: string, parse: () => Value): Value {
  try {
    return parse()
  } catch (error) {
    throw error instanceof AddressError ? new UsageError(`${name} ${error.message}`) : error
  }
}

function printReport(report: PullReport, json: boolean | undefined, isRepeated = false) {
  if (json === true) return print(JSON.stringify(report))
  const changed = report.kinds.filter(
    ({ added, replaced, skipped, setAside }) => added + replaced + skipped + setAside > 0,
  )
  if (isRepeated && changed.length === 0) return
  printRows(
    isRepeated ? changed : report.kinds,
    {
      kind: row => row.kind,
      added: row => row.added,
      replaced: row => row.replaced,
      unchanged: row => row.unchanged,
      skipped: row => row.skipped,
      'set aside': row => row.setAside,
    },
    false,
  )
  for (const line of summaryOf(report)) say(line)
}

function summaryOf(report: PullReport): string[] {
  const { accountId, username, setAside, missingLists, gone, notes, requests } = report
  return [
    `pulled into account ${accountId} (${username}) with ${requests} requests`,
    ...notes,
    ...missingLists.map(title => `the source has no list of ${title}: skipped`),
    ...deviationLines(report),
    ...setAside.rows.map(({ kind, id, reason }) => `set aside: ${kind}${id === undefined ? '' : ` ${id}`}: ${reason}`),
    ...(setAside.count > setAside.rows.length ? [`${setAside.count} rows in all are set aside`] : []),
    ...(gone > 0 ? [`${gone} rows are gone at the source; they are kept (see pull prune)`] : []),
  ]
}

async function showStatus(flags: StoreOptions & { readonly json?: boolean }) {
  await withStore(flags, async store => {
    const sources = await pullStatus(store)
    if (flags.json === true) return print(JSON.stringify(sources, null, 2))
    if (sources.length === 0) say('nothing was pulled yet')
    for (const { accountId, username, origin, completedAt, rows, gone, setAside } of sources) {
      print(`account ${accountId} (${username}) from ${origin}`)
      print(`last complete pull: ${completedAt ?? 'none yet'}; set aside: ${setAside}`)
      printRows(
        Object.entries(rows).map(([kind, count]) => ({ kind, count, gone: gone[kind] ?? 0 })),
        { kind: row => row.kind, rows: row => row.count, gone: row => row.gone },
        false,
      )
    }
  })
}

async function pruneGone(flags: StoreOptions & { readonly yes?: boolean; readonly many?: boolean }) {
  await withStore(flags, async store => {
    const kinds = await findPrunable(store)
    if (kinds.length === 0) return say('nothing is gone at its source')
    const list = kinds.map(({ count, kind, username }) => `${count} ${kind} of ${username}`).join(', ')
    say(`gone: ${list}`)
    const many = kinds.find(({ count, total }) => count > total * MAX_SHARE)
    if (many !== undefined && flags.many !== true) {
      throw new UsageError(
        `that is more than a tenth of the ${many.kind} records of ${many.username}: add --many if that is right`,
      )
    }
    if (flags.yes !== true) await requireConfirmation('--yes', `Remove these records? They cannot be pulled again.`)
    say(`removed ${await prune(store, kinds)} records`)
    await eraseDeleted(store)
  })
}

/** A prune of more than this share of a kind needs --many. */
const MAX_SHARE = 0.1
