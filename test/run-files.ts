import { join, relative } from 'node:path'
import { run } from 'node:test'
import { inspect } from 'node:util'

/** Runs test files one after the other in this process, and tells the process that started it of each test. */

export interface TestResult {
  /** The path below this folder of the file that registered the test. */
  readonly file: string
  readonly title: string
  readonly outcome: 'passed' | 'failed' | 'skipped'
  /** Why it failed or was skipped. */
  readonly reason: string
}

/** What is sent: each test, and that there are no more. */
export type Message = TestResult | 'ended'

const files = process.argv.slice(2).map(file => join(import.meta.dirname, file))
const stream = run({
  files,
  isolation: 'none',
  // One that hangs is reported by its name.
  timeout: Number(process.env['TEST_LIMIT_MINUTES']) * 60_000,
})
stream.on('test:pass', ({ name, file, skip, details }) => {
  if (details.type === 'suite') return
  // A file without a test is reported as a test that passed.
  if (files.includes(name)) return
  const isSkipped = skip !== undefined && skip !== false
  const reason = typeof skip === 'string' ? skip : 'no reason given'
  send({ file: pathOf(file), title: name, outcome: isSkipped ? 'skipped' : 'passed', reason })
})
stream.on('test:fail', ({ name, file, details }) => {
  // The error of a test wraps what was thrown. A suite, or a test with subtests, fails with what is in it.
  const { cause = details.error, failureType } = details.error as Error & { failureType?: string }
  process.exitCode = 1
  if (failureType === 'subtestsFailed') return
  send({
    file: pathOf(file),
    title: files.includes(name) ? 'its import' : name,
    outcome: 'failed',
    reason: describe(cause),
  })
})
stream.on('test:stderr', ({ message }) => process.stderr.write(message))
stream.on('test:stdout', ({ message }) => process.stdout.write(message))
stream.on('end', () => {
  send('ended')
  process.disconnect?.()
})
stream.resume()

function send(message: Message) {
  process.send?.(message)
}

function pathOf(file: string | undefined): string {
  return file === undefined ? '' : relative(import.meta.dirname, file)
}

/** The message of an error with its place in our files, without what Node adds to it. */
function describe(error: unknown): string {
  if (!(error instanceof Error)) return inspect(error)
  const own = (error.stack ?? error.message).replaceAll(/\n +at .*node:internal.*/g, '').slice(0, 4000)
  return error.cause === undefined ? own : `${own}\ncaused by ${describe(error.cause)}`
}
