import { fork } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Notice } from './run-cleanup.ts'
import type { Message, TestResult } from './run-files.ts'
import { makeBundles } from './support/bundles.ts'
import { postgresPrograms, type PostgresServer, startPostgres } from './support/postgres.ts'

/**
 * Runs all tests on SQLite, and those that use a service or a store on PostgreSQL too, on a server of their own. Prints one
 * summary of both. Arguments select files by a part of their path; `--slow` runs the files named `*.slow.test.ts` instead of
 * the others, and `--exhaustive` those of them that sweep, over all of their cases. A line of its own changes where a file
 * runs: `// engine: sqlite` or `// engine: any` once, `// engine: both` twice; with `// engine: sqlite, slowly postgres` its
 * second run is one of the slow tests, of pages one of the exhaustive ones.
 */
const isCi = process.env['CI'] === 'true'
const isExhaustive = process.argv.includes('--exhaustive')
const isSlow = isExhaustive || process.argv.includes('--slow')
const start = performance.now()

type Engine = 'SQLite' | 'PostgreSQL'

interface Job {
  readonly engine: Engine
  /** Paths below this folder, of files that share a process. */
  readonly files: readonly string[]
}

interface Result extends TestResult {
  readonly engine: Engine
}

/** Files that take long, measure time, or set what a process has once, in a process of their own: the longest first. */
const FIRST: readonly string[] = [
  'docs/installed.slow',
  'docs/bare.slow',
  'dashboard/pages.slow',
  'pull/connection-kill.slow',
  'pull/model.slow',
  'dashboard/browser.slow',
  'store/engines.slow',
  'store/postgres-plans.slow',
  'api/status.slow',
  'api/large-pages.slow',
  'store/postgres-trouble',
  'cli/serve.slow',
  'http/timeouts',
  // Its public address has a path, which holds for all pages of a process.
  'docs/integrations-client',
].map(name => `${name}.test.ts`)

/** Settings of a server that nobody restarts. */
const QUICK = { synchronous_commit: 'off', max_wal_size: '256MB' }

/** Longer than any test takes on a slow machine. A process that reports no test for longer left something open, and is ended. */
const TEST_LIMIT_MINUTES = isExhaustive ? 24 * 60 : isSlow ? 20 : 5

/** As many other files share a process: starting one and loading the program into it takes as long as a short file. */
const FILES_PER_PROCESS = 12

/** Files that fail are run once more, alone: a busy machine delays what tests wait for. More than these are a fault for certain. */
const MAX_FILES_RUN_AGAIN = 4

const files = selectFiles(isSlow)
const onBoth = [...files.filter(runsOnBoth), ...(isSlow ? selectFiles(false).filter(runsSlowlyOnPostgres) : [])]
if (files.length + onBoth.length === 0) throw new Error(`no test file matches: ${process.argv.slice(2).join(' ')}`)
const isMissingPostgres = onBoth.length > 0 && postgresPrograms === undefined
const filesOf = { SQLite: files, PostgreSQL: isMissingPostgres ? [] : onBoth }
// Those on PostgreSQL take longer.
const jobs = [...jobsOf('PostgreSQL'), ...jobsOf('SQLite')].toSorted((a, b) => rankOf(a) - rankOf(b))

let server: PostgresServer | undefined
const temporary = makeTemporary()
process.env['TMPDIR'] = temporary
Object.assign(process.env, await makeBundles())
// Detached, so that Ctrl-C in a terminal does not end it, too.
const cleanup = fork(join(import.meta.dirname, 'run-cleanup.ts'), [temporary], { detached: true })
/** What runs now: the title of the last test that ended, and when. */
const running = new Map<Job, { title: string; at: number }>()
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
const queue = jobs.values()
// Each worker takes the next file when it is done with one. More workers than cores, because some tests wait for time to pass.
await Promise.all(Array.from({ length: Math.min(8, availableParallelism() + 3) }, () => runJobs(queue)))
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

/** Slow files do not share processes: some change the settings of their own process. */
function jobsOf(engine: Engine): Job[] {
  const files = filesOf[engine]
  const isAlone = (file: string) => FIRST.includes(file) || file.endsWith('.slow.test.ts')
  const alone = files.filter(isAlone).map(file => [file])
  const short = files.filter(file => !isAlone(file))
  // Each has some of every folder, so that all take about as long.
  const count = Math.ceil(short.length / FILES_PER_PROCESS)
  const batches = Array.from({ length: count }, (_, batch) => short.filter((_, index) => index % count === batch))
  return [...alone, ...batches].map(files => ({ engine, files }))
}

function rankOf({ files: [first = ''] }: Job): number {
  const rank = FIRST.indexOf(first)
  return rank === -1 ? FIRST.length : rank
}

async function runJobs(queue: Iterator<Job> & Iterable<Job>) {
  for (const job of queue) {
    if (!cleanup.connected) return
    const began = performance.now()
    running.set(job, { title: 'its start', at: began })
    const found = await runJob(job)
    running.delete(job)
    results.push(...found)
    const failures = found.filter(({ outcome }) => outcome === 'failed')
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    took.set(job, Math.round((performance.now() - began) / 1000))
    const tests = `${found.length} ${found.length === 1 ? 'test' : 'tests'}`
    // What passed is no news there, and what keeps the output of a run may keep a part of it only.
    if (isCi && failures.length === 0) continue
    const verdict = failures.length === 0 ? 'ok    ' : 'FAILED'
    process.stdout.write(`${verdict} ${namesOf(job)} (${tests}, ${seconds} s)\n`)
    for (const failure of failures) process.stdout.write(describeFailure(failure))
  }
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
    const found = await runJob({ engine, files: file.split(' ') })
    if (found.some(({ outcome }) => outcome === 'failed')) continue
    passedAlone.push(...failures)
    for (const failure of failures) results.splice(results.indexOf(failure), 1, { ...failure, outcome: 'passed' })
  }
}

async function runJob(job: Job): Promise<Result[]> {
  const { engine, files } = job
  const all = files.join(' ')
  const found: Result[] = []
  const add = (result: TestResult) => {
    running.set(job, { title: result.title, at: performance.now() })
    // A function of support/ that registers tests is where they are said to be, but it cannot be run again.
    found.push({ ...result, engine, file: files.includes(result.file) ? result.file : all })
  }
  const child = fork(join(import.meta.dirname, 'run-files.ts'), files, {
    // It leads a group of its own, so that what it started ends with it.
    detached: true,
    env: {
      ...process.env,
      // Every process loads the same modules, so the compiled code is kept.
      NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/lockstep-tests'),
      TEST_LIMIT_MINUTES: String(TEST_LIMIT_MINUTES),
      ...(isExhaustive ? { TEST_EXHAUSTIVE: 'on' } : {}),
      ...(engine === 'PostgreSQL' ? { TEST_POSTGRES_URL: server?.url } : {}),
    },
  })
  const notify = (isRunning: boolean) => {
    if (child.pid !== undefined && cleanup.connected) cleanup.send({ pid: child.pid, isRunning } satisfies Notice)
  }
  notify(true)
  let isComplete = false
  let isSilent = false
  const limit = setTimeout(
    () => {
      isSilent = true
      if (child.pid !== undefined) process.kill(-child.pid, 'SIGKILL')
    },
    (TEST_LIMIT_MINUTES + 1) * 60_000,
  )
  // It sends nothing else.
  child.on('message', (message: unknown) => {
    limit.refresh()
    const sent = message as Message
    if (sent === 'ended') isComplete = true
    else add(sent)
  })
  const [code, signal] = await once(child, 'close')
  clearTimeout(limit)
  notify(false)
  const hasFailed = found.some(({ outcome }) => outcome === 'failed')
  if (!isComplete || (code !== 0 && !hasFailed)) {
    const reason = isSilent ? 'it did not end after its last test' : `it ended with ${signal ?? code}`
    add({ file: all, title: 'the process', outcome: 'failed', reason })
  }
  if (found.length === 0) add({ file: all, title: 'its tests', outcome: 'failed', reason: 'there are none' })
  return found
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
  lines.push(...longest.map(([job, seconds]) => `${String(seconds).padStart(4)} s ${namesOf(job)}`))
  const passed = results.length - failed.length - skipped.length
  const seconds = Math.round((performance.now() - start) / 1000)
  lines.push(`${Math.floor(seconds / 60)} min ${seconds % 60} s`)
  lines.push(`${passed} passed, ${failed.length} failed, ${skips} skipped`)
  process.stdout.write(`\n${lines.join('\n')}\n`)
  return failed.length === 0 && !(isCi && skips > 0)
}

function namesOf({ engine, files }: Job): string {
  return `${engine.padEnd(10)} ${files.map(file => file.replace('.test.ts', '')).join(' ')}`
}

/** For a run that is ended from outside: what it still waited for. */
function describeRunning(): string {
  const lines = [...running].map(
    ([job, { title, at }]) =>
      `ended   ${namesOf(job)}, ${Math.round((performance.now() - at) / 1000)} s after ${title}\n`,
  )
  return lines.join('')
}

function describeFailure({ file, title, reason }: Result): string {
  return `\n  ${file}: ${title}\n${reason.replaceAll(/^/gm, '    ')}\n\n`
}
