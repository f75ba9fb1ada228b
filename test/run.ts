import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'
import { postgresPrograms, type PostgresServer, startPostgres } from './support/postgres.ts'

/**
 * Runs all tests on SQLite, and those that use a service or a store on PostgreSQL too, on a server of their own. Prints one
 * summary of both. Arguments select files by a part of their path; `--slow` runs the files named `*.slow.test.ts` instead of
 * the others. A file that needs no second run says so: `// engine: sqlite` or `// engine: any` on a line of its own.
 */
const isCi = process.env['CI'] === 'true'
const isSlow = process.argv.includes('--slow')
const start = performance.now()

type Engine = 'SQLite' | 'PostgreSQL'

interface Job {
  readonly engine: Engine
  /** The path below this folder. */
  readonly file: string
}

interface Result extends Job {
  readonly title: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped. */
  readonly reason: string
}

const files = selectFiles()
const jobs: Job[] = files.map(file => ({ engine: 'SQLite', file }))
const onBoth = files.filter(runsOnBoth)
const isMissingPostgres = onBoth.length > 0 && postgresPrograms === undefined
if (!isMissingPostgres) for (const file of onBoth) jobs.push({ engine: 'PostgreSQL', file })

let server: PostgresServer | undefined
const temporary = makeTemporary()
process.env['TMPDIR'] = temporary
// However the run ends.
process.once('exit', () => {
  server?.remove()
  rmSync(temporary, { recursive: true, force: true, maxRetries: 3 })
})
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))

if (jobs.length > files.length) server = await startPostgres()
const results: Result[] = []
const queue = jobs.values()
// Each worker takes the next file when it is done with one. More workers than cores, because some tests wait for time to pass.
await Promise.all(Array.from({ length: Math.min(8, availableParallelism() + 2) }, () => runJobs(queue)))
process.exitCode = summarize() ? 0 : 1

function selectFiles(): string[] {
  const words = process.argv.slice(2).filter(word => word !== '--slow')
  const found = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' })
    .filter(name => name.endsWith('.test.ts') && name.endsWith('.slow.test.ts') === isSlow)
    .filter(name => words.length === 0 || words.some(word => join('test', name).includes(word)))
    .toSorted()
  if (found.length === 0) throw new Error(`no test file matches: ${words.join(' ')}`)
  return found
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
  const text = readFileSync(join(import.meta.dirname, file), 'utf8')
  return /from '\.\.\/support\/(service|databases)\.ts'/.test(text) && !/^\/\/ engine: /m.test(text)
}

async function runJobs(queue: Iterator<Job> & Iterable<Job>) {
  for (const job of queue) {
    const began = performance.now()
    const found = await runJob(job)
    results.push(...found)
    const failures = found.filter(({ outcome }) => outcome === 'failed')
    const seconds = ((performance.now() - began) / 1000).toFixed(1)
    const tests = `${found.length} ${found.length === 1 ? 'test' : 'tests'}`
    const verdict = failures.length === 0 ? 'ok    ' : 'FAILED'
    process.stdout.write(`${verdict} ${job.engine.padEnd(10)} ${job.file} (${tests}, ${seconds} s)\n`)
    for (const failure of failures) process.stdout.write(describeFailure(failure))
  }
}

async function runJob(job: Job): Promise<Result[]> {
  const found: Result[] = []
  const path = join(import.meta.dirname, job.file)
  const stream = run({
    files: [path],
    // Longer than any file takes on a slow machine: a test that hangs is reported by its name.
    timeout: 10 * 60_000,
    env: {
      ...process.env,
      // Every file loads the same modules, so the compiled code is kept.
      NODE_COMPILE_CACHE: join(import.meta.dirname, '../node_modules/.cache/lockstep-tests'),
      ...(job.engine === 'PostgreSQL' ? { TEST_POSTGRES_URL: server?.url } : {}),
    },
  })
  stream.on('test:pass', ({ name, skip, details }) => {
    if (details.type === 'suite') return
    // A file without a test is reported as a test that passed.
    if (name === path) return
    const isSkipped = skip !== undefined && skip !== false
    const reason = typeof skip === 'string' ? skip : 'no reason given'
    found.push({ ...job, title: name, outcome: isSkipped ? 'skipped' : 'passed', reason })
  })
  stream.on('test:fail', ({ name, details }) => {
    // The error of a test wraps what was thrown. A suite, or a test with subtests, fails with what is in it.
    const { cause = details.error, failureType } = details.error as Error & { failureType?: string }
    if (failureType === 'subtestsFailed') return
    found.push({
      ...job,
      title: name,
      outcome: 'failed',
      reason: describe(cause),
    })
  })
  stream.on('test:stderr', ({ message }) => process.stderr.write(message))
  stream.on('test:stdout', ({ message }) => process.stdout.write(message))
  stream.resume()
  await once(stream, 'end')
  if (found.length === 0) found.push({ ...job, title: job.file, outcome: 'failed', reason: 'the file has no test' })
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
  if (isCi && lines.length > 0) lines.push('In CI nothing may be skipped.')
  lines.push(...failed.map(({ engine, file, title }) => `failed: ${file} (${engine}): ${title}`))
  const passes = failed.length === 0 && !(isCi && lines.length > 0)
  for (const engine of ['SQLite', 'PostgreSQL'] as const) {
    const own = jobs.filter(job => job.engine === engine).length
    if (own > 0) lines.push(`${engine}: ${own} files`)
  }
  const passed = results.length - failed.length - skipped.length
  const seconds = Math.round((performance.now() - start) / 1000)
  lines.push(`${Math.floor(seconds / 60)} min ${seconds % 60} s`)
  lines.push(`${passed} passed, ${failed.length} failed, ${skipped.length + missing()} skipped`)
  process.stdout.write(`\n${lines.join('\n')}\n`)
  return passes
}

function missing(): number {
  return isMissingPostgres ? onBoth.length : 0
}

/** The message of an error with its place in our files, without what Node adds to it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error)
  const own = (error.stack ?? error.message).replaceAll(/\n +at .*node:internal.*/g, '').slice(0, 4000)
  return error.cause === undefined ? own : `${own}\ncaused by ${describe(error.cause)}`
}

function describeFailure({ title, reason }: Result): string {
  return `\n  ${title}\n${reason.replaceAll(/^/gm, '    ')}\n\n`
}
