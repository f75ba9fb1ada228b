import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Notice } from './run-cleanup.ts'
import type { TestResult } from './run-files.ts'
import { startProcess, type TestProcess } from './run-process.ts'
import { makeBundles } from './support/bundles.ts'
import { postgresPrograms, type PostgresServer, startPostgres } from './support/postgres.ts'

/**
 * Runs all tests on SQLite, and those that use a service or a store on PostgreSQL too, on a server of their own. Prints one
 * summary of both. Arguments select files by a part of their path; `--slow` runs the files named `*.slow.test.ts` instead of
 * the others, and `--exhaustive` those of them that sweep, over all of their cases. A line of its own changes where a file
 * runs: `// engine: sqlite` or `// engine: any` once, `// engine: both` twice; with `// engine: sqlite, slowly postgres` its
 * second run is one of the slow tests, of pages one of the exhaustive ones. Files share processes, but for slow ones.
 */
const isCi = process.env['CI'] === 'true'
const isExhaustive = process.argv.includes('--exhaustive')
const isSlow = isExhaustive || process.argv.includes('--slow')
const start = performance.now()

type Engine = 'SQLite' | 'PostgreSQL'

interface Job {
  readonly engine: Engine
  /** Its path below this folder. */
  readonly file: string
}

type Result = Job & TestResult

/** The files that take longest, which begin first. */
const FIRST: readonly string[] = [
  'docs/installed.slow',
  'docs/bare.slow',
  'docs/bench.slow',
  'cli/children.slow',
  'dashboard/pages.slow',
  'pull/connection-kill.slow',
  'pull/model.slow',
  'dashboard/browser.slow',
  'store/engines.slow',
  'store/postgres-plans.slow',
  'store/postgres-trouble.slow',
  'cli/serve.slow',
  'pull/model',
  'http/uploads',
  'store/migrations',
  'http/timeouts',
  'accounts/events',
].map(name => `${name}.test.ts`)

/** Settings of a server that nobody restarts. */
const QUICK = { synchronous_commit: 'off', max_wal_size: '256MB' }

/** Longer than any file takes on a slow machine. A process that reports no test for longer left something open, and is ended. */
const FILE_LIMIT_MINUTES = isExhaustive ? 24 * 60 : isSlow ? 30 : 5

/** Files that fail are run once more, alone: a busy machine delays what tests wait for. More than these are a fault for certain. */
const MAX_FILES_RUN_AGAIN = 4

const files = selectFiles(isSlow)
const onBoth = [...files.filter(runsOnBoth), ...(isSlow ? selectFiles(false).filter(runsSlowlyOnPostgres) : [])]
if (files.length + onBoth.length === 0) throw new Error(`no test file matches: ${process.argv.slice(2).join(' ')}`)
const isMissingPostgres = onBoth.length > 0 && postgresPrograms === undefined
const filesOf = { SQLite: files, PostgreSQL: isMissingPostgres ? [] : onBoth }
/** What nobody has taken. Those on PostgreSQL take longer. */
const queue = (['PostgreSQL', 'SQLite'] as const)
  .flatMap(engine => filesOf[engine].map((file): Job => ({ engine, file })))
  .toSorted((a, b) => rankOf(a) - rankOf(b))

let server: PostgresServer | undefined
const temporary = makeTemporary()
process.env['TMPDIR'] = temporary
Object.assign(process.env, await makeBundles())
// Detached, so that Ctrl-C in a terminal does not end it, too.
const cleanup = fork(join(import.meta.dirname, 'run-cleanup.ts'), [temporary], { detached: true })
/** What runs now: the title of the last test that ended, and when. */
const running = new Map<Job, { title: string; at: number }>()
/** The processes that run files of an engine. */
const processes = new Map<TestProcess, Engine>()
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.once(signal, () => {
    process.stdout.write(describeRunning())
    void cleanUp().then(() => process.exit(1))
  })
}

if (filesOf.PostgreSQL.length > 0) server = await startPostgres({ settings: QUICK })
const results: Result[] = []
const took = new Map<Job, number>()
const passedAlone: Result[] = []
// More workers than cores, because some tests wait for time to pass.
await Promise.all(Array.from({ length: Math.min(8, availableParallelism() + 3) }, () => runQueue()))
await runFailedAgain()
await cleanUp()
process.exitCode = summarize() ? 0 : 1

/** However the run ends: without this, `cleanup` does the same when this process is gone. */
async function cleanUp() {
  if (cleanup.connected) cleanup.disconnect()
  if (cleanup.exitCode === null) await once(cleanup, 'exit')
}

function selectFiles(slow: boolean): string[] {
  const words = process.argv.slice(2).filter(word => !word.startsWith('--'))
  return readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts') && name.endsWith('.slow.test.ts') === slow)
    .filter(name => !isExhaustive || !slow || textOf(name).includes("from '../support/sweeps.ts'"))
    .filter(name => words.length === 0 || words.some(word => join('test', name).includes(word)))
    .toSorted()
}

/**
 * A folder for everything that the tests store: in memory where there is plenty of it, because stores wait for the disk at each
 * commit.
 */
function makeTemporary(): string {
  const memory = '/dev/shm'
  const folder = mkdtempSync(join(hasRoom(memory) ? memory : tmpdir(), 'lockstep-tests-'))
  // The database server runs as another user.
  chmodSync(folder, 0o711)
  return folder
}

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize > 3 * 2 ** 30
  } catch {
    return false
  }
}

function runsOnBoth(file: string): boolean {
  const text = textOf(file)
  const usesStore = /from '\.\.\/support\/(service|databases)\.ts'/.test(text)
  return /^\/\/ engine: both$/m.test(text) || (usesStore && !/^\/\/ engine: /m.test(text))
}

/** Pages make HTML of what the API reads, so that a sample leaves them out. */
function runsSlowlyOnPostgres(file: string): boolean {
  return (
    (isExhaustive || !file.startsWith('dashboard/')) && /^\/\/ engine: sqlite, slowly postgres$/m.test(textOf(file))
  )
}

function textOf(file: string): string {
  return readFileSync(join(import.meta.dirname, file), 'utf8')
}

/** Some change the settings of their own process. */
function isAlone(file: string): boolean {
  return file.endsWith('.slow.test.ts')
}

function rankOf({ file }: Job): number {
  const rank = FIRST.indexOf(file)
  return rank === -1 ? FIRST.length + Number(!isAlone(file)) : rank
}

/**
 * Runs files until there are no more. Those that may share a process, because starting one and loading the program into it takes
 * as long as a short file.
 */
async function runQueue() {
  let shared: TestProcess | undefined
  let last: Job | undefined
  for (let job = take(shared); job !== undefined && cleanup.connected; job = take(shared)) {
    if (shared !== undefined && last !== undefined && !canShare(shared, last, job)) {
      report(last, await endOf(shared, last))
      shared = undefined
    }
    shared ??= startFor(job.engine)
    report(job, await runIn(shared, job))
    last = job
  }
  if (shared !== undefined && last !== undefined) report(last, await endOf(shared, last))
}

function canShare(shared: TestProcess, last: Job, { engine, file }: Job): boolean {
  return !shared.hasEnded() && last.engine === engine && !isAlone(last.file) && !isAlone(file)
}

/** The next file of all that begin first or alone, then the next one that can share this process. One process at least runs those on PostgreSQL. */
function take(shared: TestProcess | undefined): Job | undefined {
  const running = shared === undefined ? undefined : processes.get(shared)
  const isPostgresNext = ![...processes.values()].includes('PostgreSQL')
  const engine = running ?? (isPostgresNext ? 'PostgreSQL' : 'SQLite')
  const next = queue.find(job => rankOf(job) <= FIRST.length || job.engine === engine) ?? queue[0]
  if (next !== undefined) queue.splice(queue.indexOf(next), 1)
  return next
}

function startFor(engine: Engine): TestProcess {
  const started = startProcess({
    env: {
      ...process.env,
      // Every process loads the same modules, so the compiled code is kept.
      NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/lockstep-tests'),
      ...(isExhaustive ? { TEST_EXHAUSTIVE: 'on' } : {}),
      ...(engine === 'PostgreSQL' ? { TEST_POSTGRES_URL: server?.url } : {}),
    },
    limitMinutes: FILE_LIMIT_MINUTES,
  })
  const notify = (isRunning: boolean) => {
    if (cleanup.connected) cleanup.send({ pid: started.pid, isRunning } satisfies Notice)
  }
  notify(true)
  processes.set(started, engine)
  void started.ended.then(() => {
    notify(false)
    processes.delete(started)
  })
  return started
}

async function runIn(shared: TestProcess, job: Job): Promise<Result[]> {
  const began = performance.now()
  running.set(job, { title: 'its start', at: began })
  const found = await shared.run(job.file, ({ title }) => running.set(job, { title, at: performance.now() }))
  running.delete(job)
  took.set(job, Math.round((performance.now() - began) / 1000))
  return found.map(result => ({ ...result, ...job }))
}

/** What was wrong with the end of a process is told of its last file. */
async function endOf(shared: TestProcess, job: Job): Promise<Result[]> {
  return (await shared.end()).map(result => ({ ...result, ...job }))
}

function report(job: Job, found: readonly Result[]) {
  results.push(...found)
  const failures = found.filter(({ outcome }) => outcome === 'failed')
  // What passed is no news in CI, and what keeps the output of a run may keep a part of it only.
  if (failures.length === 0 && (isCi || found.length === 0)) return
  const tests = `${found.length} ${found.length === 1 ? 'test' : 'tests'}`
  const verdict = failures.length === 0 ? 'ok    ' : 'FAILED'
  process.stdout.write(`${verdict} ${nameOf(job)} (${tests}, ${took.get(job)} s)\n`)
  for (const failure of failures) process.stdout.write(describeFailure(failure))
}

/** A file that passes then counts as passed, and the summary names it. */
async function runFailedAgain() {
  const failed = Map.groupBy(
    results.filter(({ outcome }) => outcome === 'failed'),
    ({ engine, file }) => `${engine}\n${file}`,
  )
  if (failed.size > MAX_FILES_RUN_AGAIN) return
  for (const failures of failed.values()) {
    const [{ engine, file }] = failures as [Result]
    if (!cleanup.connected) return
    const shared = startFor(engine)
    const found = [...(await runIn(shared, { engine, file })), ...(await endOf(shared, { engine, file }))]
    if (found.some(({ outcome }) => outcome === 'failed')) continue
    passedAlone.push(...failures)
    for (const failure of failures) results.splice(results.indexOf(failure), 1, { ...failure, outcome: 'passed' })
  }
}

/** Prints what was skipped and what failed, and the counts as the last line. Returns whether the run passed. */
function summarize(): boolean {
  const failed = results.filter(({ outcome }) => outcome === 'failed')
  const skipped = results.filter(({ outcome }) => outcome === 'skipped')
  const lines = skipped.map(({ engine, file, title, reason }) => `skipped: ${file} (${engine}): ${title}: ${reason}`)
  if (isMissingPostgres) {
    lines.push(...onBoth.map(file => `skipped: ${file} (PostgreSQL): there is no PostgreSQL server on this machine`))
  }
  const skips = skipped.length + (isMissingPostgres ? onBoth.length : 0)
  if (isCi && skips > 0) lines.push('In CI nothing may be skipped.')
  lines.push(
    ...passedAlone.map(
      ({ engine, file, title }) => `failed beside others, passed alone: ${file} (${engine}): ${title}`,
    ),
    ...failed.map(({ engine, file, title }) => `failed: ${file} (${engine}): ${title}`),
  )
  for (const engine of ['SQLite', 'PostgreSQL'] as const) {
    const own = filesOf[engine].length
    if (own > 0) lines.push(`${engine}: ${own} files`)
  }
  const longest = [...took].toSorted(([, a], [, b]) => b - a).slice(0, 8)
  lines.push(...longest.map(([job, seconds]) => `${String(seconds).padStart(4)} s ${nameOf(job)}`))
  const passed = results.length - failed.length - skipped.length
  const seconds = Math.round((performance.now() - start) / 1000)
  lines.push(`${Math.floor(seconds / 60)} min ${seconds % 60} s`)
  lines.push(`${passed} passed, ${failed.length} failed, ${skips} skipped`)
  process.stdout.write(`\n${lines.join('\n')}\n`)
  return failed.length === 0 && !(isCi && skips > 0)
}

function nameOf({ engine, file }: Job): string {
  return `${engine.padEnd(10)} ${file.replace('.test.ts', '')}`
}

/** For a run that is ended from outside: what it still waited for. */
function describeRunning(): string {
  const lines = [...running].map(
    ([job, { title, at }]) =>
      `ended   ${nameOf(job)}, ${Math.round((performance.now() - at) / 1000)} s after ${title}\n`,
  )
  return lines.join('')
}

function describeFailure({ file, title, reason }: Result): string {
  return `\n  ${file}: ${title}\n${reason.replaceAll(/^/gm, '    ')}\n\n`
}
